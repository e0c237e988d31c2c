// HTTPPreset: the specifics of one vendor: how batches are cut and encoded, and how answers are read.

#if HTTP
  public import WeirDelivery
  public import Weir

  /// Defines how batches are sent to one kind of endpoint, and how its answers are read.
  ///
  /// A preset is a value without side effects: ``HTTPProvider`` sends the requests. Each function is pure, and can be
  /// tested without a network. Write a preset for an endpoint that no preset here supports:
  ///
  /// ```swift
  /// struct WarehousePreset: HTTPPreset {
  ///   let providerName = "warehouse"
  ///   let endpoint = "https://warehouse.example.com/rows"
  ///   let key: Secret
  ///   var secrets: [Secret] { [key] }
  ///
  ///   func encode(_ event: PreparedEvent) -> [UInt8] { Array("\(event.stored.id) \(event.name)\n".utf8) }
  ///   func post(_ batch: HTTPBatch) -> HTTPPost {
  ///     HTTPPost(headers: [.bearer(key), .content("text/plain")], body: batch.body())
  ///   }
  /// }
  /// ```
  public protocol HTTPPreset: Sendable {
    /// The default name of the provider: letters, digits, `-` and `_`.
    var providerName: String { get }

    /// The address for batches: an `http` or `https` URL. An address without a path gets `path`.
    var endpoint: String { get }

    /// The path for an address without a path, such as `/v1/batch`.
    var path: String { get }

    /// The limits of one request.
    var limits: HTTPLimits { get }

    /// Whether the endpoint accepts bodies compressed with gzip.
    var takesGzip: Bool { get }

    /// The texts that must never appear in errors, logs and reports.
    var secrets: [Secret] { get }

    /// Returns the encoded event, as a part of a request. Throws ``EventUnfit`` if the endpoint can never accept the
    /// event.
    func encode(_ event: PreparedEvent) throws -> [UInt8]

    /// Returns the part that the events of a request have in common, such as their user, for an endpoint whose requests
    /// name it once. A request only has events whose parts are equal, in order. The events of one call that have the
    /// same part go together, so events with different parts may change places. The default is an empty part.
    ///
    /// ``post(_:)`` writes the part of the first event. It counts towards the limit of ``HTTPLimits/bytes``.
    func sharedPart(of event: PreparedEvent) -> [UInt8]

    /// Returns the request for these events. Also called with an empty batch, to measure the request without events.
    func post(_ batch: HTTPBatch) -> HTTPPost

    /// Returns what an answer says about the batch that was sent. Throws `BatchRefused`, `DeliveryStopped`, or, if
    /// the answer says nothing, ``HTTPFailure``.
    func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading

    /// Returns the parts of a request that tell the vendor what is known about a user and about the user's groups. They
    /// are sent in the same request, before `event`, whose `PreparedEvent.identifies` is set; `nil` stands for no
    /// event. Returns none if the vendor takes users in requests of their own, or not at all.
    func identification(of user: EventUser, before event: PreparedEvent?) -> [[UInt8]]

    /// Returns the requests that tell the vendor what is known about these users, apart from events. They are sent
    /// before the request with the users' events. Returns none if the vendor has no such request.
    func identify(_ users: [EventUser]) -> [HTTPPost]

    /// Reads the answer to a request of `identify(_:)`, or to a request with an identification and no event. Throws
    /// what `read(_:of:)` throws, unless the vendor accepted the request.
    func readIdentify(_ answer: HTTPAnswer) throws
  }

  extension HTTPPreset {
    public var path: String { "/" }
    public var limits: HTTPLimits { HTTPLimits() }
    public var takesGzip: Bool { true }
    public var secrets: [Secret] { [] }

    public func sharedPart(of event: PreparedEvent) -> [UInt8] { [] }

    public func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      try answer.standardReading(of: batch)
    }

    public func identification(of user: EventUser, before event: PreparedEvent?) -> [[UInt8]] { [] }
    public func identify(_ users: [EventUser]) -> [HTTPPost] { [] }

    public func readIdentify(_ answer: HTTPAnswer) throws {
      let reading = try answer.standardReading(of: HTTPBatch(events: [], encoded: []))
      // The endpoint requested a delay. Without events, there is no verdict to carry it.
      guard (200...299).contains(answer.status) else { throw HTTPFailure(reading.notice ?? answer.summary) }
    }
  }

  /// A preset whose form of an event is `EventJSON`, and that tells the vendor nothing of users: events need not be
  /// decoded for it. See ``LinesCutter``.
  protocol LinesPreset: HTTPPreset {
    /// The texts before the first event, between two events, and after the last event of a body.
    var frame: (open: String, separator: String, close: String) { get }

    /// Returns the request with this body. `key` is the batch's ``HTTPBatch/idempotencyKey``.
    func post(_ body: [UInt8], key: String) -> HTTPPost
  }

  /// The limits of one request.
  public struct HTTPLimits: Hashable, Sendable {
    /// The maximum number of events; at least 1.
    public var events: Int

    /// The maximum size of a body before compression, in bytes. An event that alone takes more is rejected.
    public var bytes: Int

    /// The maximum size of an encoded event, in bytes; `nil` for no separate limit. A larger event is rejected.
    public var eventBytes: Int?

    /// Creates limits, by default 1,000 events and 4 MiB.
    public init(events: Int = 1_000, bytes: Int = 4 << 20, eventBytes: Int? = nil) {
      self.events = events
      self.bytes = bytes
      self.eventBytes = eventBytes
    }
  }

  /// The error that ``HTTPPreset/encode(_:)`` throws if the endpoint can never accept an event.
  public struct EventUnfit: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason.
    public var reason: String

    /// Creates an error with this reason.
    public init(_ reason: String) {
      self.reason = reason
    }

    public var description: String { reason }
  }

  /// The events of one request.
  public struct HTTPBatch: Sendable {
    /// The events, in order of offset.
    public let events: [PreparedEvent]

    /// The results of ``HTTPPreset/encode(_:)`` for the events.
    public let encoded: [[UInt8]]

    /// The results of ``HTTPPreset/identification(of:before:)``, by the index of the event that they come before.
    public let identifications: [Int: [[UInt8]]]

    /// Creates a batch of events and their encodings.
    public init(events: [PreparedEvent], encoded: [[UInt8]], identifications: [Int: [[UInt8]]] = [:]) {
      precondition(events.count == encoded.count)
      self.events = events
      self.encoded = encoded
      self.identifications = identifications
    }

    /// Creates a batch for a ``LinesPreset``, which has no use for the encodings.
    init(_ events: [PreparedEvent]) {
      self.events = events
      encoded = []
      identifications = [:]
    }

    /// The number of events.
    public var count: Int { events.count }

    /// The number of events and identifications.
    var partCount: Int { identifications.values.reduce(count) { $0 + $1.count } }

    /// The parts of the request's body: the encoded events, each after its identification.
    private var parts: [[UInt8]] {
      guard !identifications.isEmpty else { return encoded }
      return (0...count).flatMap { (identifications[$0] ?? []) + encoded[$0..<min($0 + 1, count)] }
    }

    /// Returns the encoded events and identifications, with `separator` between them, `open` before the first and
    /// `close` after the last.
    public func body(open: String = "", separator: String = "", close: String = "") -> [UInt8] {
      let parts = parts
      var bytes: [UInt8] = []
      bytes.reserveCapacity(parts.reduce(open.utf8.count + close.utf8.count) { $0 + $1.count + separator.utf8.count })
      bytes += open.utf8
      for (index, part) in parts.enumerated() {
        if index > 0 { bytes += separator.utf8 }
        bytes += part
      }
      bytes += close.utf8
      return bytes
    }

    /// The index of the event in this place of the body, or of the event after the identification there; `nil` if there
    /// is none.
    public func event(inPlace place: Int) -> Int? {
      guard !identifications.isEmpty else { return events.indices.contains(place) ? place : nil }
      var end = 0
      return events.indices.first { index in
        end += (identifications[index]?.count ?? 0) + 1
        return place >= 0 && place < end
      }
    }

    /// A text that is equal for two batches if and only if they have the same events. Endpoints use it to recognise
    /// repeated requests. It contains the opening, the first and last offset, and a hash of all ids, so that a batch
    /// with other events is never taken for a repetition.
    public var idempotencyKey: String {
      guard let first = events.first, let last = events.last else { return "empty" }
      var hash = FNV1a.start
      for index in events.indices {
        let id = events[index].id
        hash = FNV1a.hash64(id.opening, after: hash)
        hash = FNV1a.hash64(id.sequence, after: hash)
      }
      return "weir-\(first.id)-\(first.offset)-\(last.offset)-\(events.count)-\(String(hash, radix: 16))"
    }
  }

  /// A POST request to the preset's endpoint.
  public struct HTTPPost: Sendable {
    /// The path, if it differs from the endpoint's; `nil` for the endpoint's path. The host is always the endpoint's.
    public var path: String?

    /// Names and values to add to the URL's query. Must not contain secrets, because servers log the query.
    public var query: [(name: String, value: String)]

    /// Names and secret values to add to the URL's query, for an endpoint that takes its key in no other place. Servers
    /// and proxies log the query; nothing here does.
    public var secretQuery: [(name: String, value: Secret)]

    /// The headers. ``HTTPProvider`` adds those of the connection and of compression.
    public var headers: [HTTPHeader]

    /// The body, not compressed.
    public var body: [UInt8]

    /// Creates a request.
    public init(
      path: String? = nil, query: [(name: String, value: String)] = [],
      secretQuery: [(name: String, value: Secret)] = [], headers: [HTTPHeader], body: [UInt8]
    ) {
      self.path = path
      self.query = query
      self.secretQuery = secretQuery
      self.headers = headers
      self.body = body
    }
  }

  /// What an answer says about the events of one request.
  public struct HTTPReading: Hashable, Sendable {
    /// A verdict for each event, in order. `Verdict.retry(after:)` with a delay of zero retries at once, without the
    /// events that are decided.
    public var verdicts: [Verdict]

    /// The number of events that the endpoint refused without naming them. They are included in the accepted events
    /// here, and counted in ``HTTPCounts/unnamedRejections``.
    public var unnamedRejections: Int

    /// What the endpoint said in addition to the verdicts, for the log; `nil` for nothing.
    public var notice: String?

    /// Creates a reading.
    public init(_ verdicts: [Verdict], unnamedRejections: Int = 0, notice: String? = nil) {
      self.verdicts = verdicts
      self.unnamedRejections = unnamedRejections
      self.notice = notice
    }

    /// Creates a reading with the same verdict for each of `count` events.
    public init(_ verdict: Verdict, count: Int) {
      self.init(Array(repeating: verdict, count: count))
    }
  }
#endif

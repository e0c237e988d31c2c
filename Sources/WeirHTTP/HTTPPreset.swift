// HTTPPreset: what is different about one vendor: how a batch is cut and written, and how an answer is read.

#if HTTP
  public import WeirDelivery
  public import Weir

  /// How batches are sent to one kind of endpoint, and how its answers are read.
  ///
  /// A preset is a value that does nothing by itself: ``HTTPProvider`` sends. So each of its functions is pure, and can
  /// be tested without a network. Write one for an endpoint that none of those here fits:
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
    /// The provider's name unless it is given another: letters, digits, `-` and `_`.
    var providerName: String { get }

    /// Where batches go: a URL of `http` or `https`. One without a path gets ``path``.
    var endpoint: String { get }

    /// The path of an endpoint that has none, such as `/v1/batch`.
    var path: String { get }

    /// What one request may hold.
    var limits: HTTPLimits { get }

    /// Whether a body may be compressed with gzip.
    var takesGzip: Bool { get }

    /// What must not show in errors, logs and reports, wherever it comes from.
    var secrets: [Secret] { get }

    /// The event as it stands in a request. Throws ``EventUnfit`` if the endpoint can never take it.
    func encode(_ event: PreparedEvent) throws -> [UInt8]

    /// The request for these events. Called with an empty batch, too, to learn what the request takes beside events.
    func post(_ batch: HTTPBatch) -> HTTPPost

    /// What an answer says of the batch that was sent. Throws ``BatchRefused``, ``DeliveryStopped``, or ``HTTPFailure``
    /// for an answer that says nothing.
    func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading

    /// The request that says who the process's default user is from here on; nil if the vendor has none. A
    /// disassociation has no such request anywhere: events after it simply name no user.
    func identify(_ user: EventUser) -> HTTPPost?

    /// What an answer to that request says: throws what ``read(_:of:)`` throws unless the vendor took it.
    func readIdentify(_ answer: HTTPAnswer) throws
  }

  extension HTTPPreset {
    public var path: String { "/" }
    public var limits: HTTPLimits { HTTPLimits() }
    public var takesGzip: Bool { true }
    public var secrets: [Secret] { [] }

    public func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      try answer.standardReading(of: batch)
    }

    public func identify(_ user: EventUser) -> HTTPPost? { nil }

    public func readIdentify(_ answer: HTTPAnswer) throws {
      let reading = try answer.standardReading(of: HTTPBatch(events: [], encoded: []))
      // A pause was asked for, which stands in no verdict where there are no events.
      guard (200...299).contains(answer.status) else { throw HTTPFailure(reading.notice ?? answer.summary) }
    }
  }

  /// What one request may hold.
  public struct HTTPLimits: Hashable, Sendable {
    /// The most events; at least 1.
    public var events: Int

    /// The most bytes of a body, before compression. An event that alone takes more is rejected.
    public var bytes: Int

    /// The most bytes of an event as it is encoded; one that takes more is rejected. Nil for no limit of its own.
    public var eventBytes: Int?

    /// Limits; without any, 1,000 events and 4 MiB.
    public init(events: Int = 1_000, bytes: Int = 4 << 20, eventBytes: Int? = nil) {
      self.events = events
      self.bytes = bytes
      self.eventBytes = eventBytes
    }
  }

  /// Thrown by ``HTTPPreset/encode(_:)``: the endpoint can never take this event, for this reason.
  public struct EventUnfit: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with it.
    public var reason: String

    /// An event that is unfit for this reason.
    public init(_ reason: String) {
      self.reason = reason
    }

    public var description: String { reason }
  }

  /// The events of one request.
  public struct HTTPBatch: Sendable {
    /// The events, in order of offset.
    public let events: [PreparedEvent]

    /// Each as ``HTTPPreset/encode(_:)`` wrote it.
    public let encoded: [[UInt8]]

    /// A batch of events and what they are encoded as.
    public init(events: [PreparedEvent], encoded: [[UInt8]]) {
      precondition(events.count == encoded.count)
      self.events = events
      self.encoded = encoded
    }

    /// The number of events.
    public var count: Int { events.count }

    /// The encoded events, with `separator` between two, `open` before the first and `close` after the last.
    public func body(open: String = "", separator: String = "", close: String = "") -> [UInt8] {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(encoded.reduce(open.utf8.count + close.utf8.count) { $0 + $1.count + separator.utf8.count })
      bytes += open.utf8
      for (index, event) in encoded.enumerated() {
        if index > 0 { bytes += separator.utf8 }
        bytes += event
      }
      bytes += close.utf8
      return bytes
    }

    /// A text that is the same if and only if the same events are sent together again: what an endpoint recognises a
    /// repeated request by. It has the opening, the first and last offset, and a hash of all ids: events that were not
    /// in a request before must never pass for those that were.
    public var idempotencyKey: String {
      guard let first = events.first?.stored, let last = events.last?.stored else { return "empty" }
      var hash: UInt64 = 0xcbf2_9ce4_8422_2325  // FNV-1a
      for event in events {
        for word in [event.stored.id.opening, event.stored.id.sequence] {
          for shift in stride(from: UInt64(0), to: 64, by: 8) {
            hash = (hash ^ (word >> shift & 0xff)) &* 0x100_0000_01b3
          }
        }
      }
      return "weir-\(first.id)-\(first.offset)-\(last.offset)-\(events.count)-\(String(hash, radix: 16))"
    }

    /// The events at these places alone.
    func subset(_ indices: some Collection<Int>) -> HTTPBatch {
      HTTPBatch(events: indices.map { events[$0] }, encoded: indices.map { encoded[$0] })
    }
  }

  /// A request to be sent: POST, to the preset's endpoint.
  public struct HTTPPost: Sendable {
    /// A path in place of the endpoint's, on the same host; nil for the endpoint's own.
    public var path: String?

    /// Names and values to be added to the URL's query. No secrets: they would stand in the logs of servers.
    public var query: [(name: String, value: String)]

    /// Headers; ``HTTPProvider`` adds those of the connection, and of compression.
    public var headers: [HTTPHeader]

    /// The body, not compressed.
    public var body: [UInt8]

    /// A request.
    public init(
      path: String? = nil, query: [(name: String, value: String)] = [], headers: [HTTPHeader], body: [UInt8]
    ) {
      self.path = path
      self.query = query
      self.headers = headers
      self.body = body
    }
  }

  /// What an answer says of the events of one request.
  public struct HTTPReading: Hashable, Sendable {
    /// A verdict for each event, in order. ``Verdict/retry(after:)`` with a time of zero means: again at once, without
    /// those that are decided on.
    public var verdicts: [Verdict]

    /// How many events the endpoint refused without saying which; they are among those accepted here, and counted in
    /// ``HTTPCounts/unnamedRejections``.
    public var unnamedRejections: Int

    /// What the endpoint said beside verdicts that is worth telling; nil for nothing.
    public var notice: String?

    /// A reading.
    public init(_ verdicts: [Verdict], unnamedRejections: Int = 0, notice: String? = nil) {
      self.verdicts = verdicts
      self.unnamedRejections = unnamedRejections
      self.notice = notice
    }

    /// The same verdict for each of so many events.
    public init(_ verdict: Verdict, count: Int) {
      self.init(Array(repeating: verdict, count: count))
    }
  }
#endif

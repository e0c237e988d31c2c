// HTTPProvider: delivery over HTTP.

#if HTTP
  import Logging
  public import WeirDelivery
  public import AsyncHTTPClient
  public import Weir

  /// Delivers events over HTTP, in the form of a vendor.
  ///
  /// ```swift
  /// let segment = try HTTPProvider(SegmentPreset(writeKey: key))
  /// try dispatcher.add(segment)
  ///
  /// let hook = try HTTPProvider(JSONPreset(endpoint: "https://example.com/events", authorization: .bearer(token)))
  /// ```
  ///
  /// A call of ``deliver(_:)`` is cut into requests within the vendor's limits, sent one after the other over a
  /// connection that stays open, compressed with gzip. The answers' verdicts are put together: if the third of five
  /// requests fails, what the first two say stands, and the rest is to be given again. An event that is larger than the
  /// vendor allows is rejected here, never cut. A request that does not end in its time, over a slow link, makes the next
  /// ones smaller, down to one event; they grow back slowly.
  ///
  /// **What is not sent twice.** Every event carries its id in the vendor's own field for that, so an endpoint that
  /// keeps to its documents has it once, however often it comes.
  ///
  /// **Redirects** are followed on the same host alone, and only those that want the same request there, 307 and 308:
  /// any other stops delivery, for it would carry the key along, or lead to where nothing is taken. **Certificates**
  /// are always verified. **Keys** show in no error, log or report: what a server says is cut to 500 characters, and
  /// rid of controls and of every key that went into the request.
  ///
  /// Any thread may make and read it; it delivers for one dispatcher at a time.
  public final class HTTPProvider: Provider, Sendable {
    /// The provider's name.
    public let name: String

    private let preset: any HTTPPreset
    private let endpoint: HTTPEndpoint
    private let configuration: HTTPConfiguration
    private let transport: HTTPTransport
    private let scrubber: Scrubber
    private let counted = Lock(HTTPCounts())
    /// How many bytes of a body can be sent and answered in time.
    private let size = Lock(CallSize())

    /// The longest name of a cursor.
    private static let maximumNameBytes = 64

    /// What it did since it was made.
    public var counts: HTTPCounts { counted.withLock { $0 } }

    /// A provider for a preset.
    ///
    /// - Parameters:
    ///   - preset: The vendor's form, with the address and the key.
    ///   - name: The provider's name, which must stay; the preset's if it is not given.
    ///   - configuration: How it connects and sends.
    ///   - client: A client to be used; nil for one of its own. A client that is given is not shut down, and its own
    ///     settings for connecting, TLS, proxy and redirects hold, which must not be followed; make it with
    ///     ``hardened(_:)``, or a server can end the program with an answer.
    ///
    /// Throws `invalid` for an address that is none, for a name that can't name a cursor, and for a key or another
    /// header that no request can carry. Makes no connection.
    public init(
      _ preset: any HTTPPreset, name: String? = nil, configuration: HTTPConfiguration = HTTPConfiguration(),
      client: HTTPClient? = nil
    ) throws(WeirError) {
      let name = name ?? preset.providerName
      guard (1...Self.maximumNameBytes).contains(name.utf8.count), name.utf8.allSatisfy(\.isOfName) else {
        throw WeirError(
          .invalid,
          "\(name.debugDescription) can't name a provider: 1 to \(Self.maximumNameBytes) letters, digits, - and _ can")
      }
      self.name = name
      self.preset = preset
      self.configuration = configuration
      endpoint = try HTTPEndpoint(preset.endpoint, defaultPath: preset.path)
      transport = HTTPTransport(configuration, shared: client)
      let sent = preset.post(HTTPBatch(events: [], encoded: [])).headers
      let all = configuration.headers + [endpoint.authorization].compactMap { $0 } + sent
      for header in all where !header.isSendable {
        throw WeirError(
          .invalid,
          "the header \(header.name.debugDescription) has a line break or another control character in it, which none "
            + "can have; set the key alone")
      }
      let headers = all.filter(\.isConfidential)
      let proxy = [configuration.proxy?.password].compactMap { $0 }
      scrubber = Scrubber(preset.secrets + endpoint.secrets + headers.flatMap(\.secrets) + proxy)
    }

    /// A provider that sends batches of events as JSON (``JSONPreset``) to an address.
    public convenience init(
      endpoint: String, name: String = "http", configuration: HTTPConfiguration = HTTPConfiguration()
    ) throws(WeirError) {
      try self.init(JSONPreset(endpoint: endpoint), name: name, configuration: configuration)
    }

    // MARK: Provider

    /// Takes events; see ``HTTPProvider`` and the preset for how, and `Provider` for the rest.
    public func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
      guard !events.isEmpty else { return [] }
      do {
        return try await Delivery(of: events, by: self).verdicts().map(scrubber.clean)
      } catch {
        throw scrubber.clean(error)
      }
    }

    /// Tells the vendor who the user is, where it has a call for that. Refusals are counted and passed over: every
    /// event names its user anyway, and one bad trait must not hold up the events behind it.
    public func associate(_ user: EventUser) async throws {
      guard !user.id.isEmpty, let post = preset.identify(user) else { return }
      do {
        try preset.readIdentify(try await send(post))
      } catch let refused as BatchRefused {
        counted.withLock { $0.refusedAssociations += 1 }
        let reason = scrubber.clean(refused.reason)
        configuration.logger?.warning("\(name): the association of a user was refused: \(reason)")
      } catch {
        throw scrubber.clean(error)
      }
    }

    /// Nothing: no vendor has a call for it. Events after it name no user.
    public func disassociate() async throws {}

    /// Closes connections. A client that was given is left as it is.
    public func shutdown() async {
      await transport.shutdown()
    }

    // MARK: One request

    fileprivate func send(_ post: HTTPPost) async throws -> HTTPAnswer {
      let isCompressed = configuration.compression == .gzip && preset.takesGzip
      do {
        let (answer, sent) = try await transport.send(post, to: endpoint, compress: isCompressed)
        counted.withLock { counts in
          counts.requests += 1
          counts.bytes += UInt64(post.body.count)
          counts.sentBytes += UInt64(sent)
        }
        return answer
      } catch {
        counted.withLock { counts in
          counts.requests += 1
          counts.unanswered += 1
        }
        // Which endpoint it was, the words of the system do not tell.
        if var failure = error as? HTTPFailure {
          failure.reason = "\(endpoint): \(failure.reason)"
          throw failure
        }
        throw error
      }
    }

    /// Sends the request of a batch, and learns from the time that it takes how large the next ones may be.
    fileprivate func send(_ batch: HTTPBatch) async throws -> HTTPAnswer {
      let post = preset.post(batch)
      let bytes = post.body.count
      let clock = ContinuousClock()
      let start = clock.now
      do {
        let answer = try await send(post)
        if answer.isLate {
          timedOut(batch, bytes)
        } else if (200...299).contains(answer.status) {
          let took = clock.now - start
          size.withLock { $0.succeeded(bytes, in: took, of: configuration.timeout) }
        }
        return answer
      } catch let failure as HTTPFailure where failure.isLate {
        timedOut(batch, bytes)
        throw failure
      }
    }

    private func timedOut(_ batch: HTTPBatch, _ bytes: Int) {
      // One event can't be cut.
      guard batch.count > 1 else { return }
      size.withLock { $0.timedOut(bytes) }
    }

    fileprivate func note(_ reading: HTTPReading) {
      guard reading.unnamedRejections > 0 || reading.notice != nil else { return }
      counted.withLock { $0.unnamedRejections += UInt64(reading.unnamedRejections) }
      let notice = scrubber.clean(reading.notice ?? "")
      let what =
        reading.unnamedRejections > 0
        ? "\(reading.unnamedRejections) of \(reading.verdicts.count) events were refused, which ones it does not say: "
        : ""
      configuration.logger?.warning("\(name): \(what)\(notice)")
    }

    /// One call of ``deliver(_:)``.
    private struct Delivery {
      private let provider: HTTPProvider
      private let events: [PreparedEvent]
      private let encoded: [[UInt8]]
      private var waiting: [[Int]]
      private var decided: [Verdict?]
      private var hasAnswer = false

      init(of events: [PreparedEvent], by provider: HTTPProvider) {
        self.provider = provider
        self.events = events
        let cut = RequestCutter(events, for: provider.preset, most: provider.size.withLock { $0.most })
        encoded = cut.encoded
        waiting = cut.requests.reversed()
        decided = Array(repeating: nil, count: events.count)
        for (index, reason) in cut.unfit { decided[index] = .rejected(reason) }
      }

      /// Sends request after request, until all are answered, one fails, or the time for a call is over.
      consuming func verdicts() async throws -> [Verdict] {
        var rest = Verdict.retry(after: .zero)
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: min(provider.configuration.callTime, HTTPTransport.longest))
        while let request = waiting.popLast() {
          if hasAnswer, Task.isCancelled || clock.now >= end { break }
          do {
            try await settle(request)
            hasAnswer = true
          } catch {
            // Nothing is known yet: the error says all there is to say. Else what is known stands, and the next call
            // begins with this request, whose error is thrown then.
            guard hasAnswer else { throw error }
            if error is HTTPFailure { rest = .retry(after: nil) }
            break
          }
        }
        return decided.map { $0 ?? rest }
      }

      private mutating func settle(_ request: [Int]) async throws {
        let batch = HTTPBatch(events: request.map { events[$0] }, encoded: request.map { encoded[$0] })
        let answer = try await provider.send(batch)
        let reading = try provider.preset.read(answer, of: batch)
        guard reading.verdicts.count == batch.count else {
          throw HTTPFailure("the preset read \(reading.verdicts.count) verdicts for \(batch.count) events")
        }
        provider.note(reading)
        var again: [Int] = []
        for (index, verdict) in zip(request, reading.verdicts) {
          if verdict == .retry(after: .zero) { again.append(index) } else { decided[index] = verdict }
        }
        // Fewer than before, so this comes to an end.
        if again.count < request.count {
          if !again.isEmpty { waiting.append(again) }
        } else {
          for index in again { decided[index] = .retry(after: .zero) }
        }
      }
    }
  }

  extension UInt8 {
    fileprivate var isOfName: Bool {
      switch self {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
  }
#endif

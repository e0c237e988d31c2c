// HTTPProvider: delivery over HTTP.

#if HTTP
  import Logging
  public import WeirDelivery
  public import AsyncHTTPClient
  public import Weir

  /// Delivers events over HTTP, in a vendor's format.
  ///
  /// ```swift
  /// let segment = try HTTPProvider(SegmentPreset(writeKey: key))
  /// try dispatcher.add(segment)
  ///
  /// let hook = try HTTPProvider(JSONPreset(endpoint: "https://example.com/events", authorization: .bearer(token)))
  /// ```
  ///
  /// **Requests.** A call of ``deliver(_:)`` is cut into requests within the vendor's limits. They are sent one after
  /// the other over a connection that stays open, or several at a time (``HTTPConfiguration/concurrency``), compressed
  /// with gzip. The verdicts of the answers are combined: if the third of five requests fails, the verdicts of the
  /// first two count, and the remaining events are retried. An
  /// event that is larger than the vendor allows is rejected here, and never cut. After a request that runs out of
  /// time, as on a slow link, the following requests are smaller, down to one event, and grow again slowly.
  ///
  /// **Duplicates.** Every event carries its id in the field that the vendor uses to detect duplicates. An endpoint
  /// that works as documented keeps each event once, however often it is sent.
  ///
  /// **Failover.** With ``HTTPConfiguration/failover``, requests go to a second endpoint while the first fails. A call
  /// of ``deliver(_:)`` is one attempt, whichever endpoint gets its requests.
  ///
  /// **Redirects** are followed only on the same host, and only if they repeat the same request (307 and 308). Any
  /// other redirect stops delivery: it could pass the key on, or lead to a page that accepts nothing.
  ///
  /// **Security.** Certificates are always verified. Keys never appear in errors, logs or reports: texts from a server
  /// are cut to 500 characters, and control characters and every key of the request are removed.
  ///
  /// **Threads.** Any thread may create a provider and read its properties. A provider delivers for one dispatcher at a
  /// time.
  public final class HTTPProvider: Provider, Sendable {
    /// The provider's name.
    public let name: String

    /// What a plan gives the endpoint in place of users' ids; `nil` for the ids.
    package let pseudonym: Pseudonym?

    let preset: any HTTPPreset
    /// The endpoint and, with a failover, the second endpoint.
    private let endpoints: [HTTPEndpoint]
    private let configuration: HTTPConfiguration
    private let transport: HTTPTransport
    private let scrubber: Scrubber
    private let counted = Lock(HTTPCounts())
    /// The body size that can be sent and answered in time.
    private let size = Lock(CallSize())
    private let hosts: Lock<HostChoice>
    /// The hash of what the vendor was told of a user apart from the user's events, by the user's id. The hash is kept
    /// until the vendor is told of the user in another way: with an accepted event, or without any event. So a batch
    /// that is halved until its fault is alone does not tell the same again at each step.
    private let told = Lock<[String: Int]>([:])
    private static let mostTold = 10_000
    private let start = ContinuousClock.now

    /// The counts since the provider was created.
    public var counts: HTTPCounts { counted.withLock { $0 } }

    /// Creates a provider for a preset.
    ///
    /// - Parameters:
    ///   - preset: The vendor's format, with the address and the key.
    ///   - name: The provider's name, which must not change. The default is the preset's name.
    ///   - configuration: The options for connecting and sending.
    ///   - client: A client to use; `nil` to create one. A given client is not shut down. Its own settings apply to
    ///     connecting, TLS, proxy and redirects, and it must not follow redirects. Create it with ``hardened(_:)``:
    ///     otherwise a server's answer can end the process.
    ///
    /// Throws `invalid` if the address is invalid, the name can't be a cursor's name, or a request can't carry the key
    /// or another header. Makes no connection.
    public convenience init(
      _ preset: any HTTPPreset, name: String? = nil, configuration: HTTPConfiguration = HTTPConfiguration(),
      client: HTTPClient? = nil
    ) throws(WeirError) {
      try self.init(preset, name: name, configuration: configuration, client: client, pseudonym: nil)
    }

    init(
      _ preset: any HTTPPreset, name: String? = nil, configuration: HTTPConfiguration, client: HTTPClient? = nil,
      pseudonym: Pseudonym?
    ) throws(WeirError) {
      self.pseudonym = pseudonym
      let name = name ?? preset.providerName
      try Cursor.checkProviderName(name)
      self.name = name
      self.preset = preset
      self.configuration = configuration
      var endpoints = [try HTTPEndpoint(preset.endpoint, defaultPath: preset.path)]
      if let failover = configuration.failover {
        let second = try HTTPEndpoint(failover.endpoint, defaultPath: preset.path)
        guard second.url() != endpoints[0].url() else {
          throw WeirError(.invalid, "the failover is the endpoint itself, \(second); use the address of another host")
        }
        guard failover.failures >= 1, failover.retryAfter > .zero else {
          throw WeirError(
            .invalid,
            "the failover to \(second) has \(failover.failures) failures and retries after \(failover.retryAfter); use "
              + "at least 1 failure and a time above 0")
        }
        endpoints.append(second)
      }
      self.endpoints = endpoints
      hosts = Lock(HostChoice(configuration.failover))
      transport = HTTPTransport(configuration, shared: client)
      let sent = preset.post(HTTPBatch(events: [], encoded: []))
      let all = configuration.headers + endpoints.compactMap(\.authorization) + sent.headers
      for header in all where !header.isSendable {
        throw WeirError(
          .invalid,
          "the header \(header.name.debugDescription) contains a line break or another control character; set only the "
            + "key")
      }
      let headers = all.filter(\.isConfidential)
      let proxy = [configuration.proxy?.password].compactMap { $0 }
      let ofQuery = sent.secretQuery.map(\.value)
      scrubber = Scrubber(preset.secrets + endpoints.flatMap(\.secrets) + headers.flatMap(\.secrets) + ofQuery + proxy)
    }

    /// Creates a provider that sends batches of events as JSON (``JSONPreset``) to an address.
    public convenience init(
      endpoint: String, name: String = "http", configuration: HTTPConfiguration = HTTPConfiguration()
    ) throws(WeirError) {
      try self.init(JSONPreset(endpoint: endpoint), name: name, configuration: configuration)
    }

    // MARK: Provider

    /// Delivers events. See ``HTTPProvider``, the preset, and `Provider`.
    public func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
      guard !events.isEmpty else { return [] }
      do {
        let delivery = ProcessorMeter.measure { Delivery(of: events, by: self) }
        var verdicts = try await delivery.verdicts()
        for index in verdicts.indices {
          if case .rejected = verdicts[index] { verdicts[index] = scrubber.clean(verdicts[index]) }
        }
        return verdicts
      } catch {
        throw scrubber.clean(error)
      }
    }

    /// Tells the vendor what is known about a user, if the vendor has a request for that. Refusals are counted and
    /// ignored: every event names its user anyway, and one invalid trait must not block the following events.
    public func identify(_ user: EventUser) async throws {
      guard !user.id.isEmpty, !isTold(user) else { return }
      let parts = preset.identification(of: user, before: nil)
      do {
        let end = ContinuousClock.now + configuration.callTime.bounded
        if !parts.isEmpty { try await tell(apart: parts[...], until: end) }
        try await tell(preset.identify([user]), until: end)
        // What was told before may be other than this, and must be told again if it comes again.
        forget(told: user)
      } catch {
        throw scrubber.clean(error)
      }
    }

    fileprivate func isTold(_ user: EventUser?) -> Bool {
      guard let user else { return false }
      return told.withLock { $0[user.id] } == user.hashValue
    }

    /// Notes that the vendor was told of these users, or refuses them.
    fileprivate func note(told users: [EventUser]) {
      told.withLock { told in
        // What is forgotten is told again.
        if told.count + users.count > Self.mostTold { told = [:] }
        for user in users { told[user.id] = user.hashValue }
      }
    }

    fileprivate func forget(told user: EventUser) {
      told.withLock { $0[user.id] = nil }
    }

    private func tell(_ posts: [HTTPPost], until end: ContinuousClock.Instant) async throws {
      for post in posts {
        do {
          try readIdentify(try await send(post, until: end))
        } catch let refused as BatchRefused {
          note(refused)
        }
      }
    }

    /// Sends these identifications without events. A refused request is halved, until the fault is alone.
    private func tell(apart parts: ArraySlice<[UInt8]>, until end: ContinuousClock.Instant) async throws {
      do {
        let batch = HTTPBatch(events: [], encoded: [], identifications: [0: Array(parts)])
        try readIdentify(try await send(preset.post(batch), until: end))
      } catch let refused as BatchRefused {
        guard parts.count > 1 else { return note(refused) }
        let middle = parts.startIndex + parts.count / 2
        try await tell(apart: parts[..<middle], until: end)
        try await tell(apart: parts[middle...], until: end)
      }
    }

    /// Reads the answer to a request that tells of users.
    private func readIdentify(_ answer: HTTPAnswer) throws {
      guard let rule = configuration.statusRules.meaning(of: answer.status) else {
        return try preset.readIdentify(answer)
      }
      _ = try answer.reading(by: rule, of: HTTPBatch(events: [], encoded: []))
      // The endpoint asks for a pause, and there is no verdict that could carry the pause.
      if rule == .retry { throw HTTPFailure(answer.summary) }
    }

    fileprivate func note(_ refused: BatchRefused) {
      counted.withLock { $0.refusedIdentifications += 1 }
      let reason = scrubber.clean(refused.reason)
      configuration.logger?.warning("\(name): what is known about a user was refused: \(reason)")
    }

    /// Closes the connections. A given client is not shut down.
    public func shutdown() async {
      await transport.shutdown()
    }

    // MARK: One request

    /// Sends a request to the endpoint whose turn it is. If that endpoint fails, and its failure makes the other
    /// endpoint the one to use, sends the request there at once, unless it is later than `end`.
    fileprivate func send(_ post: HTTPPost, until end: ContinuousClock.Instant) async throws -> HTTPAnswer {
      let host = hosts.withLock { $0.next(at: ContinuousClock.now - start) }
      let answer = await answer(to: post, from: host)
      guard let next = note(answer, from: host), next != host, !Task.isCancelled, ContinuousClock.now < end else {
        return try answer.get()
      }
      let other = await self.answer(to: post, from: next)
      _ = note(other, from: next)
      return try other.get()
    }

    /// Notes what an endpoint made of a request. If the endpoint failed, returns the endpoint to use now.
    private func note(_ answer: Result<HTTPAnswer, any Error>, from host: Int) -> Int? {
      let isDown: Bool
      switch answer {
      case .success(let answer):
        let rule = configuration.statusRules.meaning(of: answer.status) ?? .retry
        isDown = (500...599).contains(answer.status) && rule == .retry
      case .failure(let error):
        // Any other error says nothing about the endpoint's health: a cancellation, a certificate.
        guard error is HTTPFailure else { return nil }
        isDown = true
      }
      let next = hosts.withLock { $0.note(host, isDown: isDown, at: ContinuousClock.now - start) }
      if isDown, next != host {
        configuration.logger?.warning("\(name): \(endpoints[host]) fails; requests go to \(endpoints[next])")
      }
      return isDown ? next : nil
    }

    private func answer(to post: HTTPPost, from host: Int) async -> Result<HTTPAnswer, any Error> {
      let endpoint = endpoints[host]
      let isCompressed = configuration.compression == .gzip && preset.takesGzip
      if host > 0 { counted.withLock { $0.failedOver += 1 } }
      do {
        let (answer, sent) = try await transport.send(post, to: endpoint, compress: isCompressed)
        counted.withLock { counts in
          counts.requests += 1
          counts.bytes += UInt64(post.body.count)
          counts.sentBytes += UInt64(sent)
        }
        return .success(answer)
      } catch {
        counted.withLock { counts in
          counts.requests += 1
          counts.unanswered += 1
        }
        // The system's text does not name the endpoint.
        guard var failure = error as? HTTPFailure else { return .failure(error) }
        failure.reason = "\(endpoint): \(failure.reason)"
        return .failure(failure)
      }
    }

    /// Sends requests at the same time. Returns their answers in the same order.
    fileprivate func answers(
      to requests: [Request], until end: ContinuousClock.Instant
    ) async -> [Result<HTTPAnswer, any Error>] {
      guard requests.count > 1 else {
        guard let only = requests.first else { return [] }
        return [await answer(to: only, until: end)]
      }
      return await withTaskGroup(of: (Int, Result<HTTPAnswer, any Error>).self) { group in
        for (place, request) in requests.enumerated() {
          group.addTask { (place, await self.answer(to: request, until: end)) }
        }
        var answers = [Result<HTTPAnswer, any Error>](
          repeating: .failure(CancellationError()), count: requests.count)
        for await (place, answer) in group { answers[place] = answer }
        return answers
      }
    }

    private func answer(
      to request: Request, until end: ContinuousClock.Instant
    ) async -> Result<HTTPAnswer, any Error> {
      do { return .success(try await send(request.post, of: request.batch, until: end)) } catch {
        return .failure(error)
      }
    }

    /// Sends the request of a batch, and adapts the size of the following requests to its duration.
    private func send(
      _ post: HTTPPost, of batch: HTTPBatch, until end: ContinuousClock.Instant
    ) async throws -> HTTPAnswer {
      let bytes = post.body.count
      let clock = ContinuousClock()
      let start = clock.now
      do {
        let answer = try await send(post, until: end)
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

    fileprivate func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      guard let rule = configuration.statusRules.meaning(of: answer.status) else {
        return try preset.read(answer, of: batch)
      }
      return try answer.reading(by: rule, of: batch)
    }

    fileprivate func note(_ reading: HTTPReading) {
      guard reading.unnamedRejections > 0 || reading.notice != nil else { return }
      counted.withLock { $0.unnamedRejections += UInt64(reading.unnamedRejections) }
      let notice = scrubber.clean(reading.notice ?? "")
      let what =
        reading.unnamedRejections > 0
        ? "\(reading.unnamedRejections) of \(reading.verdicts.count) events were refused without being named: "
        : ""
      configuration.logger?.warning("\(name): \(what)\(notice)")
    }

    /// A request with events.
    fileprivate struct Request: Sendable {
      /// The indices of the events in the call.
      let indices: [Int]
      let batch: HTTPBatch
      let post: HTTPPost
      /// What the request tells of users, with the places of their events in the request.
      let told: [(place: Int, parts: [[UInt8]])]
    }

    /// One call of ``deliver(_:)``.
    private struct Delivery {
      private let provider: HTTPProvider
      private let events: [PreparedEvent]
      /// Writes the requests of a ``LinesPreset``; `nil` for other presets.
      private var cutter: LinesCutter?
      private let encoded: [[UInt8]]
      private var identifications: [Int: [[UInt8]]]
      /// The events that tell of users in a request of its own, and have yet to.
      private var untold: Set<Int>
      /// The events of the requests that wait, those of the next request last. With a ``cutter``, the beginning of the
      /// last are the events of the next request.
      private var waiting: [ArraySlice<Int>]
      private var decided: [Verdict?]
      private var hasAnswer = false

      init(of events: [PreparedEvent], by provider: HTTPProvider) {
        self.provider = provider
        self.events = events
        let most = provider.size.withLock { $0.most }
        if let preset = provider.preset as? any LinesPreset {
          cutter = LinesCutter(for: preset, most: most)
          encoded = []
          identifications = [:]
          untold = []
          waiting = [Array(events.indices)[...]]
          decided = Array(repeating: nil, count: events.count)
          return
        }
        let cut = RequestCutter(events, for: provider.preset, most: most)
        encoded = cut.encoded
        for _ in 0..<cut.leftOut {
          provider.note(BatchRefused("it is larger than the endpoint's limit for an event"))
        }
        // Of a user, the last event counts. After a failure, events come again, and the vendor may have been told what
        // the last of them tells: then the earlier ones would tell what is older.
        var last: [String: EventUser] = [:]
        for user in events.filter(\.identifies).compactMap(\.context.user) { last[user.id] = user }
        let untold = Set(
          events.indices.filter { index in
            events[index].identifies && !provider.isTold(last[events[index].context.user?.id ?? ""])
          })
        self.untold = untold
        identifications = cut.identifications.filter { index, _ in untold.contains(index) }
        waiting = cut.requests.reversed().map { $0[...] }
        decided = Array(repeating: nil, count: events.count)
        for (index, reason) in cut.unfit { decided[index] = .rejected(reason) }
      }

      /// Sends requests until all are answered, one fails, or the call's time is over.
      consuming func verdicts() async throws -> [Verdict] {
        var rest = Verdict.retry(after: .zero)
        let clock = ContinuousClock()
        let end = clock.now + provider.configuration.callTime.bounded
        while !waiting.isEmpty {
          if hasAnswer, Task.isCancelled || clock.now >= end { break }
          do {
            let requests = try await next(until: end)
            let answers = await provider.answers(to: requests, until: end)
            var failure: (any Error)?
            for (request, answer) in zip(requests, answers) {
              do {
                if try await settle(request, answer, until: end) { hasAnswer = true }
              } catch {
                failure = failure ?? error
              }
            }
            if let failure { throw failure }
          } catch {
            // Without any verdict, the error is thrown. Otherwise the verdicts so far are returned, and the next
            // call begins with the request that failed and throws its error.
            guard hasAnswer else { throw error }
            if error is HTTPFailure { rest = .retry(after: nil) }
            break
          }
        }
        return decided.map { $0 ?? rest }
      }

      /// Tells the vendor what the events of a request say about their users; of a user, the latest.
      private mutating func identify(_ request: [Int], until end: ContinuousClock.Instant) async throws {
        let telling = request.filter(untold.contains)
        guard !telling.isEmpty else { return }
        var places: [String: Int] = [:]
        var users: [EventUser] = []
        for user in telling.compactMap({ events[$0].context.user }) {
          if let place = places[user.id] {
            users[place] = user
          } else {
            places[user.id] = users.count
            users.append(user)
          }
        }
        let posts = provider.preset.identify(users)
        try await provider.tell(posts, until: end)
        if !posts.isEmpty { provider.note(told: users) }
        untold.subtract(telling)
      }

      /// Takes the requests to be sent now, as many as may be in flight at the same time.
      private mutating func next(until end: ContinuousClock.Instant) async throws -> [Request] {
        var requests: [Request] = []
        while requests.count < max(provider.configuration.concurrency, 1), let indices = waiting.popLast() {
          if cutter != nil {
            if let request = ProcessorMeter.measure({ cut(indices) }) { requests.append(request) }
            continue
          }
          let indices = Array(indices)
          try await identify(indices, until: end)
          let told = indices.enumerated().compactMap { place, index in identifications[index].map { (place, $0) } }
          let batch = HTTPBatch(
            events: indices.map { events[$0] }, encoded: indices.map { encoded[$0] },
            identifications: Dictionary(uniqueKeysWithValues: told))
          let post = ProcessorMeter.measure { provider.preset.post(batch) }
          requests.append(Request(indices: indices, batch: batch, post: post, told: told))
        }
        return requests
      }

      /// Returns a request with the first of these events; the others wait. Returns `nil` if none of them can be sent.
      private mutating func cut(_ indices: ArraySlice<Int>) -> Request? {
        guard var cutter, let preset = provider.preset as? any LinesPreset else { return nil }
        let cut = cutter.cut(events, indices)
        self.cutter = cutter
        if !cut.rest.isEmpty { waiting.append(cut.rest) }
        for (index, reason) in cut.unfit { decided[index] = .rejected(reason) }
        guard !cut.taken.isEmpty else { return nil }
        let batch = HTTPBatch(cut.taken.count == events.count ? events : cut.taken.map { events[$0] })
        return Request(
          indices: cut.taken, batch: batch, post: preset.post(cut.body, key: batch.idempotencyKey), told: [])
      }

      /// Applies the answer to a request. Returns `false` if the answer decides no event: the request waits to be sent
      /// again, without what it told of users.
      private mutating func settle(
        _ sent: Request, _ answer: Result<HTTPAnswer, any Error>, until end: ContinuousClock.Instant
      ) async throws -> Bool {
        let (request, batch, told) = (sent.indices, sent.batch, sent.told)
        var reading: HTTPReading
        do {
          reading = try provider.read(try answer.get(), of: batch)
        } catch is BatchRefused where !told.isEmpty {
          // The fault may be a trait, and must not cost an event.
          try await provider.tell(apart: told.flatMap(\.parts)[...], until: end)
          provider.note(told: told.compactMap { events[request[$0.place]].context.user })
          for index in request { identifications[index] = nil }
          waiting.append(request[...])
          return false
        }
        guard reading.verdicts.count == batch.count else {
          throw HTTPFailure("the preset read \(reading.verdicts.count) verdicts for \(batch.count) events")
        }
        var isWithout = false
        for (place, parts) in told {
          guard case .rejected = reading.verdicts[place] else { continue }
          try await provider.tell(apart: parts[...], until: end)
          provider.note(told: [events[request[place]].context.user].compactMap { $0 })
          identifications[request[place]] = nil
          reading.verdicts[place] = .retry(after: .zero)
          isWithout = true
        }
        provider.note(reading)
        var again: [Int] = []
        for place in request.indices {
          let index = request[place]
          if case .accepted = reading.verdicts[place] {
            decided[index] = .accepted
            if events[index].identifies, let user = events[index].context.user { provider.forget(told: user) }
          } else if reading.verdicts[place] == .retry(after: .zero) {
            again.append(index)
          } else {
            decided[index] = reading.verdicts[place]
          }
        }
        // Fewer events or identifications than before, so the loop ends.
        if again.count < request.count || isWithout {
          if !again.isEmpty { waiting.append(again[...]) }
        } else {
          for index in again { decided[index] = .retry(after: .zero) }
        }
        return true
      }
    }
  }

  extension Duration {
    /// The time, or the longest time that a clock can count to.
    fileprivate var bounded: Duration { min(self, HTTPTransport.longest) }
  }
#endif

// Store: the collector's logs, and the promise that what is answered as taken is in them.

#if Collector
  import WeirContracts
  import Synchronization
  import Weir

  /// What became of a batch's events.
  struct Stored {
    /// How many are in the log.
    var count = 0
    /// Those that the log can never hold.
    var failures: [Failure] = []
    /// Why the log takes no more at present; nil if it took all.
    var refusal: DropReason?
  }

  final class Store: Sendable {
    static let rejectedName = "rejected"
    static let violationsName = "violations"

    private let tracker: Tracker
    /// Checks what is collected against the contract; nil without one.
    private let inspector: Inspector?
    /// Opened at the first event that is rejected: most runs need none.
    private let rejected = Mutex<SideLog?>(nil)
    private let configuration: Collector.Configuration
    private let isClosed = Atomic<Bool>(false)
    /// What this opening finds against the contract has offsets from here on.
    private let firstViolation: Offset

    init(_ configuration: Collector.Configuration) throws {
      self.configuration = configuration
      var options = Tracker.Configuration()
      // A lane for each thread that may handle requests: without one, its events may be refused under load.
      options.laneCount = min(256, configuration.laneCount)
      options.maximumEventBytes = configuration.maximumEventBytes
      options.laneBytes = configuration.laneBytes
      while options.laneBytes <= 2 * options.maximumEventBytes { options.laneBytes *= 2 }
      options.segmentBytes = configuration.segmentBytes
      options.whenFull = .block(upTo: .seconds(1))
      options.byteLimit = configuration.byteLimit
      options.logger = configuration.logger
      let violations = LogDirectory(configuration.directory + "/" + Self.violationsName)
      firstViolation = (try? violations.statistics())?.nextOffset ?? 0
      let tracker = try Tracker(directory: configuration.directory, configuration: options)
      self.tracker = tracker
      var inspection = Inspector.Configuration()
      inspection.logger = configuration.logger
      // The observer is empty, because the collector reports violations itself, in the terms of the vendor's form.
      inspector = try configuration.contract.map {
        try Inspector(tracker, contract: $0.forCollected(), configuration: inspection) { _, _ in }
      }
    }

    var directory: String { tracker.directory }
    var rejectedDirectory: String { tracker.directory + "/" + Self.rejectedName }
    var violationsDirectory: String { tracker.directory + "/" + Self.violationsName }

    /// Puts events into the log; returns when they are there as the configuration has it.
    func store(_ events: [Incoming]) async throws -> Stored {
      let (stored, last) = capture(events)
      if configuration.durability == .powerLoss {
        for id in last { try await tracker.durable(upTo: id) }
      }
      return stored
    }

    /// All on one thread, for this does not wait: what follows an event in its lane is on the disk after it. Answers
    /// the last event of each lane.
    private func capture(_ events: [Incoming]) -> (Stored, [EventID]) {
      var stored = Stored()
      var last: [UInt64: EventID] = [:]
      for incoming in events {
        switch tracker.track(incoming.event.nameInLog, fields: incoming.event.fields) {
        case .accepted(let id):
          stored.count += 1
          last[id.sequence >> 48] = id
        case .dropped(.tooLarge):
          stored.failures.append(
            failure(incoming, "it takes more than the \(configuration.maximumEventBytes) bytes that the log takes"))
        case .dropped(.invalid):
          stored.failures.append(failure(incoming, "a log can't hold its fields"))
        case .dropped(let reason):
          stored.refusal = reason
          return (stored, Array(last.values))
        }
      }
      return (stored, Array(last.values))
    }

    private func failure(_ incoming: Incoming, _ reason: String) -> Failure {
      Failure(
        index: incoming.index, id: incoming.event.id, field: "", kind: .invalid, reason: reason,
        value: .object(incoming.event.fields))
    }

    /// Writes down what was not taken. Best effort: the client keeps what it is refused, or gives it up by itself.
    func reject(_ events: [RejectedEvent]) async throws {
      guard !events.isEmpty else { return }
      let log = try openedRejected()
      for event in events {
        _ = try log.write { $0.track(RejectedEvent.name, fields: event.fields) }
      }
      // On this thread: the log has none of its own, and rejections are few.
      if configuration.durability == .powerLoss { try log.sync(timeout: .seconds(30)) } else { try? log.drain() }
    }

    private func openedRejected() throws -> SideLog {
      try rejected.withLock { log in
        if let log { return log }
        var options = Tracker.Configuration()
        options.laneCount = 8
        options.laneBytes = 256 << 10
        options.segmentBytes = 1 << 20
        let opened = try SideLog(directory: rejectedDirectory, configuration: options)
        log = opened
        return opened
      }
    }

    /// Closes the logs. What was taken is in them without it, too.
    func close() throws {
      guard !isClosed.exchange(true, ordering: .relaxed) else { return }
      defer { try? rejected.withLock { try $0?.close() } }
      try tracker.close()
    }

    // MARK: Reading

    /// Brings everything taken so far to where readers see it. A closed log has done so; of a full one they see what
    /// there was room for.
    func drain() throws {
      let rejected = rejected.withLock { $0 }
      try drain { () throws(WeirError) in try tracker.drain(timeout: .seconds(5)) }
      try drain { () throws(WeirError) in try rejected?.drain() }
    }

    private func drain(_ body: () throws(WeirError) -> Void) throws {
      do throws(WeirError) {
        try body()
      } catch {
        guard [.closed, .noSpace].contains(error.code) else { throw error }
      }
    }

    /// Waits until everything taken so far is held against the contract; a closed log has done so. Answers what was
    /// found.
    func inspected() throws(WeirError) -> ViolationCounts {
      guard let inspector else { return ViolationCounts() }
      do throws(WeirError) {
        return try inspector.inspect(timeout: .seconds(5))
      } catch {
        guard error.code == .closed else { throw error }
        return inspector.counts
      }
    }

    /// Waits until everything taken so far is held against the contract, and what was found is where readers see it.
    func inspect() async throws {
      let counts = try inspected()
      let found = counts.violations - min(counts.violations, counts.unlogged)
      // Their log is the inspector's, which drains it by and by. Of more than a hundred in one event not all are there.
      for _ in 0..<400 {
        let end = (try? LogDirectory(violationsDirectory).statistics())?.nextOffset ?? 0
        if end - min(end, firstViolation) >= found { return }
        try await Task.sleep(for: .milliseconds(5))
      }
    }

    /// Everything below it survives a power cut.
    var durableOffset: Offset { tracker.durableOffset }

    func events(from: Offset, limit: Int) throws -> [CollectedEvent] {
      try read(directory, from: from, limit: limit) { CollectedEvent($0) }
    }

    func rejected(from: Offset, limit: Int) throws -> [RejectedEvent] {
      try read(rejectedDirectory, from: from, limit: limit) { RejectedEvent($0) }
    }

    /// What `transform` makes of the events of a log; nothing if there is no such log.
    func read<Result>(
      _ directory: String, from: Offset, limit: Int, _ transform: (StoredEvent) throws -> Result?
    ) throws -> [Result] {
      try drain()
      guard let reader = try reader(of: directory, from: from) else { return [] }
      var results: [Result] = []
      while results.count < limit, let stored = try reader.next() {
        if let result = try transform(stored) { results.append(result) }
      }
      return results
    }

    /// A reader of a log; nil if there is none yet.
    func reader(of directory: String, from: Offset) throws -> EventReader? {
      do throws(WeirError) {
        return try EventReader(directory: directory, from: from)
      } catch {
        guard error.code == .missing else { throw error }
        return nil
      }
    }
  }
#endif

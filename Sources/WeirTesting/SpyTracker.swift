// SpyTracker: a tracker for tests, whose events can be read at once and by type.

public import Weir
public import WeirContracts
public import WeirDelivery

/// A tracker for tests. Events captured with ``tracker`` can be read at once, by type and in order, and are removed
/// with the spy.
///
/// ```swift
/// @Test func buyingCompletesTheCheckout() throws {
///   let spy = try SpyTracker()
///   let shop = Shop(tracker: spy.tracker)
///
///   shop.buy(cart: 7)
///
///   #expect(spy.events(of: Checkout.self) == [.started(cart: 7), .completed(order: 1, total: 19.90)])
///   #expect(spy.failures.isEmpty)
/// }
/// ```
///
/// In XCTest, use it the same way: `XCTAssertEqual(spy.events(of: Checkout.self), [.started(cart: 7), …])`.
///
/// A spy has a real `Tracker`, with a real log in a directory in memory (`/dev/shm`, or the temporary directory if
/// that is missing or full). The code under test therefore runs as in production: events are encoded, compared with
/// their declarations, refused for the same reasons, and read back from files. Each spy has its own directory, so tests
/// may run in parallel. Creating a spy takes a few milliseconds and some 5 MB of memory.
///
/// **Waiting.** Reading events waits until everything captured before the call is readable, so tests need no delays.
/// For events that another task will capture, use ``wait(for:of:upTo:)``.
///
/// **Threads.** Any thread may call any member.
///
/// **End.** ``close()``, or the release of the last reference, closes the tracker and removes its directory. Code that
/// still has the tracker then gets receipts with `DropReason.closed`.
public final class SpyTracker: Sendable {
  /// The tracker for the code under test.
  public let tracker: Tracker

  private let place: MemoryDirectory
  private let seen: SeenEvents
  private let contract: CompiledContract?

  /// Opens a log in memory. With a contract, ``violations`` lists the violations of the events.
  ///
  /// Captures wait while a lane is full, so that a test misses no event for lack of time, unless `change` sets another
  /// policy. Throws a `WeirError` if the configuration is refused, a `ContractError` if the contract is invalid,
  /// and a ``TestKitError`` if no directory can be created.
  public convenience init(
    contract: Contract? = nil, configure change: (inout Tracker.Configuration) -> Void = { _ in }
  ) throws {
    let contract = try contract?.compiled()
    do {
      try self.init(in: MemoryDirectory(in: MemoryDirectory.memory), contract, change)
    } catch {
      if (error as? WeirError)?.code == .invalid { throw error }
      // Containers often have only 64 MB of such memory, or none.
      try self.init(in: MemoryDirectory(in: MemoryDirectory.disk), contract, change)
    }
  }

  /// Opens a log on a disk that a test lets fail. A capture is refused if the lane is full because the disk is full. If
  /// the lane is full for another reason, the capture waits at most 0.1 s.
  public convenience init(
    on disk: FailingDisk, configure change: (inout Tracker.Configuration) -> Void = { _ in }
  ) throws(WeirError) {
    try self.init(in: disk.place, nil) { configuration in
      configuration.whenFull = .block(upTo: .milliseconds(100))
      change(&configuration)
    }
  }

  private init(
    in place: MemoryDirectory, _ contract: CompiledContract?, _ change: (inout Tracker.Configuration) -> Void
  ) throws(WeirError) {
    self.contract = contract
    tracker = try Self.open(place.path, change)
    self.place = place
    seen = SeenEvents(try tracker.reader(), tracker.counters)
  }

  deinit {
    try? tracker.close()
  }

  private static func open(
    _ directory: String, _ change: (inout Tracker.Configuration) -> Void
  ) throws(WeirError) -> Tracker {
    var configuration = Tracker.Configuration()
    configuration.logger = nil
    configuration.laneCount = 6
    // The minimum for the largest event.
    configuration.laneBytes = 128 << 10
    configuration.segmentBytes = 1 << 20
    configuration.whenFull = .block
    change(&configuration)
    return try Tracker(directory: directory, configuration: configuration)
  }

  /// Closes the tracker and removes its directory. Captured events can still be read.
  public func close() {
    // All events are read before the files are removed. Events that could not be drained are reported in `failures`.
    seen.look(tracker) { _ in }
    try? tracker.close()
    seen.look(tracker) { $0.reader = nil }
    place.remove()
  }
}

// MARK: Events

extension SpyTracker {
  /// The events of type `E`, in the log's order, which is the order of capture for each thread.
  ///
  /// Events of other types, and cases that `E` does not know, are left out. An event of type `E` that can't be read is
  /// left out and reported in ``failures``.
  public func events<E: Event>(of type: E.Type = E.self) -> [E] {
    recorded(of: type).map(\.event)
  }

  /// The events of type `E`, each with its offset, id, time, user, view and other context.
  public func recorded<E: Event>(of type: E.Type = E.self) -> [Recorded<E>] {
    var found: [Recorded<E>] = []
    for stored in all {
      do {
        if let event = try Recorded<E>(stored) { found.append(event) }
      } catch {
        seen.note(Failure(event: stored, message: "\(stored.name) can't be read as \(E.self): \(error)"))
      }
    }
    return found
  }

  /// The last event of type `E`; `nil` if there is none.
  public func last<E: Event>(of type: E.Type = E.self) -> E? {
    events(of: type).last
  }

  /// All events of any type, as stored in the log. Includes changes of the default user, as `weir.associated` and
  /// `weir.disassociated`. The log's own notices are in ``notices``.
  public var all: [StoredEvent] {
    seen.look(tracker) { $0.events }
  }

  /// The names of ``all``.
  public var names: [String] {
    all.map(\.name)
  }

  /// The log's own notices: `weir.gap` for refused captures, `weir.hole` for lost events.
  public var notices: [StoredEvent] {
    seen.look(tracker) { $0.notices }
  }

  /// The violations of the spy's contract, event by event; empty without a contract. Values are not redacted, not even
  /// those of sensitive fields.
  ///
  /// Checked during the call, on the calling thread. No `Inspector` is needed.
  public var violations: [Violation] {
    guard let contract else { return [] }
    return all.flatMap { contract.check($0).violations }
  }

  /// Returns the events as a provider with this mapper and these options gets them: with derived fields and defaults,
  /// flagged, redacted and mapped, and without the events that the mapper withholds.
  public func prepared(
    by mapper: EventMapper = EventMapper(), options: DeliveryOptions = DeliveryOptions()
  ) -> [PreparedEvent] {
    var preparation = Preparation(options, mapper: mapper)
    return all.compactMap { preparation.prepare($0) }
  }

  /// The number of accepted events.
  public var accepted: UInt64 {
    seen.look(tracker) { tracker.counters.accepted - $0.acceptedBefore }
  }

  /// The number of refused events, by reason. Reasons that did not occur are absent.
  public var dropped: [DropReason: UInt64] {
    seen.look(tracker) { seen in
      var counts = tracker.counters.dropped
      for (reason, count) in seen.droppedBefore {
        counts[reason] = counts[reason, default: 0] == count ? nil : counts[reason, default: 0] - count
      }
      return counts
    }
  }

  /// The failures of reading the events: an event that its type can't read, or a log that can't grow. A test that
  /// expects no failure checks `#expect(spy.failures.isEmpty)`.
  public var failures: [Failure] {
    seen.look(tracker) { $0.failures }
  }

  /// Forgets all events, refusals and failures before the call.
  public func reset() {
    seen.look(tracker) { $0.forget(tracker.counters) }
  }

  /// Waits until there are at least `count` events of type `E`, for code that captures in other tasks. Returns all
  /// events of the type. After the timeout, or if the task is cancelled, returns the events so far, so that the test's
  /// own expectation shows what is missing.
  @discardableResult
  public func wait<E: Event>(
    for count: Int, of type: E.Type = E.self, upTo timeout: Duration = .seconds(5)
  ) async -> [E] {
    let end = ContinuousClock.now + timeout
    var pause = Duration.milliseconds(1)
    while true {
      let found = events(of: type)
      guard found.count < count, ContinuousClock.now < end else { return found }
      do { try await Task.sleep(for: pause) } catch { return events(of: type) }
      pause = min(pause * 2, .milliseconds(20))
    }
  }

  /// A failure of a spy to read its events.
  public struct Failure: Hashable, Sendable, CustomStringConvertible {
    /// The event; `nil` if the failure is about the log.
    public let event: StoredEvent?

    /// The problem.
    public let message: String

    public var description: String { message }
  }
}

// SpyTracker: a tracker for tests, whose events can be asked for at once and by type.

public import Weir
public import WeirContracts
public import WeirDelivery

/// A tracker for tests: what is captured with ``tracker`` can be asked for at once, typed, in order, and is gone with
/// the spy.
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
/// In XCTest it is the same: `XCTAssertEqual(spy.events(of: Checkout.self), [.started(cart: 7), …])`.
///
/// There is a real ``Tracker`` inside, with a real log in a directory in memory (`/dev/shm`; the temporary directory
/// where that is missing or full). So the code under test is what runs in production: events are encoded, checked
/// against their declarations, refused for the same reasons, and read back from files. Each spy has a directory of its
/// own, so tests may run beside each other. Making one takes a few milliseconds and some 5 MB of memory.
///
/// **Whatever asks for events waits** until all that was captured before the call is there. Nothing needs a delay. For
/// events that another task has yet to capture there is ``wait(for:of:upTo:)``.
///
/// **Threads.** Every call may be made from any thread.
///
/// **The end.** The tracker is closed and its directory removed with the last reference to the spy, or by ``close()``.
/// Code that still has the tracker then gets receipts that say ``DropReason/closed``.
public final class SpyTracker: Sendable {
  /// The tracker for the code under test.
  public let tracker: Tracker

  private let place: MemoryDirectory
  private let seen: SeenEvents
  private let contract: CompiledContract?

  /// Opens a log in memory. With a contract, ``violations`` tells what is against it.
  ///
  /// Captures wait where a lane is full, so that a test never misses an event for lack of time; a configuration that
  /// `change` edits may say otherwise. Throws a ``WeirError`` if the configuration is refused, a ``ContractError`` if
  /// the contract makes no sense, and a ``TestKitError`` if no directory can be made.
  public convenience init(
    contract: Contract? = nil, configure change: (inout Tracker.Configuration) -> Void = { _ in }
  ) throws {
    let contract = try contract?.compiled()
    do {
      try self.init(in: MemoryDirectory(in: MemoryDirectory.memory), contract, change)
    } catch {
      if (error as? WeirError)?.code == .invalid { throw error }
      // Containers often have 64 MB of such memory, or none at all.
      try self.init(in: MemoryDirectory(in: MemoryDirectory.disk), contract, change)
    }
  }

  /// Opens a log on a disk that a test lets fail. Captures do not wait there: where a lane is full because the disk is,
  /// they are refused.
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
    // The smallest that takes the largest event.
    configuration.laneBytes = 128 << 10
    configuration.segmentBytes = 1 << 20
    configuration.whenFull = .block
    change(&configuration)
    return try Tracker(directory: directory, configuration: configuration)
  }

  /// Closes the tracker and removes its directory. What was captured can still be asked for.
  public func close() {
    // Everything is read before the files go; what could not be drained is in `failures`.
    seen.look(tracker) { _ in }
    try? tracker.close()
    seen.look(tracker) { $0.reader = nil }
    place.remove()
  }
}

// MARK: Events

extension SpyTracker {
  /// The events of type `E`, in the order of the log: that in which each thread captured them.
  ///
  /// Those of other types, and cases that `E` does not know, are left out. One of `E`'s that can't be read is left out
  /// too, and is in ``failures``.
  public func events<E: Event>(of type: E.Type = E.self) -> [E] {
    recorded(of: type).map(\.event)
  }

  /// The same, each with what the log knows about it: offset, id, time, user, view and other context.
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

  /// The last event of type `E`; nil if there is none.
  public func last<E: Event>(of type: E.Type = E.self) -> E? {
    events(of: type).last
  }

  /// All events, whatever their type, as they are in the log. Users' comings and goings are among them, as
  /// `weir.associated` and `weir.disassociated`; what the log notes about itself is in ``notices``.
  public var all: [StoredEvent] {
    seen.look(tracker) { $0.events }
  }

  /// The names of ``all``.
  public var names: [String] {
    all.map(\.name)
  }

  /// What the log notes about itself: `weir.gap` where captures were refused, `weir.hole` where events are lost.
  public var notices: [StoredEvent] {
    seen.look(tracker) { $0.notices }
  }

  /// What is against the contract that the spy was made with, event by event; empty without one. Values are the true
  /// ones, those of sensitive fields too.
  ///
  /// Checked here and now, on the calling thread: no `Inspector` is needed.
  public var violations: [Violation] {
    guard let contract else { return [] }
    return all.flatMap { contract.check($0).violations }
  }

  /// The events as a provider with this mapper and these options gets them: with derived fields and defaults, flagged,
  /// redacted, mapped; without those that the mapper withholds.
  public func prepared(
    by mapper: EventMapper = EventMapper(), options: DeliveryOptions = DeliveryOptions()
  ) -> [PreparedEvent] {
    var preparation = Preparation(options, mapper: mapper)
    return all.compactMap { preparation.prepare($0) }
  }

  /// How many events were accepted.
  public var accepted: UInt64 {
    seen.look(tracker) { tracker.counters.accepted - $0.acceptedBefore }
  }

  /// How many events were refused, for each reason that occurred.
  public var dropped: [DropReason: UInt64] {
    seen.look(tracker) { seen in
      var counts = tracker.counters.dropped
      for (reason, count) in seen.droppedBefore {
        counts[reason] = counts[reason, default: 0] == count ? nil : counts[reason, default: 0] - count
      }
      return counts
    }
  }

  /// What went wrong while the events were read: an event that its type can't read, a log that can't grow. A test that
  /// expects none of it says `#expect(spy.failures.isEmpty)`.
  public var failures: [Failure] {
    seen.look(tracker) { $0.failures }
  }

  /// Forgets everything that was captured, refused or went wrong before the call.
  public func reset() {
    seen.look(tracker) { $0.forget(tracker.counters) }
  }

  /// Waits until there are at least `count` events of type `E`, for code that captures in tasks of its own; answers all
  /// of them. After the time given, or if the task is cancelled, those that there are, so that the test's own
  /// expectation tells what is missing.
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

  /// Something that went wrong while a spy read its events.
  public struct Failure: Hashable, Sendable, CustomStringConvertible {
    /// The event; nil if it is about the log.
    public let event: StoredEvent?

    /// What is wrong.
    public let message: String

    public var description: String { message }
  }
}

// OpenScopes: the open scopes of a tracker, and their clock.

import Synchronization
import Weir

/// A weak reference to a scope.
///
/// Sendable, although the compiler can't see it: the reference is set before it is shared, and threads may read a weak
/// reference while its object is released.
final class ScopeReference: @unchecked Sendable {
  private(set) weak var scope: Scope?

  /// Sets the scope. Called once, by the scope's initialiser.
  func refer(to scope: Scope) {
    self.scope = scope
  }
}

/// The clock of scopes and of a life cycle: the machine's monotonic clock, unless the life cycle was given another
/// clock.
struct ScopeClock: Sendable {
  private let given: (@Sendable () -> Duration)?

  /// The machine's monotonic clock.
  static let machine = ScopeClock(nil)

  init(_ given: (@Sendable () -> Duration)?) {
    self.given = given
  }

  var now: Duration { given?() ?? ResumeWatch.Clocks.monotonicNow }
}

extension Tracker {
  /// The open scopes of the tracker. In a forked child, returns an empty object that nobody shares.
  var scopes: OpenScopes { companions.first { OpenScopes() } ?? OpenScopes(isInFork: true) }
}

/// The open scopes of a tracker, and its life cycle. A forked child has none.
final class OpenScopes: LogCompanion {
  private struct State {
    var scopes: [ObjectIdentifier: (number: UInt64, reference: ScopeReference)] = [:]
    var lastNumber: UInt64 = 0
    var watch: ProcessWatch?
  }

  private let state = ProcessLock(State())
  /// Whether this is a forked child, with its parent's tracker.
  private let isInFork: Bool
  /// The time, in nanoseconds of the monotonic clock, by which the life cycle should have read the clocks again. If the
  /// life cycle has not done so, the process may have stood still without anybody noticing.
  private let overdue = Atomic<Int64>(.max)

  init(isInFork: Bool = false) {
    self.isInFork = isInFork
  }

  /// The clock for scopes that begin now.
  var clock: ScopeClock {
    let watch = state.withLock { $0.watch } ?? nil
    return watch?.clock ?? .machine
  }

  func add(_ reference: ScopeReference, _ identity: ObjectIdentifier) {
    _ = state.withLock { state in
      state.lastNumber += 1
      state.scopes[identity] = (state.lastNumber, reference)
    }
  }

  func remove(_ identity: ObjectIdentifier) {
    _ = state.withLock { _ = $0.scopes.removeValue(forKey: identity) }
  }

  /// The open scopes, oldest first. When releasing them, the caller must hold no lock that a scope's release takes.
  var open: [Scope] {
    let found = state.withLock { Array($0.scopes.values) } ?? []
    return found.sorted { $0.number < $1.number }.compactMap(\.reference.scope)
  }

  /// Ends the open scopes, latest first: their ends are events of the log.
  func logWillClose() {
    for scope in open.reversed() { scope.end(interaction: "shutdown") }
  }

  func logWillBeFreed() {}

  // MARK: The life cycle

  /// Attaches a life cycle. Returns `false` if there already is one, `nil` in a forked child.
  func attach(_ watch: ProcessWatch) -> Bool? {
    guard !isInFork else { return nil }
    return state.withLock { state in
      guard state.watch == nil else { return false }
      state.watch = watch
      return true
    }
  }

  /// Detaches a life cycle that has ended.
  func detach(_ watch: ProcessWatch) {
    // Released outside of the lock, because this may be the last reference.
    _ = state.withLock { state -> ProcessWatch? in
      guard state.watch === watch else { return nil }
      defer { state.watch = nil }
      overdue.store(.max, ordering: .releasing)
      return state.watch
    }
  }

  /// Sets the time by which the life cycle should have read the clocks again; `nil` for never.
  func expectLook(by time: Duration?) {
    overdue.store(time.map { Int64(clamping: $0.wholeNanoseconds) } ?? .max, ordering: .releasing)
  }

  /// Lets the life cycle read the clocks if it should have done so by now. When this returns, a standstill is excluded
  /// from all open scopes. Costs one read of the clock.
  func lookAtClocks() {
    let time = overdue.load(ordering: .acquiring)
    guard time != .max, ResumeWatch.Clocks.monotonicNow >= .nanoseconds(time) else { return }
    let watch = state.withLock { $0.watch } ?? nil
    watch?.look()
  }
}

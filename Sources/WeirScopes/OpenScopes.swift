// OpenScopes: the scopes of a tracker that are open, and the clock that they go by.

import Synchronization
import Weir

/// How something that must not keep a scope refers to it.
///
/// Sendable in truth though the compiler can't see it: it refers to its scope before anybody else has it, and a weak
/// reference may be read by any threads while its object is released.
final class ScopeReference: @unchecked Sendable {
  private(set) weak var scope: Scope?

  /// To be called once, by the scope's initialiser.
  func refer(to scope: Scope) {
    self.scope = scope
  }
}

/// The time that scopes and a life cycle go by: the machine's monotonic clock, unless the life cycle was given another.
struct ScopeClock: Sendable {
  private let given: (@Sendable () -> Duration)?

  /// The machine's.
  static let machine = ScopeClock(nil)

  init(_ given: (@Sendable () -> Duration)?) {
    self.given = given
  }

  var now: Duration { given?() ?? ResumeWatch.Clocks.monotonicNow }
}

extension Tracker {
  /// The open scopes of the tracker. In a child of a fork, some that nobody else has.
  var scopes: OpenScopes { companions.first { OpenScopes() } ?? OpenScopes(isInFork: true) }
}

/// The scopes of one tracker, and its life cycle. In a child of a fork there are none.
final class OpenScopes: LogCompanion {
  private struct State {
    var scopes: [ObjectIdentifier: (number: UInt64, reference: ScopeReference)] = [:]
    var lastNumber: UInt64 = 0
    var watch: ProcessWatch?
  }

  private let state = ProcessLock(State())
  /// In a child of a fork, with its parent's tracker.
  private let isInFork: Bool
  /// From this time of the monotonic clock on, in nanoseconds, the life cycle should have looked at the clocks again:
  /// if it did not, the process may have stood still, and nobody has noticed yet.
  private let overdue = Atomic<Int64>(.max)

  init(isInFork: Bool = false) {
    self.isInFork = isInFork
  }

  /// What scopes go by that begin now.
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

  /// The scopes that are open, those first that began first. Whoever asks must hold no lock that a scope's release
  /// takes when he lets go of them.
  var open: [Scope] {
    let found = state.withLock { Array($0.scopes.values) } ?? []
    return found.sorted { $0.number < $1.number }.compactMap(\.reference.scope)
  }

  func logWillBeFreed() {}

  // MARK: The life cycle

  /// Has a life cycle look after the scopes. False if there is one, nil in a child of a fork.
  func attach(_ watch: ProcessWatch) -> Bool? {
    guard !isInFork else { return nil }
    return state.withLock { state in
      guard state.watch == nil else { return false }
      state.watch = watch
      return true
    }
  }

  /// The life cycle is no more.
  func detach(_ watch: ProcessWatch) {
    // Let go of out of the lock, for it may be the last reference.
    _ = state.withLock { state -> ProcessWatch? in
      guard state.watch === watch else { return nil }
      defer { state.watch = nil }
      overdue.store(.max, ordering: .releasing)
      return state.watch
    }
  }

  /// When the life cycle is to have looked again; nil for never.
  func expectLook(by time: Duration?) {
    overdue.store(time.map { Int64(clamping: $0.wholeNanoseconds) } ?? .max, ordering: .releasing)
  }

  /// Has the life cycle look at the clocks, if it should have by now: what the process stood still is left out of all
  /// open scopes when this returns. Costs a read of the clock.
  func lookAtClocks() {
    let time = overdue.load(ordering: .acquiring)
    guard time != .max, ResumeWatch.Clocks.monotonicNow >= .nanoseconds(time) else { return }
    let watch = state.withLock { $0.watch } ?? nil
    watch?.look()
  }
}

// WeakTracker: a weak reference to a tracker.

/// A weak reference to a tracker, for objects that the tracker retains. May be used from any thread.
package final class WeakTracker: Sendable {
  private struct State {
    weak var tracker: Tracker?
  }

  private let state: Lock<State>

  package init(_ tracker: Tracker?) {
    state = Lock(State(tracker: tracker))
  }

  /// The tracker; `nil` once the tracker is released, or if there never was one.
  package var value: Tracker? { state.withLock { $0.tracker } }
}

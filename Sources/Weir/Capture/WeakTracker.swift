// WeakTracker: a tracker that is not kept.

/// A reference to a tracker that does not keep the tracker, for what the tracker itself keeps. From any thread.
package final class WeakTracker: Sendable {
  private struct State {
    weak var tracker: Tracker?
  }

  private let state: Lock<State>

  package init(_ tracker: Tracker?) {
    state = Lock(State(tracker: tracker))
  }

  /// The tracker; nil once it is released, or if there never was one.
  package var value: Tracker? { state.withLock { $0.tracker } }
}

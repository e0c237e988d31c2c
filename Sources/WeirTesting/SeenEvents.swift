// SeenEvents: the events that a spy has read from its log so far.

import Weir

/// The events of a spy's log, each read once and kept in memory.
final class SeenEvents: Sendable {
  struct State {
    /// Continues where it stopped; `nil` once the log's files are removed.
    var reader: EventReader?
    var events: [StoredEvent] = []
    var notices: [StoredEvent] = []
    var failures: [SpyTracker.Failure] = []
    /// The counters when the spy was last reset.
    var acceptedBefore: UInt64
    var droppedBefore: [DropReason: UInt64]

    /// Notes a failure once, however often it occurs.
    mutating func note(_ failure: SpyTracker.Failure) {
      if !failures.contains(failure) { failures.append(failure) }
    }

    mutating func forget(_ counters: Counters) {
      events = []
      notices = []
      failures = []
      acceptedBefore = counters.accepted
      droppedBefore = counters.dropped
    }

    /// Reads all events below `end`. Reading stops there, because the end of a busy log might never be reached.
    mutating func read(upTo end: Offset) {
      do {
        while let reader, let event = try reader.next() {
          if event.isNotice { notices.append(event) } else { events.append(event) }
          if event.offset + 1 >= end { break }
        }
      } catch {
        note(SpyTracker.Failure(event: nil, message: "the log can't be read: \(error)"))
      }
    }
  }

  private let state: Lock<State>

  init(_ reader: sending EventReader, _ counters: Counters) {
    state = Lock(State(reader: reader, acceptedBefore: counters.accepted, droppedBefore: counters.dropped))
  }

  /// Notes a failure.
  func note(_ failure: SpyTracker.Failure) {
    state.withLock { $0.note(failure) }
  }

  /// Calls `body` with everything that was captured before the call.
  ///
  /// `body` runs with the lock held, so it must not call this again, or run code of the test.
  func look<Result>(_ tracker: Tracker, _ body: (inout State) -> Result) -> Result where Result: Sendable {
    var failure: SpyTracker.Failure?
    var end = Offset.max
    do throws(WeirError) {
      end = try tracker.drain(timeout: .seconds(10))
    } catch {
      // A closed log has drained all events that it could.
      if error.code != .closed {
        failure = SpyTracker.Failure(event: nil, message: "not all events are in the log: \(error)")
      }
    }
    return state.withLock { state in
      if let failure { state.note(failure) }
      state.read(upTo: end)
      return body(&state)
    }
  }
}

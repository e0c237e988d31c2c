// SideLog: a small log beside a tracker's, without threads: attempts, dead letters, violations, what a collector
// rejects.

import Synchronization

/// A log of a few notes a second. The log has no threads: its callers do the work of a tracker's threads.
///
/// An accepted note survives the death of the process, drained or not. Other processes see a note after ``drain()``. A
/// note survives a power cut after ``sync()``. A drain takes some microseconds; a drain that fills a segment waits for
/// the disk.
///
/// Any thread may call any member. Calls are made one after the other.
package final class SideLog: Sendable {
  private let tracker: Tracker
  /// The most notes that stay in the lanes: after so many, a note drains them.
  private let mostUndrained: Int
  private let written = Atomic<Int>(0)

  /// Opens the log in `directory`, and recovers what a process before left in it.
  ///
  /// Of the configuration, what needs a thread is not used: a full lane is drained by the one that writes, and nothing
  /// is logged. Every `mostUndrained`-th note is drained by itself, so that lanes do not fill: a capture that a full
  /// lane refuses is captured again, but stays in the log as a `weir.gap`.
  ///
  /// Throws as ``Tracker/init(directory:configuration:)`` does.
  package init(
    directory: String, configuration: Tracker.Configuration, mostUndrained: Int = 64
  ) throws(WeirError) {
    self.mostUndrained = mostUndrained
    var configuration = configuration
    configuration.isThreadless = true
    configuration.whenFull = .dropNewest
    configuration.logger = nil
    tracker = try Tracker(directory: directory, configuration: configuration)
  }

  /// The log's directory, as an absolute path.
  package var directory: String { tracker.directory }

  /// Captures a note; if there is no room for the note in its lane, makes room and captures it again. Throws what the
  /// draining throws.
  package func write(_ capture: (Tracker) -> Receipt) throws(WeirError) -> Receipt {
    var receipt = capture(tracker)
    if receipt == .dropped(.full) {
      try drain()
      receipt = capture(tracker)
    }
    // Order: none. The count is of no other data.
    let number = written.wrappingAdd(1, ordering: .relaxed).newValue
    // What was accepted stays accepted, and whatever is wrong is there again when somebody drains or syncs.
    if number % mostUndrained == 0 { try? drain() }
    return receipt
  }

  /// Brings what was written to where readers see it.
  package func drain() throws(WeirError) {
    try tracker.drain()
  }

  /// Brings what was written to the disk. `timeout` bounds the wait for other callers' work, and not the work itself.
  package func sync(timeout: Duration) throws(WeirError) {
    try tracker.sync(timeout: timeout)
  }

  /// Drains and seals the log, and gives up its directory. Waits for the disk.
  package func close() throws(WeirError) {
    try tracker.close()
  }
}

extension Tracker.Configuration {
  /// The configuration of a side log of small notes, of which the oldest are dropped at the byte limit.
  package static func smallNotes(
    laneCount: Int, spareLanes: Int, maximumEventBytes: Int, byteLimit: Int
  ) -> Self {
    var configuration = Self()
    configuration.laneCount = laneCount
    configuration.spareLanes = spareLanes
    configuration.laneBytes = 64 << 10
    configuration.segmentBytes = 1 << 20
    configuration.maximumEventBytes = maximumEventBytes
    configuration.byteLimit = byteLimit
    configuration.atByteLimit = .dropOldest
    return configuration
  }
}

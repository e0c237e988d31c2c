// AttemptLog: records a provider's calls and answers in a small separate log, in the directory `attempts/NAME` of the
// delivered log.

import Weir

/// The log in which a provider's worker records its attempts, for the journeys of events.
///
/// Best effort: never delays delivery and never throws, and nothing depends on its contents. The log is opened at the
/// first attempt. Its size is limited, and the oldest notes are dropped. The log is not synced, so a power cut may lose
/// the latest notes. ``unwritten`` counts the notes that could not be written.
///
/// The worker holds the lock of its cursor, so nobody else writes under this name. Any thread may call any member.
/// Calls wait only for each other.
final class AttemptLog: Sendable {
  static let directoryName = "attempts"
  /// The default maximum size on disk.
  static let defaultBytes = 16 << 20
  /// The minimum size of a log with two small lanes.
  static let leastBytes = 8 << 20
  private static let pauseAfterError = Duration.seconds(10)

  private struct State {
    var log: SideLog?
    /// After a failed opening, the time of the next try.
    var nextTry = MonotonicTime(nanoseconds: 0)
    var isClosed = false
    var unwritten: UInt64 = 0
    var error: WeirError?
  }

  private let logDirectory: String
  private let provider: String
  private let byteLimit: Int
  private let state = Lock(State())

  /// Creates the log of a provider's attempts. Creates no files yet.
  init(in logDirectory: String, provider: String, byteLimit: Int = AttemptLog.defaultBytes) {
    self.logDirectory = logDirectory
    self.provider = provider
    self.byteLimit = max(byteLimit, Self.leastBytes)
  }

  /// Returns the directory of a provider's attempts.
  static func path(in logDirectory: String, provider: String) -> String {
    "\(logDirectory)/\(directoryName)/\(provider)"
  }

  /// Notes a call of the provider. Takes some microseconds.
  func write(_ attempt: Attempt) {
    write(LoggedAttempt(attempt), drains: true)
  }

  /// Notes a call with all events of a range of offsets.
  func write(_ call: LoggedAttempt.Call) {
    write(.attempt(call), drains: true)
  }

  /// Notes the flags of the events of the next call. Readers see these notes together with the call's note.
  func write(_ notes: [FlagNote]) {
    for note in notes { write(.flagged(note), drains: false) }
  }

  /// Notes that everything below `offset` is settled, on disk.
  func writeSettled(below offset: Offset) {
    write(.settled(below: offset), drains: true)
  }

  /// Notes that the provider's mapper withheld this event. Readers see this note after the next note of another kind,
  /// which comes with the cursor's move past the event at the latest.
  func writeWithheld(_ offset: Offset) {
    write(.withheld(offset), drains: false)
  }

  /// The number of notes that could not be written.
  var unwritten: UInt64 { state.withLock { $0.unwritten } }

  /// The reason why the last note could not be written; `nil` if it was written.
  var error: WeirError? { state.withLock { $0.error } }

  /// Closes the log. Waits for the disk. Later notes are not written.
  func close() {
    let log = state.withLock { state in
      state.isClosed = true
      defer { state.log = nil }
      return state.log
    }
    do throws(WeirError) {
      try log?.close()
    } catch {
      state.withLock { $0.error = error }
    }
  }

  private func write(_ note: LoggedAttempt, drains: Bool) {
    state.withLock { state in
      do throws(WeirError) {
        guard let log = try opened(&state) else {
          state.unwritten += 1
          return
        }
        // Returns immediately, also in a forked child.
        switch try log.write({ $0.track(note) }) {
        case .accepted: state.error = nil
        case .dropped(let reason):
          state.unwritten += 1
          state.error = WeirError(.io, "the log of attempts refused an event: \(reason)", path: log.directory)
          return
        }
        // The note is kept even if the drain fails.
        if drains { try? log.drain() }
      } catch {
        state.unwritten += 1
        state.error = error
      }
    }
  }

  /// Returns the log, or `nil` if there is to be none at present.
  private func opened(_ state: inout State) throws(WeirError) -> SideLog? {
    if let log = state.log { return log }
    guard !state.isClosed, state.nextTry <= MonotonicTime.now else { return nil }
    state.nextTry = MonotonicTime.now.after(Self.pauseAfterError)
    let calls = SystemCalls()
    try calls.makeDirectory(Self.directoryName, in: try calls.openDirectory(logDirectory))
    let log = try SideLog(
      directory: Self.path(in: logDirectory, provider: provider),
      // Tasks run on many threads. Most captures borrow a spare lane, and wait for nothing.
      configuration: .smallNotes(
        laneCount: 4, spareLanes: 2, maximumEventBytes: LoggedAttempt.maximumBytes, byteLimit: byteLimit))
    state.log = log
    return log
  }
}

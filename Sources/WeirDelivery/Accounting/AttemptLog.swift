// AttemptLog: what a provider was given and what it answered, in a small log of its own in the directory
// `attempts/NAME` of the log that is delivered.

import Weir

/// Where a provider's worker notes its attempts, for the journey of an event.
///
/// Best effort: it never holds delivery up, never throws, and nothing depends on what is in it. It is opened at the
/// first attempt, bounded by bytes with the oldest dropped, and not synced: a power cut may take the last of it. What
/// can't be written is counted in ``unwritten``.
///
/// The worker has the lock of its cursor, so nobody else writes here in the same name. From any thread; calls wait for
/// each other only.
final class AttemptLog: Sendable {
  static let directoryName = "attempts"
  /// What it may take on the disk unless it is told otherwise.
  static let defaultBytes = 16 << 20
  /// The least that a log of two small lanes can do with.
  static let leastBytes = 8 << 20
  private static let pauseAfterError = Duration.seconds(10)

  private struct State {
    var log: SideLog?
    /// After an opening that failed: when to try again.
    var nextTry = MonotonicTime(nanoseconds: 0)
    var isClosed = false
    var unwritten: UInt64 = 0
    var error: WeirError?
  }

  private let logDirectory: String
  private let provider: String
  private let byteLimit: Int
  private let state = Lock(State())

  /// The log of attempts of the provider named so. Makes nothing yet.
  init(in logDirectory: String, provider: String, byteLimit: Int = AttemptLog.defaultBytes) {
    self.logDirectory = logDirectory
    self.provider = provider
    self.byteLimit = max(byteLimit, Self.leastBytes)
  }

  /// Where the attempts of the provider named so are.
  static func path(in logDirectory: String, provider: String) -> String {
    "\(logDirectory)/\(directoryName)/\(provider)"
  }

  /// Notes a call of the provider: some microseconds.
  func write(_ attempt: Attempt) {
    write(LoggedAttempt(attempt), drains: true)
  }

  /// Notes that everything below `offset` is settled, on the disk.
  func writeSettled(below offset: Offset) {
    write(.settled(below: offset), drains: true)
  }

  /// Notes that the provider's mapper withheld this event. Readers see the note with the next note of another kind: the
  /// cursor's move past the event, at the latest, is such a note.
  func writeWithheld(_ offset: Offset) {
    write(.withheld(offset), drains: false)
  }

  /// How many notes could not be written.
  var unwritten: UInt64 { state.withLock { $0.unwritten } }

  /// Why the last note could not be written; nil if it was.
  var error: WeirError? { state.withLock { $0.error } }

  /// Closes the log, which waits for the disk. Nothing is written after that.
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
        // In a child of a fork too this answers at once.
        switch try log.write({ $0.track(note) }) {
        case .accepted: state.error = nil
        case .dropped(let reason):
          state.unwritten += 1
          state.error = WeirError(.io, "the log of attempts refused an event: \(reason)", path: log.directory)
          return
        }
        // The note is kept, whatever becomes of this.
        if drains { try? log.drain() }
      } catch {
        state.unwritten += 1
        state.error = error
      }
    }
  }

  /// The log; nil if there is to be none at present.
  private func opened(_ state: inout State) throws(WeirError) -> SideLog? {
    if let log = state.log { return log }
    guard !state.isClosed, state.nextTry <= MonotonicTime.now else { return nil }
    state.nextTry = MonotonicTime.now.after(Self.pauseAfterError)
    let calls = SystemCalls()
    try calls.makeDirectory(Self.directoryName, in: try calls.openDirectory(logDirectory))
    var configuration = Tracker.Configuration()
    // Tasks run on many threads: most captures borrow a spare lane, and wait for nothing.
    configuration.laneCount = 4
    configuration.spareLanes = 2
    configuration.laneBytes = 64 << 10
    configuration.segmentBytes = 1 << 20
    configuration.maximumEventBytes = LoggedAttempt.maximumBytes
    configuration.byteLimit = byteLimit
    configuration.atByteLimit = .dropOldest
    let log = try SideLog(directory: Self.path(in: logDirectory, provider: provider), configuration: configuration)
    state.log = log
    return log
  }
}

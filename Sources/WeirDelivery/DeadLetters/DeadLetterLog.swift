// DeadLetterLog: keeps the events that a worker's provider rejected.

import Weir

/// The dead-letter log of one provider: a separate log in `dead-letters/NAME`. Belongs to the worker's thread.
///
/// The log is opened at the first rejection, so a provider that accepts everything has no such directory. Nothing in
/// the log is ever removed.
struct DeadLetterLog {
  private static let pauseAfterError = Duration.seconds(1)

  private let logDirectory: String
  private let provider: String
  private let calls: SystemCalls
  private var log: SideLog?

  init(_ provider: String, of logDirectory: String, calls: SystemCalls) {
    self.provider = provider
    self.logDirectory = logDirectory
    self.calls = calls
  }

  /// Writes these letters. They are on disk when this returns. If this throws, some letters may be on disk; call it
  /// again with all the letters.
  mutating func write(_ letters: [DeadLetter]) throws(WeirError) {
    let log = try opened()
    do throws(WeirError) {
      for letter in letters { try write(letter, to: log) }
      try log.sync(timeout: .seconds(30))
    } catch {
      // After a disk error, a log that is opened again and recovered may work.
      try? log.close()
      self.log = nil
      throw error
    }
  }

  /// Closes the log. Waits for the disk.
  mutating func close() throws(WeirError) {
    defer { log = nil }
    try log?.close()
  }

  private func write(_ letter: DeadLetter, to log: SideLog) throws(WeirError) {
    var receipt = try log.write { $0.capture(DeadLetter.eventName, letter.fields, isValid: true) }
    if case .dropped(let reason) = receipt, reason == .tooLarge || reason == .invalid {
      for part in letter.parts {
        receipt = try log.write { $0.capture(DeadLetter.eventName, part, isValid: true) }
        guard receipt.isAccepted else { break }
      }
    }
    guard case .dropped(let reason) = receipt else { return }
    throw WeirError(
      reason == .storage ? .noSpace : .io, "the dead-letter log of \(provider) refused an event: \(reason.name)",
      path: log.directory)
  }

  private mutating func opened() throws(WeirError) -> SideLog {
    if let log { return log }
    try calls.makeDirectory(DeadLetter.directoryName, in: try calls.openDirectory(logDirectory))
    var configuration = Tracker.Configuration()
    configuration.laneCount = 2
    configuration.spareLanes = 1
    // The size of the largest event, or of a part of a larger letter.
    configuration.maximumEventBytes = 1 << 20
    configuration.laneBytes = 2 << 20
    configuration.segmentBytes = 4 << 20
    // A letter may take half of a lane.
    let opened = try SideLog(
      directory: DeadLetter.path(of: provider, in: logDirectory), configuration: configuration, mostUndrained: 1)
    log = opened
    return opened
  }
}

// DeadLetterLog: where a worker keeps what its provider will never take.

import Weir

/// The dead-letter log of one provider, a log of its own in `dead-letters/NAME`. Belongs to the worker's thread.
///
/// It is opened at the first rejection, so a provider that takes everything has neither the directory nor the threads
/// of a second log. Nothing in it is ever removed.
struct DeadLetterLog {
  private static let pauseAfterError = Duration.seconds(1)

  private let logDirectory: String
  private let provider: String
  private let calls: SystemCalls
  private var tracker: Tracker?

  init(_ provider: String, of logDirectory: String, calls: SystemCalls) {
    self.provider = provider
    self.logDirectory = logDirectory
    self.calls = calls
  }

  /// Keeps these letters. They are on the disk when this returns; if it throws, some of them may be, and it is to be
  /// called again with all of them.
  mutating func write(_ letters: [DeadLetter]) throws(WeirError) {
    let tracker = try opened()
    do throws(WeirError) {
      for letter in letters { try write(letter, to: tracker) }
      try tracker.sync(timeout: .seconds(30))
    } catch {
      // A disk that failed may work for a log that is opened anew, and recovered.
      try? tracker.close()
      self.tracker = nil
      throw error
    }
  }

  /// Closes the log, which waits for the disk.
  mutating func close() throws(WeirError) {
    defer { tracker = nil }
    try tracker?.close()
  }

  private func write(_ letter: DeadLetter, to tracker: Tracker) throws(WeirError) {
    var receipt = tracker.capture(DeadLetter.eventName, letter.fields, isValid: true)
    if case .dropped(let reason) = receipt, reason == .tooLarge || reason == .invalid {
      for part in letter.parts {
        receipt = tracker.capture(DeadLetter.eventName, part, isValid: true)
        guard receipt.isAccepted else { break }
      }
    }
    guard case .dropped(let reason) = receipt else { return }
    throw WeirError(
      reason == .storage ? .noSpace : .io, "the dead-letter log of \(provider) refused an event: \(reason.name)",
      path: tracker.directory)
  }

  private mutating func opened() throws(WeirError) -> Tracker {
    if let tracker { return tracker }
    try calls.makeDirectory(DeadLetter.directoryName, in: try calls.openDirectory(logDirectory))
    var configuration = Tracker.Configuration()
    configuration.laneCount = 2
    configuration.spareLanes = 1
    // The largest event there is, or the parts of a larger letter.
    configuration.maximumEventBytes = 1 << 20
    configuration.laneBytes = 2 << 20
    configuration.segmentBytes = 4 << 20
    configuration.whenFull = .block(upTo: .seconds(5))
    configuration.logger = nil
    let opened = try Tracker(directory: DeadLetter.path(of: provider, in: logDirectory), configuration: configuration)
    tracker = opened
    return opened
  }
}

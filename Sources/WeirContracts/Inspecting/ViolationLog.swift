// ViolationLog: the log of violations, a small log of its own in the directory `violations` of the tracker's.

import Weir

/// Where an inspector writes violations. Belongs to the inspector's thread, but for the closing of a log whose thread
/// does not end: see `Inspector.finish`.
///
/// The log is opened at the first violation, so a program that keeps to its contract has neither the directory nor the
/// threads of a second log. What can't be written is counted and reported once; the tracker's own log knows nothing of
/// it.
final class ViolationLog {
  static let directoryName = "violations"
  /// The largest event: four texts and a value of a kilobyte each, and some.
  private static let eventBytes = 16 << 10

  private let directory: String
  private let byteLimit: Int
  private let contract: Contract
  private let shared: Monitor<Inspector.Shared>
  private var tracker: Tracker?
  /// After an opening that failed: when to try again.
  private var nextTry = MonotonicTime(nanoseconds: 0)
  private var error: WeirError?
  private var hasUnsynced = false

  init(in logDirectory: String, byteLimit: Int, contract: Contract, _ shared: Monitor<Inspector.Shared>) {
    directory = logDirectory + "/" + Self.directoryName
    self.byteLimit = byteLimit
    self.contract = contract
    self.shared = shared
  }

  /// Writes a violation. If it can't be written, throws why: `locked` if an inspection before this one still has the
  /// log, which gives it up in its time.
  func write(_ violation: Violation, by stored: StoredEvent) throws(WeirError) {
    let tracker = try opened()
    switch tracker.track(LoggedViolation(violation, by: stored, of: contract)) {
    case .accepted: hasUnsynced = true
    case .dropped(let reason):
      let code: WeirError.Code = reason == .storage ? .noSpace : .io
      throw WeirError(code, "the log of violations refused an event: \(reason)", path: directory)
    }
  }

  /// Brings what was written to the disk; throws why if that fails, and then does not try again for it.
  func sync() throws(WeirError) {
    guard hasUnsynced, let tracker else { return }
    hasUnsynced = false
    try tracker.sync(timeout: .seconds(5))
  }

  func close() throws(WeirError) {
    tracker = nil
    let tracker = shared.change { state in
      defer { state.violations = nil }
      return state.violations
    }
    try tracker?.close()
  }

  private func opened() throws(WeirError) -> Tracker {
    if let tracker { return tracker }
    if let error, MonotonicTime.now < nextTry { throw error }
    do throws(WeirError) {
      var configuration = Tracker.Configuration()
      configuration.laneCount = 2
      configuration.spareLanes = 1
      configuration.laneBytes = 64 << 10
      configuration.segmentBytes = 1 << 20
      configuration.maximumEventBytes = Self.eventBytes
      configuration.drainInterval = .milliseconds(10)
      configuration.whenFull = .block(upTo: .seconds(1))
      configuration.byteLimit = byteLimit
      configuration.atByteLimit = .dropOldest
      configuration.logger = nil
      let opened = try Tracker(directory: directory, configuration: configuration)
      let isWanted = shared.change { state in
        if !state.isGivenUp { state.violations = opened }
        return !state.isGivenUp
      }
      guard isWanted else {
        throw WeirError(.closed, "the inspection was given up, and its log of violations with it", path: directory)
      }
      tracker = opened
      error = nil
      return opened
    } catch {
      self.error = error
      nextTry = MonotonicTime.now.after(error.code == .locked ? .zero : .seconds(10))
      throw error
    }
  }
}

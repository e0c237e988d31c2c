// ViolationLog: the log of violations, a small separate log in the directory `violations` of the tracker's log.

import Weir

/// The log in which an inspector writes violations. Belongs to the inspector's thread. The exception is a log whose
/// thread does not end, which another thread closes: see `Inspector.finish`.
///
/// The log is opened at the first violation, so a program without violations does not have the directory. Violations
/// that can't be written are counted, and reported once. The tracker's own log is not affected.
final class ViolationLog {
  static let directoryName = "violations"
  /// The maximum size of an event: four texts and a value of a kilobyte each, and some overhead.
  private static let eventBytes = 16 << 10

  private let directory: String
  private let byteLimit: Int
  private let contract: Contract
  private let shared: ConditionLock<Inspector.Shared>
  private var log: SideLog?
  /// The time of the next attempt after a failed opening.
  private var nextTry = MonotonicTime(nanoseconds: 0)
  private var error: WeirError?
  private var hasUnsynced = false
  private var hasUndrained = false

  init(in logDirectory: String, byteLimit: Int, contract: Contract, _ shared: ConditionLock<Inspector.Shared>) {
    directory = logDirectory + "/" + Self.directoryName
    self.byteLimit = byteLimit
    self.contract = contract
    self.shared = shared
  }

  /// Writes a violation, or throws. The error is `locked` while a previous inspection still has the log open, which it
  /// closes in time.
  func write(_ violation: Violation, by stored: StoredEvent) throws(WeirError) {
    let note = LoggedViolation(violation, by: stored, of: contract)
    switch try opened().write({ $0.track(note) }) {
    case .accepted: (hasUnsynced, hasUndrained) = (true, true)
    case .dropped(let reason):
      let code: WeirError.Code = reason == .storage ? .noSpace : .io
      throw WeirError(code, "the log of violations refused an event: \(reason)", path: directory)
    }
  }

  /// Drains the log, so that readers see the written violations.
  func drain() throws(WeirError) {
    guard hasUndrained, let log else { return }
    hasUndrained = false
    try log.drain()
  }

  /// Syncs the written violations to disk. If that fails, throws the error, and does not sync these violations again.
  func sync() throws(WeirError) {
    guard hasUnsynced, let log else { return }
    (hasUnsynced, hasUndrained) = (false, false)
    try log.sync(timeout: .seconds(5))
  }

  func close() throws(WeirError) {
    log = nil
    let log = shared.change { state in
      defer { state.violations = nil }
      return state.violations
    }
    try log?.close()
  }

  private func opened() throws(WeirError) -> SideLog {
    if let log { return log }
    if let error, MonotonicTime.now < nextTry { throw error }
    do throws(WeirError) {
      let opened = try SideLog(
        directory: directory,
        configuration: .smallNotes(
          laneCount: 2, spareLanes: 1, maximumEventBytes: Self.eventBytes, byteLimit: byteLimit))
      let isWanted = shared.change { state in
        if !state.isGivenUp { state.violations = opened }
        return !state.isGivenUp
      }
      guard isWanted else {
        throw WeirError(.closed, "callers stopped waiting for the inspection, so its log is closed", path: directory)
      }
      log = opened
      error = nil
      return opened
    } catch {
      self.error = error
      nextTry = MonotonicTime.now.after(error.code == .locked ? .zero : .seconds(10))
      throw error
    }
  }
}

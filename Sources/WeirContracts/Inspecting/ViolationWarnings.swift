// ViolationWarnings: warns of violations in the program's log, at a limited rate, if the program has no observer.

import Logging
import Weir

/// Decides which violations are logged, and counts the others. A pure value.
struct ViolationWarnings: Sendable {
  /// The maximum number of warnings within any ``period``.
  static let most = 10
  static let period = Duration.seconds(60)

  /// The violations that were not logged since the last warning.
  private(set) var heldBack: UInt64 = 0
  /// The times of the latest warnings, oldest first; at most ``most``.
  private var times: [MonotonicTime] = []

  /// Returns the number of violations held back so far, to be logged with this violation. Returns `nil` if this
  /// violation is held back too.
  mutating func admit(at now: MonotonicTime) -> UInt64? {
    if times.count == Self.most {
      guard now >= times[0].after(Self.period) else {
        heldBack += 1
        return nil
      }
      times.removeFirst()
    }
    times.append(now)
    return takeHeldBack()
  }

  /// Counts violations that are not logged in any case.
  mutating func hold(_ count: Int) { heldBack += UInt64(count) }

  /// Returns the number of violations held back, and sets it to 0.
  mutating func takeHeldBack() -> UInt64 {
    defer { heldBack = 0 }
    return heldBack
  }
}

extension Logger {
  /// Warns of a violation. Says nothing of the value, because a program's log often leaves the process.
  func warn(of violation: Violation, by event: StoredEvent, of contract: Contract, in directory: String, _ more: UInt64)
  {
    // Quoted, because the program makes up the names of unknown events and fields.
    func quoted(_ text: String) -> String { String(reflecting: text.cut(to: LoggedViolation.textBytes)) }
    let field = violation.field.isEmpty ? "" : "the field \(quoted(violation.field)): "
    let view = event.context.view.map { ", in the view \(quoted($0.name))" } ?? ""
    let rest = more == 0 ? "" : "; \(Self.further(more)) not logged"
    warning(
      """
      the event \(quoted(violation.event)) violates the contract \(contract.name) \(contract.version): \(field)\
      \(violation.rule.cut(to: LoggedViolation.textBytes)) (id \(event.id), offset \(event.offset) of \(directory)\
      \(view))\(rest)
      """,
      metadata: [
        "event": "\(quoted(violation.event))", "field": "\(quoted(violation.field))",
        "rule": "\(violation.rule.cut(to: LoggedViolation.textBytes))", "id": "\(event.id)",
        "offset": "\(event.offset)",
      ])
  }

  /// Warns of the violations that were held back when no further warning follows.
  func warn(ofHeldBack count: UInt64, in directory: String) {
    warning("\(Self.further(count)) not logged; weir cat \(directory)/\(ViolationLog.directoryName) lists violations")
  }

  private static func further(_ count: UInt64) -> String {
    count == 1 ? "1 further violation was" : "\(count) further violations were"
  }
}

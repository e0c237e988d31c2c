// ViolationCounts: the results of a tracker's inspector.

public import Weir

/// The results of checking a tracker's events against a contract, since the tracker's opening.
///
/// If the process died before the inspection of an event was stored, the next opening inspects and counts the event
/// again. ``from`` tells where this opening started.
public struct ViolationCounts: Hashable, Sendable {
  /// One kind of violation: an event, a field and a rule.
  public struct Kind: Hashable, Sendable {
    /// The event's name. The texts of a kind are limited to a kilobyte each.
    public var event: String
    /// The field: see ``Violation/field``.
    public var field: String
    /// The rule: see ``Violation/rule``.
    public var rule: String

    /// The maximum length of a text, in bytes, as in the log of violations.
    fileprivate static let textBytes = LoggedViolation.textBytes

    /// Creates a kind of violation.
    public init(event: String, field: String, rule: String) {
      self.event = event
      self.field = field
      self.rule = rule
    }
  }

  /// The maximum number of kinds that are counted separately. Further kinds are counted in ``others``.
  public static let maximumKinds = 1024

  /// The first offset that this opening inspected.
  public internal(set) var from: Offset = 0

  /// Everything below this offset is inspected.
  public internal(set) var offset: Offset = 0

  /// Events that were checked against the contract.
  public internal(set) var inspected: UInt64 = 0

  /// Checked events with violations.
  public internal(set) var violating: UInt64 = 0

  /// Checked events that lack a mandatory field for which the contract has a default.
  public internal(set) var defaulted: UInt64 = 0

  /// Violations. An event may have several.
  public internal(set) var violations: UInt64 = 0

  /// Violations by event, field and rule, for the first ``maximumKinds`` kinds.
  public internal(set) var kinds: [Kind: UInt64] = [:]

  /// Violations of other kinds than those in ``kinds``.
  public internal(set) var others: UInt64 = 0

  /// Events that were not inspected: they were removed or damaged, or their definition is lost.
  public internal(set) var uninspected: UInt64 = 0

  /// Violations that could not be written to the log of violations. The observer was told of them.
  public internal(set) var unlogged: UInt64 = 0

  /// The last error of the inspection itself (its cursor, the log of violations, reading), or `nil`. Captures are not
  /// affected.
  public internal(set) var error: WeirError?

  /// Creates counts of zero.
  public init() {}

  mutating func add(_ outcome: ContractOutcome) {
    inspected += 1
    if !outcome.defaults.isEmpty { defaulted += 1 }
    guard !outcome.violations.isEmpty else { return }
    violating += 1
    violations += UInt64(outcome.violations.count + outcome.omittedViolations)
    others += UInt64(outcome.omittedViolations)
    for violation in outcome.violations {
      // The program makes up the names of unknown events and fields, so their memory must be limited.
      let kind = Kind(
        event: violation.event.cut(to: Kind.textBytes), field: violation.field.cut(to: Kind.textBytes),
        rule: violation.rule.cut(to: Kind.textBytes))
      if kinds[kind] != nil || kinds.count < Self.maximumKinds {
        kinds[kind, default: 0] += 1
      } else {
        others += 1
      }
    }
  }
}

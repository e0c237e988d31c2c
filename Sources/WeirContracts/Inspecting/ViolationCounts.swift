// ViolationCounts: what the inspector of a tracker has found so far.

public import Weir

/// What was found in holding a tracker's events against its contract, since its opening.
///
/// An event whose inspection was not noted on the disk when the process died is inspected again by the next opening,
/// and counted there too: ``from`` says where this one began.
public struct ViolationCounts: Hashable, Sendable {
  /// One way of being against the contract.
  public struct Kind: Hashable, Sendable {
    /// The event's name; of this and the others, a kilobyte at most.
    public var event: String
    /// The field, as ``Violation/field`` has it.
    public var field: String
    /// The rule, as ``Violation/rule`` has it.
    public var rule: String

    /// The longest text that is kept, as in the log of violations.
    fileprivate static let textBytes = LoggedViolation.textBytes

    /// Violations of this rule by this field of this event.
    public init(event: String, field: String, rule: String) {
      self.event = event
      self.field = field
      self.rule = rule
    }
  }

  /// How many kinds are told apart; further ones are in ``others``.
  public static let maximumKinds = 1024

  /// The first offset that this opening inspected.
  public internal(set) var from: Offset = 0

  /// Everything below it is inspected.
  public internal(set) var offset: Offset = 0

  /// Events that were held against the contract.
  public internal(set) var inspected: UInt64 = 0

  /// Of them, those that are against it.
  public internal(set) var violating: UInt64 = 0

  /// Of them, those that lack a mandatory field for which the contract has a default.
  public internal(set) var defaulted: UInt64 = 0

  /// Violations: an event may have several.
  public internal(set) var violations: UInt64 = 0

  /// Violations by event, field and rule, of the first ``maximumKinds`` kinds that occurred.
  public internal(set) var kinds: [Kind: UInt64] = [:]

  /// Violations of other kinds than those in ``kinds``.
  public internal(set) var others: UInt64 = 0

  /// Events that were removed or damaged before they were inspected, or whose definition is lost.
  public internal(set) var uninspected: UInt64 = 0

  /// Violations that could not be written to the log of violations; the observer was told of them.
  public internal(set) var unlogged: UInt64 = 0

  /// What last went wrong with the inspection itself: its cursor, the log of violations, reading. Nil if nothing did.
  /// Capture goes on regardless.
  public internal(set) var error: WeirError?

  /// Nothing found yet.
  public init() {}

  mutating func add(_ outcome: ContractOutcome) {
    inspected += 1
    if !outcome.defaults.isEmpty { defaulted += 1 }
    guard !outcome.violations.isEmpty else { return }
    violating += 1
    violations += UInt64(outcome.violations.count + outcome.omittedViolations)
    others += UInt64(outcome.omittedViolations)
    for violation in outcome.violations {
      // Names of unknown events and fields are made up by the program: they must not take memory for ever.
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

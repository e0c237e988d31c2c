// HTTPStatusRules: what HTTP statuses mean for the events of a request, where a configuration differs from the preset.

import Weir

/// The meaning of HTTP statuses for the events of a request, where the meaning differs from the preset's reading.
///
/// ```swift
/// var rules = HTTPStatusRules()
/// rules[409] = .accept  // the endpoint has the events already
/// rules[class: 5] = .retry
/// ```
///
/// The rule of a status takes precedence over the rule of its class. A rule replaces everything that the preset reads
/// in the answer: with a rule for 200, verdicts in the answer's body are not read.
public struct HTTPStatusRules: Hashable, Sendable {
  /// What an answer says about the events of its request. The raw values are the texts in a plan's file.
  public enum Meaning: String, CaseIterable, Hashable, Sendable {
    /// The endpoint has stored all events permanently.
    case accept
    /// All events are retried, not before the time that the endpoint asks for.
    case retry
    /// The batch is refused: the batch is halved until the event at fault stands alone, and this event is rejected.
    case reject
    /// Delivery stops until somebody fixes the problem (`DeliveryStopped`).
    case stop
  }

  /// The statuses that can have a rule.
  package static let statuses = 200...599
  /// The classes that can have a rule.
  package static let classes = 2...5

  private var ofStatuses: [Int: Meaning] = [:]
  private var ofClasses: [Int: Meaning] = [:]

  /// Creates rules for no status.
  public init() {}

  /// The rule of a status, which is 200 to 599; `nil` for none.
  public subscript(status: Int) -> Meaning? {
    get { ofStatuses[status] }
    set {
      precondition(Self.statuses.contains(status), "only the statuses 200 to 599 can have a rule")
      ofStatuses[status] = newValue
    }
  }

  /// The rule of a class of statuses, which is 2 to 5: 5 for 500 to 599; `nil` for none.
  public subscript(class number: Int) -> Meaning? {
    get { ofClasses[number] }
    set {
      precondition(Self.classes.contains(number), "only the classes 2 to 5 can have a rule")
      ofClasses[number] = newValue
    }
  }

  /// Returns the meaning of a status: that of its rule, or else that of its class; `nil` if neither has a rule.
  package func meaning(of status: Int) -> Meaning? { ofStatuses[status] ?? ofClasses[status / 100] }

  /// Whether there is no rule.
  package var isEmpty: Bool { ofStatuses.isEmpty && ofClasses.isEmpty }

  /// The rules as a plan's file has them: `5xx` for a class. Classes come first.
  package var entries: [(key: String, meaning: Meaning)] {
    ofClasses.sorted { $0.key < $1.key }.map { ("\($0.key)xx", $0.value) }
      + ofStatuses.sorted { $0.key < $1.key }.map { ("\($0.key)", $0.value) }
  }

  /// Adds the rule of a plan's file. Returns `false` if the key is neither a status nor a class.
  package mutating func add(_ key: String, _ meaning: Meaning) -> Bool {
    guard key.utf8.count == 3 else { return false }
    if key.hasSuffix("xx"), let number = Int(key.prefix(1)), Self.classes.contains(number) {
      self[class: number] = meaning
      return true
    }
    guard key.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let status = Int(key), Self.statuses.contains(status)
    else { return false }
    self[status] = meaning
    return true
  }
}

// ContractReport: the violations of a log, counted by event, field and rule.

#if Tool
  import Weir
  import WeirContracts
  import WeirJSON

  /// The summary of `weir contract check`.
  struct ContractReport {
    /// A rule of a field of an event. The rule is empty for defaults.
    private struct Key: Hashable {
      var event: String
      var field: String
      var rule: String
    }

    private struct Count {
      var count: UInt64 = 0
      var firstOffset: Offset
      /// The first violating value, or the default value.
      var example: FieldValue?
    }

    /// The maximum number of rules, and of defaults, that are counted separately. The number must be bounded, because
    /// every event may have unknown fields of other names.
    static let maximumKeys = 10_000

    private let contract: Contract
    private let showSensitive: Bool
    private var rules: [Key: Count] = [:]
    private var defaults: [Key: Count] = [:]
    private var others: UInt64 = 0
    private var events: UInt64 = 0
    private var violating: UInt64 = 0
    private(set) var violations: UInt64 = 0
    private var defaulted: UInt64 = 0
    /// Events whose definitions are lost to damage, so that the events can't be decoded.
    private(set) var unchecked: UInt64 = 0

    init(contract: Contract, showSensitive: Bool) {
      self.contract = contract
      self.showSensitive = showSensitive
    }

    /// Counts an event that can't be checked against the contract.
    mutating func addUnchecked() { unchecked += 1 }

    /// Whether the log keeps the contract; `nil` if there are no violations, but some events could not be checked.
    private var isKept: Bool? { violations > 0 ? false : unchecked > 0 ? nil : true }

    /// Counts the violations and defaults of an event.
    mutating func add(_ outcome: ContractOutcome, of event: StoredEvent) {
      events += 1
      if outcome.isClean { return }
      if !outcome.violations.isEmpty { violating += 1 }
      violations += UInt64(outcome.violations.count + outcome.omittedViolations)
      defaulted += UInt64(outcome.defaults.count)
      others += UInt64(outcome.omittedViolations)
      for violation in outcome.violations {
        let key = Key(event: violation.event, field: violation.field, rule: violation.rule)
        let shown = showSensitive ? violation : violation.redacted()
        if !Self.count(key, event.offset, shown.value, in: &rules) { others += 1 }
      }
      for item in outcome.defaults {
        _ = Self.count(Key(event: event.name, field: item.field, rule: ""), event.offset, item.value, in: &defaults)
      }
    }

    /// Counts a rule or a default. Returns `false` if the maximum number of different ones is reached.
    private static func count(
      _ key: Key, _ offset: Offset, _ example: FieldValue?, in counts: inout [Key: Count]
    ) -> Bool {
      if counts[key] == nil {
        guard counts.count < maximumKeys else { return false }
        counts[key] = Count(firstOffset: offset, example: example)
      }
      counts[key]?.count += 1
      return true
    }

    /// Returns the counts, most frequent first. Equal counts are in the order of the log.
    private static func sorted(_ counts: [Key: Count]) -> [(key: Key, value: Count)] {
      counts.sorted { left, right in
        if left.value.count != right.value.count { return left.value.count > right.value.count }
        if left.value.firstOffset != right.value.firstOffset { return left.value.firstOffset < right.value.firstOffset }
        return (left.key.event, left.key.field, left.key.rule) < (right.key.event, right.key.field, right.key.rule)
      }
    }
  }

  extension ContractReport {
    /// Returns the report for people: the violated rules, the defaults, the totals.
    func text(of directory: String, limit: Int?) -> String {
      let limit = limit ?? .max
      let result =
        switch isKept {
        case true?: "as the contract says"
        case false?: "against the contract"
        case nil: "unknown, because not every event could be checked"
        }
      var text = ""
      for (key, count) in Self.sorted(rules).prefix(limit) {
        let example = count.example.map { ", found \(Self.shortened($0))" } ?? ""
        text += "\(Self.place(key)): \(Terminal.printable(key.rule)): \(Self.times(count))\(example)\n"
      }
      for (key, count) in Self.sorted(defaults).prefix(limit) {
        let value = count.example.map(Self.shortened) ?? "null"
        text += "\(Self.place(key)): default \(value): \(Self.times(count))\n"
      }
      return text
        + Table.text(
          [
            ("log", directory), ("contract", Terminal.printable("\(contract.name) \(contract.version)")),
            ("result", result),
            ("events", Quantity.count(events)), ("violating events", Quantity.count(violating)),
            ("violations", Quantity.count(violations)), ("defaults", Quantity.count(defaulted)),
          ] + (unchecked == 0 ? [] : [("not checked", Quantity.count(unchecked))])
            + (others == 0 ? [] : [("not listed", Quantity.count(others))]))
    }

    private static func place(_ key: Key) -> String {
      key.field.isEmpty ? Terminal.name(key.event) : "\(Terminal.name(key.event)): \(Terminal.name(key.field))"
    }

    private static func times(_ count: Count) -> String {
      count.count == 1
        ? "once, at offset \(count.firstOffset)"
        : "\(Quantity.count(count.count)) times, first at offset \(count.firstOffset)"
    }

    /// Returns the value as JSON, cut to at most 120 characters.
    private static func shortened(_ value: FieldValue) -> String {
      let text = json(value)
      return text.count <= 120 ? text : String(text.prefix(120)) + "…"
    }

    private static func json(_ value: FieldValue?) -> String {
      var bytes: [UInt8] = []
      JSONText.append(value ?? .null, to: &bytes)
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the report for programs. It is built from field values, because the examples are field values.
    func json(limit: Int?) -> String {
      func list(_ counts: [Key: Count], _ members: (Key, Count) -> [(String, FieldValue)]) -> FieldValue {
        .array(Self.sorted(counts).prefix(limit ?? .max).map { .object(FieldObject(members($0.key, $0.value))) })
      }
      let report = FieldObject([
        ("kept", isKept.map(FieldValue.bool) ?? .null), ("contract", .string(contract.name)),
        ("version", .string(contract.version)), ("events", .uint(events)), ("unchecked", .uint(unchecked)),
        ("violating", .uint(violating)), ("violations", .uint(violations)),
        ("defaulted", .uint(defaulted)), ("others", .uint(others)),
        (
          "rules",
          list(rules) { key, count in
            [
              ("event", .string(key.event)), ("field", .string(key.field)), ("rule", .string(key.rule)),
              ("count", .uint(count.count)), ("first_offset", .uint(count.firstOffset)),
              ("example", count.example ?? .null),
            ]
          }
        ),
        (
          "defaults",
          list(defaults) { key, count in
            [
              ("event", .string(key.event)), ("field", .string(key.field)), ("count", .uint(count.count)),
              ("first_offset", .uint(count.firstOffset)), ("default", count.example ?? .null),
            ]
          }
        ),
      ])
      return Self.json(.object(report)) + "\n"
    }
  }

  /// Violations and defaults as lines of JSON.
  enum ViolationLine {
    static func append(
      _ outcome: ContractOutcome, of event: StoredEvent, showSensitive: Bool, limit: Int?, _ printed: inout Int,
      to bytes: inout [UInt8]
    ) {
      let limit = limit ?? .max
      for violation in outcome.violations where printed < limit {
        let shown = showSensitive ? violation : violation.redacted()
        append(event, violation.field, violation.rule, shown.value, to: &bytes)
        printed += 1
      }
      for item in outcome.defaults where printed < limit {
        append(event, item.field, "default", item.value, to: &bytes)
        printed += 1
      }
    }

    private static func append(
      _ event: StoredEvent, _ field: String, _ rule: String, _ value: FieldValue?, to bytes: inout [UInt8]
    ) {
      let line = FieldObject([
        ("offset", .uint(event.offset)), ("id", .string(event.id.description)), ("event", .string(event.name)),
        ("field", .string(field)), ("rule", .string(rule)), ("value", value ?? .null),
      ])
      JSONText.append(line, to: &bytes)
      bytes.append(UInt8(ascii: "\n"))
    }
  }
#endif

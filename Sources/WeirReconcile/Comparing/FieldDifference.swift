// FieldDifference: in which fields two events differ, and how.

public import Weir
import WeirContracts

/// A field in which two events differ.
public struct FieldDifference: Hashable, Sendable {
  /// How the values differ.
  public enum Kind: String, Hashable, Sendable, CaseIterable, Comparable {
    /// Two values of one type.
    case value
    /// Two types, such as a number and a text.
    case type
    /// One side has null.
    case null
    /// One side lacks the field.
    case missing
    /// A text is the beginning of the other one.
    case truncated
    /// Arrays with the same elements in another order.
    case order

    public static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
  }

  public var path: String
  public var kind: Kind
  /// The value here; `nil` if it is missing.
  public var here: FieldValue?
  /// The value there; `nil` if it is missing.
  public var there: FieldValue?
}

/// Compares two events field by field. One for each thread.
struct EventComparison {
  private var fieldRules: FieldRules

  init(_ rules: ComparisonRules) {
    fieldRules = FieldRules(rules)
  }

  /// The fields that differ, by path. Of several fields with the same path the last one counts.
  mutating func differences(_ here: ComparedEvent, _ there: ComparedEvent) -> [FieldDifference] {
    let (ours, theirs) = (values(here), values(there))
    var found: [FieldDifference] = []
    for path in Set(ours.keys).union(theirs.keys).sorted() {
      let (one, other) = (ours[path], theirs[path])
      guard let kind = Self.kind(one, other) else { continue }
      found.append(FieldDifference(path: path, kind: kind, here: one, there: other))
    }
    return found
  }

  private mutating func values(_ event: ComparedEvent) -> [String: FieldValue] {
    var values: [String: FieldValue] = [ComparisonRules.namePath: .string(event.name)]
    if let user = event.user {
      values[ComparisonRules.userPath] = fieldRules.compared(.string(user), at: ComparisonRules.userPath)
    }
    FieldPaths.forEach(event.fields) { path, value in
      if let compared = fieldRules.compared(value, at: path) { values[path] = compared }
    }
    return values
  }

  private static func kind(_ here: FieldValue?, _ there: FieldValue?) -> FieldDifference.Kind? {
    guard let here, let there else { return here == nil && there == nil ? nil : .missing }
    if ValueHash.of(here) == ValueHash.of(there) { return nil }
    switch (here, there) {
    case (.null, _), (_, .null): return .null
    case (.array(let one), .array(let other)):
      return one.map(ValueHash.of).sorted() == other.map(ValueHash.of).sorted() ? .order : .value
    case (.object, .object), (.bool, .bool): return .value
    case (.object, _), (_, .object), (.array, _), (_, .array), (.bool, _), (_, .bool): return .type
    default:
      let isNumber = (ExactNumber(here) != nil, ExactNumber(there) != nil)
      if isNumber == (true, true) { return .value }
      if isNumber != (false, false) { return .type }
      return isTruncated(ValueHash.plainText(here), ValueHash.plainText(there)) ? .truncated : .value
    }
  }

  /// Whether one text is the beginning of the other, perhaps with an ellipsis.
  private static func isTruncated(_ one: String, _ other: String) -> Bool {
    let (short, long) = one.utf8.count < other.utf8.count ? (one, other) : (other, one)
    if !short.isEmpty, long.utf8.starts(with: short.utf8) { return true }
    for mark in ["…", "..."] {
      for text in [one, other] where text.hasSuffix(mark) && text.utf8.count > mark.utf8.count {
        let rest = text.utf8.dropLast(mark.utf8.count)
        if (text == one ? other : one).utf8.starts(with: rest) { return true }
      }
    }
    return false
  }
}

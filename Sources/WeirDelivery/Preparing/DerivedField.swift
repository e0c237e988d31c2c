// DerivedField: rules for derived fields that a plan's file can hold, in place of a closure.

import Weir
import WeirContracts
import WeirJSON

/// A rule that computes a field from an event, for ``EventMapper/deriving(_:from:)``.
///
/// A path such as `price.amount` names a field of the event, and `items[].price` the prices of all items. A path that
/// begins with `context.` names a part of the event's context: `context.user.id`, `context.user.traits.plan`,
/// `context.view.name`, `context.fields.campaign`, `context.globals.app`. A backslash before `.`, `[`, `]` or `\` makes
/// the character a part of a name.
///
/// If a field that the rule needs is missing or has no suitable value, the event does not get the derived field.
public enum DerivedField: Hashable, Sendable {
  /// The value at a path. The values, as an array, if the path contains `[]`.
  case copy(String)
  /// The number of elements of the array or object at a path. The number of values if the path contains `[]`.
  case count(String)
  /// The sum of the numbers at these paths. An integer if all of them are integers and the sum is in the range of 64
  /// bits.
  case sum([String])
  /// The number at the first path, divided by the number at the second path. No field if the second is 0.
  case ratio(String, String)
  /// A text in which each path in braces is replaced by its value, such as `{first_name} {last_name}`.
  case text(String)
}

extension EventMapper {
  /// Adds fields computed by rules, in this order. Applies to the events whose names in the program match one of the
  /// patterns (see ``only(events:)``), or to all events without patterns.
  ///
  /// ```swift
  /// .deriving(["average": .ratio("total", "items"), "page": .copy("context.view.name")], from: "checkout.*")
  /// ```
  ///
  /// Otherwise like ``deriving(_:)``: fields of the event are never replaced, and the rules see the true values of
  /// sensitive fields.
  public static func deriving(_ fields: KeyValuePairs<String, DerivedField>, from patterns: String...) -> EventMapper {
    deriving(fields.map { ($0.key, $0.value) }, from: patterns)
  }

  static func deriving(_ fields: [(name: String, rule: DerivedField)], from patterns: [String]) -> EventMapper {
    let names = patterns.isEmpty ? nil : NamePatterns(patterns)
    let rules = fields.map { ($0.name, CompiledDerivation($0.rule)) }
    let form = MapperForm.step(
      "deriving",
      [
        ("fields", .map(fields.map { ($0.name, $0.rule.node) })),
        ("from", patterns.isEmpty ? nil : .texts(patterns)),
      ])
    return EventMapper(
      deriving: Derivation(name: "\(StoredEvent.self)", form: form) { stored in
        guard names?.match(stored.name) ?? true else { return [:] }
        var derived = FieldObject()
        for (name, rule) in rules {
          if let value = rule.value(of: stored) { derived[name] = value }
        }
        return derived
      })
  }
}

extension DerivedField {
  /// The paths of the rule.
  var paths: [String] {
    switch self {
    case .copy(let path), .count(let path): [path]
    case .sum(let paths): paths
    case .ratio(let one, let other): [one, other]
    case .text(let template): DerivedText(template)?.paths ?? []
    }
  }

  /// The rule in a plan's file.
  var node: DocumentNode {
    switch self {
    case .copy(let path): .map([("copy", .text(path))])
    case .count(let path): .map([("count", .text(path))])
    case .sum(let paths): .map([("sum", .texts(paths))])
    case .ratio(let one, let other): .map([("ratio", .texts([one, other]))])
    case .text(let template): .map([("text", .text(template))])
    }
  }
}

/// A text with paths in braces, cut into its parts.
struct DerivedText {
  enum Part: Hashable {
    case text(String)
    case path(String)
  }

  var parts: [Part] = []

  var paths: [String] { parts.compactMap { if case .path(let path) = $0 { path } else { nil } } }

  /// Returns `nil` if a brace is missing. Two opening braces stand for a brace itself.
  init?(_ template: String) {
    var rest = template[...]
    var text = ""
    while let letter = rest.popFirst() {
      guard letter == "{", rest.first != "{" else {
        if letter == "{" { rest.removeFirst() }
        text.append(letter)
        continue
      }
      guard let end = rest.firstIndex(of: "}") else { return nil }
      if !text.isEmpty { parts.append(.text(text)) }
      text = ""
      parts.append(.path(String(rest[..<end])))
      rest = rest[rest.index(after: end)...]
    }
    if !text.isEmpty { parts.append(.text(text)) }
  }
}

/// A rule with its paths parsed.
private struct CompiledDerivation: Sendable {
  private let rule: DerivedField
  private let paths: [DerivedPath?]
  private let parts: [DerivedText.Part]?

  init(_ rule: DerivedField) {
    self.rule = rule
    paths = rule.paths.map { DerivedPath($0) }
    if case .text(let template) = rule { parts = DerivedText(template)?.parts } else { parts = [] }
  }

  /// Returns the derived value, or `nil` if a value that the rule needs is missing or unsuitable.
  func value(of event: StoredEvent) -> FieldValue? {
    guard let parts else { return nil }
    var found: [(values: [FieldValue], isList: Bool)] = []
    for path in paths {
      guard let path, let values = path.values(of: event) else { return nil }
      found.append((values, path.isList))
    }
    switch rule {
    case .copy: return found[0].isList ? .array(found[0].values) : found[0].values[0]
    case .count:
      if found[0].isList { return .int(Int64(found[0].values.count)) }
      switch found[0].values[0] {
      case .array(let values): return .int(Int64(values.count))
      case .object(let object): return .int(Int64(object.count))
      default: return nil
      }
    case .sum: return Self.sum(found.flatMap(\.values))
    case .ratio:
      guard let one = found[0].values.first?.number, let other = found[1].values.first?.number, other != 0 else {
        return nil
      }
      return .double(one / other)
    case .text:
      var texts = found.map { $0.values.map(\.plainText).joined(separator: ", ") }[...]
      return .string(
        parts.map { part in
          switch part {
          case .text(let text): text
          case .path: texts.popFirst() ?? ""
          }
        }.joined())
    }
  }

  private static func sum(_ values: [FieldValue]) -> FieldValue? {
    var whole: Int64? = 0
    var total = 0.0
    for value in values {
      guard let number = value.number else { return nil }
      total += number
      if let sum = whole, let next = value.wholeNumber {
        let (result, overflow) = sum.addingReportingOverflow(next)
        whole = overflow ? nil : result
      } else {
        whole = nil
      }
    }
    return whole.map { .int($0) } ?? .double(total)
  }
}

/// A path to values of an event or its context.
struct DerivedPath: Sendable {
  private let steps: [FieldPath.Step]

  /// Returns `nil` if the text is no path.
  init?(_ text: String) {
    guard let path = try? FieldPath.parse(text).get() else { return nil }
    steps = path.steps
  }

  /// Whether the path names the values of an array.
  var isList: Bool { steps.contains(.element) }

  /// Returns the values at the path; `nil` if there is none, though an array on the path may be empty.
  func values(of event: StoredEvent) -> [FieldValue]? {
    guard case .member("context") = steps.first, steps.count > 1 else {
      return Self.values(.object(event.fields), steps[...])
    }
    guard case .member(let name) = steps[1] else { return nil }
    let part = event.context.part(name)
    if case .null = part { return nil }
    return Self.values(part, steps.dropFirst(2))
  }

  private static func values(_ value: FieldValue, _ steps: ArraySlice<FieldPath.Step>) -> [FieldValue]? {
    guard let step = steps.first else { return [value] }
    switch (step, value) {
    case (.member(let name), .object(let object)):
      return object[name].flatMap { values($0, steps.dropFirst()) }
    case (.element, .array(let elements)):
      return elements.flatMap { values($0, steps.dropFirst()) ?? [] }
    default: return nil
    }
  }
}

extension FieldValue {
  fileprivate var wholeNumber: Int64? {
    switch self {
    case .int(let number): number
    case .uint(let number): Int64(exactly: number)
    default: nil
    }
  }

  fileprivate var number: Double? {
    switch self {
    case .int(let number): Double(number)
    case .uint(let number): Double(number)
    case .float(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }

  /// The value as a part of a text: a text without quotation marks.
  fileprivate var plainText: String {
    if case .string(let text) = self { text } else { description }
  }
}

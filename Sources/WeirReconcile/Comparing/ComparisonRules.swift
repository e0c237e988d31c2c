// ComparisonRules: what counts as the same.

import Weir
package import WeirDelivery

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What is compared, and what is made alike before.
package struct ComparisonRules: Hashable, Sendable {
  /// A change of values on both sides, before they are compared.
  package enum Step: Hashable, Sendable {
    /// Without white space at both ends of a text.
    case trim
    /// A text in lower case.
    case lowercase
    /// A number with so many digits after the point.
    case round(digits: Int)
    /// A missing field and a null are alike.
    case nullIsMissing
    /// A text that is a number or a truth value in JSON is this value.
    case untyped
  }

  /// The steps of the fields that a pattern names.
  package struct Cleaning: Hashable, Sendable {
    package var fields: TextPattern
    package var steps: [Step]

    package init(_ fields: String, _ steps: [Step]) {
      self.fields = TextPattern(fields)
      self.steps = steps
    }
  }

  /// The paths of fields that are not compared, with `*` for any text. ``userPath`` is the user.
  package var ignored: [TextPattern] = []
  package var cleanings: [Cleaning] = []
  /// The paths of the fields that find an event by its content, beside the name and the user.
  package var keyFields: [String] = []
  /// How far apart the times of two events may be that match by content, in nanoseconds. Default 5 s.
  package var tolerance: Int64 = 5_000_000_000
  /// How much later the control may have an event before the event is late, in nanoseconds. Default 10 minutes.
  package var lateAfter: Int64 = 600_000_000_000

  /// The path that stands for the event's user.
  package static let userPath = "@user"
  /// The path that stands for the event's name.
  package static let namePath = "@name"

  package init() {}
}

/// The rules of each path, found once.
struct FieldRules {
  private enum Rule {
    case asItIs
    case ignored
    case cleaned([ComparisonRules.Step])
  }

  private static let mostKnown = 100_000

  let rules: ComparisonRules
  private let isTrivial: Bool
  private var known: [String: Rule] = [:]

  init(_ rules: ComparisonRules) {
    self.rules = rules
    isTrivial = rules.ignored.isEmpty && rules.cleanings.isEmpty
  }

  /// The value as it is compared; `nil` if it is not, or if it counts as missing.
  mutating func compared(_ value: FieldValue, at path: String) -> FieldValue? {
    if isTrivial { return value }
    switch rule(of: path) {
    case .asItIs: return value
    case .ignored: return nil
    case .cleaned(let steps): return steps.reduce(value) { value, step in value.flatMap { Self.apply(step, to: $0) } }
    }
  }

  private mutating func rule(of path: String) -> Rule {
    if let rule = known[path] { return rule }
    let steps = rules.cleanings.filter { $0.fields.matches(path) }.flatMap(\.steps)
    let rule: Rule = rules.ignored.contains { $0.matches(path) } ? .ignored : steps.isEmpty ? .asItIs : .cleaned(steps)
    if known.count < Self.mostKnown { known[path] = rule }
    return rule
  }

  private static func apply(_ step: ComparisonRules.Step, to value: FieldValue) -> FieldValue? {
    switch (step, value) {
    case (.nullIsMissing, .null): return nil
    case (.trim, .string(let text)): return .string(trimmed(text))
    case (.lowercase, .string(let text)): return .string(text.lowercased())
    case (.untyped, .string(let text)): return JSONObject.readScalar(text) ?? value
    case (.round(let digits), .float(let number)): return .double(rounded(Double("\(number)") ?? 0, digits))
    case (.round(let digits), .double(let number)): return .double(rounded(number, digits))
    case (_, .array(let values)): return .array(values.map { apply(step, to: $0) ?? .null })
    default: return value
    }
  }

  private static func trimmed(_ text: String) -> String {
    var rest = Substring(text)
    while let first = rest.first, first.isWhitespace { rest.removeFirst() }
    while let last = rest.last, last.isWhitespace { rest.removeLast() }
    return String(rest)
  }

  private static func rounded(_ number: Double, _ digits: Int) -> Double {
    var factor = 1.0
    for _ in 0..<digits { factor *= 10 }
    let scaled = (number * factor).rounded()
    return scaled.isFinite ? scaled / factor : number
  }
}

/// Goes through the fields of an event, nested ones by their path.
enum FieldPaths {
  /// Calls `body` with each value that is no object, and its path, such as `cart.total`. An empty object is a value.
  static func forEach(_ object: FieldObject, _ prefix: String = "", _ body: (String, FieldValue) -> Void) {
    for member in object {
      let path = prefix.isEmpty ? member.name : prefix + "." + member.name
      if case .object(let inner) = member.value, !inner.isEmpty {
        forEach(inner, path, body)
      } else {
        body(path, member.value)
      }
    }
  }
}

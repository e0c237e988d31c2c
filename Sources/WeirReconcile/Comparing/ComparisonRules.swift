// ComparisonRules: what counts as the same.

import Weir
import WeirDelivery

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What is compared, and what is made alike before.
///
/// A field is named by its path, such as `cart.total`; in a pattern `*` stands for any text. `@user` is the user.
public struct ComparisonRules: Hashable, Sendable {
  /// A change of values on both sides, before they are compared.
  public enum Step: Hashable, Sendable {
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
  public struct Cleaning: Hashable, Sendable {
    public var fields: String
    public var steps: [Step]

    public init(_ fields: String, _ steps: [Step]) {
      self.fields = fields
      self.steps = steps
    }
  }

  /// The share of the events of a name that may differ, be duplicates or be unknown.
  public struct Band: Hashable, Sendable {
    /// A pattern.
    public var names: String
    /// From 0 to 1.
    public var share: Double

    public init(_ names: String, share: Double) {
      self.names = names
      self.share = share
    }
  }

  /// Patterns of fields that are not compared.
  public var ignored: [String] = []
  public var cleanings: [Cleaning] = []
  /// The first band whose pattern fits a name counts. Without a band no event may differ.
  public var bands: [Band] = []
  /// The paths of the fields that find an event by its content, beside the name and the user.
  public var keyFields: [String] = []
  /// How far apart the times of two events may be that match by content. Default 5 s.
  public var tolerance: Duration = .seconds(5)
  /// How much later the control may have an event before the event is late. Default 10 minutes.
  public var lateAfter: Duration = .seconds(600)

  /// The path that stands for the event's user.
  static let userPath = "@user"
  /// The path that stands for the event's name.
  static let namePath = "@name"

  /// ``tolerance`` in nanoseconds.
  var toleranceTime: Int64 { Int64(clamping: tolerance.wholeNanoseconds) }
  /// ``lateAfter`` in nanoseconds.
  var lateTime: Int64 { Int64(clamping: lateAfter.wholeNanoseconds) }

  public init() {}
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
  private let ignored: [TextPattern]
  private let cleanings: [(fields: TextPattern, steps: [ComparisonRules.Step])]
  private var known: [String: Rule] = [:]

  init(_ rules: ComparisonRules) {
    self.rules = rules
    isTrivial = rules.ignored.isEmpty && rules.cleanings.isEmpty
    ignored = rules.ignored.map { TextPattern($0) }
    cleanings = rules.cleanings.map { (TextPattern($0.fields), $0.steps) }
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
    let steps = cleanings.filter { $0.fields.matches(path) }.flatMap(\.steps)
    let rule: Rule = ignored.contains { $0.matches(path) } ? .ignored : steps.isEmpty ? .asItIs : .cleaned(steps)
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

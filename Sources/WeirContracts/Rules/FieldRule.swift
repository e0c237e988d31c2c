// FieldRule: what a contract says about one field.

public import Weir

/// What a contract says about one field.
///
/// Written as ``Mandatory`` and ``Optionally`` in a contract in Swift; this is the value that they make.
public struct FieldRule: Hashable, Sendable {
  /// What a field may hold.
  public enum ValueType: String, CaseIterable, Hashable, Sendable {
    /// Anything.
    case any
    case bool
    /// A whole number of any width. `3.0` is none.
    case integer
    /// A number of any kind.
    case number
    /// UTF-8 text.
    case string
    case bytes
    case uuid
    case date
    case array
    /// A nested object.
    case object
  }

  /// The field's name. For a nested field a path: `address.street` is the field `street` of the object `address`,
  /// `items[].price` the field `price` of each object in the array `items`, `tags[]` each value in the array `tags`. A
  /// backslash takes the meaning from a `.`, `[`, `]` or `\` that belongs to a name.
  ///
  /// An object or array on the way that has no rule of its own is mandatory if something in it is. In one that is
  /// declared optional, mandatory fields are mandatory only where it is there.
  public var name: String

  /// An event without the field, or with null in its place, is flagged.
  public var isMandatory: Bool

  /// What the field may hold. Nothing else is checked about a value of another type.
  public var type: ValueType

  /// The only values that the field may have; nil for any. Numbers are compared by what they are worth, texts by their
  /// bytes.
  public var allowedValues: [FieldValue]?

  /// What a number must lie in.
  public var range: NumberRange?

  /// A number must be neither infinite nor not-a-number. A ``range`` asks for it too.
  public var isFinite: Bool

  /// How long a value must be: of a string the Unicode scalars, of bytes the bytes, of an array the values, of an
  /// object the fields.
  public var length: LengthRange?

  /// The regular expression that must match the whole text: see <doc:Contracts>.
  public var pattern: String?

  /// What is filled in where a mandatory field is missing, which then is flagged as defaulted and is no violation.
  public var defaultValue: FieldValue?

  /// What the field holds must not leave the process as it is, as with ``Field/isSensitive``.
  public var isSensitive: Bool

  /// The field is to go. For people and for ``CompiledContract/changes(to:)``: it is checked as any other.
  public var isDeprecated: Bool

  /// What the field means, for people.
  public var description: String

  /// The fields of the object, or of each object in the array.
  public var fields: [FieldRule]

  /// Kinds of clauses that were given twice; the contract is refused for them.
  var repeatedClauses: [String] = []

  /// What a contract says about the field `name`.
  public init(
    _ name: String, mandatory: Bool, _ type: ValueType = .any, _ clauses: [Clause] = [],
    default defaultValue: FieldValue? = nil, fields: [FieldRule] = []
  ) {
    self.name = name
    isMandatory = mandatory
    self.type = type
    isFinite = false
    self.defaultValue = defaultValue
    isSensitive = false
    isDeprecated = false
    description = ""
    self.fields = fields
    for clause in clauses { add(clause) }
  }

  private mutating func add(_ clause: Clause) {
    switch clause.kind {
    case .oneOf(let values): set(\.allowedValues, values, "oneOf")
    case .range(let range): set(\.range, range, "range")
    case .length(let length): set(\.length, length, "length")
    case .matches(let pattern): set(\.pattern, pattern, "matches")
    case .finite: isFinite = true
    case .sensitive: isSensitive = true
    case .deprecated: isDeprecated = true
    case .description(let text): description = text
    }
  }

  private mutating func set<Value>(_ property: WritableKeyPath<FieldRule, Value?>, _ value: Value, _ name: String) {
    if self[keyPath: property] != nil { repeatedClauses.append(name) }
    self[keyPath: property] = value
  }
}

extension FieldRule {
  /// One thing that a rule asks of a field, beside its type.
  public struct Clause: Hashable, Sendable {
    enum Kind: Hashable {
      case oneOf([FieldValue])
      case range(NumberRange)
      case length(LengthRange)
      case matches(String)
      case finite
      case sensitive
      case deprecated
      case description(String)
    }

    let kind: Kind

    /// One of these values.
    public static func oneOf(_ values: FieldValue...) -> Clause { Clause(kind: .oneOf(values)) }

    /// One of these values.
    public static func oneOf(_ values: [FieldValue]) -> Clause { Clause(kind: .oneOf(values)) }

    /// A whole number or a number in `range`, such as `1...`, `0...100` or `..<5`.
    public static func range<Bounds: RangeExpression>(_ range: Bounds) -> Clause where Bounds.Bound: BinaryInteger {
      Clause(kind: .range(NumberRange(range) { .init(whole: $0) }))
    }

    /// A number in `range`, such as `0.5...` or `0..<1.0`.
    public static func range<Bounds: RangeExpression>(_ range: Bounds) -> Clause
    where Bounds.Bound: BinaryFloatingPoint {
      Clause(kind: .range(NumberRange(range) { .double(Double($0)) }))
    }

    /// A number in a range, for those that Swift has no operator for.
    public static func range(_ range: NumberRange) -> Clause { Clause(kind: .range(range)) }

    /// A length in `range`: of a string the Unicode scalars, of bytes the bytes, of an array the values, of an object
    /// the fields.
    public static func length(_ range: some RangeExpression<Int>) -> Clause {
      Clause(kind: .length(LengthRange(range)))
    }

    /// Exactly this length.
    public static func length(_ length: Int) -> Clause { Clause(kind: .length(LengthRange(min: length, max: length))) }

    /// A text that the regular expression matches as a whole: see <doc:Contracts>.
    public static func matches(_ pattern: String) -> Clause { Clause(kind: .matches(pattern)) }

    /// A number that is neither infinite nor not-a-number.
    public static let finite = Clause(kind: .finite)

    /// What the field holds must not leave the process as it is.
    public static let sensitive = Clause(kind: .sensitive)

    /// The field is to go.
    public static let deprecated = Clause(kind: .deprecated)

    /// What the field means, for people.
    public static func description(_ text: String) -> Clause { Clause(kind: .description(text)) }
  }
}

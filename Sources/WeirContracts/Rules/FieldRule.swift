// FieldRule: a contract's rules for one field.

public import Weir

/// A contract's rules for one field.
///
/// Contracts in Swift code use ``Mandatory`` and ``Optionally``, which create this value.
public struct FieldRule: Hashable, Sendable {
  /// The type of a field's value.
  public enum ValueType: String, CaseIterable, Hashable, Sendable {
    /// Anything.
    case any
    case bool
    /// A whole number of any width. `3.0` is not one.
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

  /// The field's name, or the path of a nested field. `address.street` is the field `street` of the object `address`,
  /// `items[].price` is the field `price` of each object in the array `items`, and `tags[]` is each value in the array
  /// `tags`. A backslash before `.`, `[`, `]` or `\` makes the character a part of a name.
  ///
  /// An enclosing object or array without a rule of its own is mandatory if a field within it is mandatory. If the
  /// enclosing object or array is declared optional, mandatory fields within it are mandatory only if it is present.
  ///
  /// A path that begins with `context.` names a part of the event's context: `context.user`, `context.user.id`,
  /// `context.user.traits.plan`, `context.view`, `context.view.name`, `context.fields.campaign`, `context.globals.app`.
  /// Parts that no rule names are allowed. Only global fields and bound fields can have a default, and no part of the
  /// context can be marked as sensitive here: see `GlobalFields.sensitive`.
  public var name: String

  /// Whether an event without the field, or with null, is flagged.
  public var isMandatory: Bool

  /// The type of the value. A value of another type is flagged, and not checked further.
  public var type: ValueType

  /// The only values that the field may have; `nil` for any. Numbers are compared by value, texts by their bytes.
  public var allowedValues: [FieldValue]?

  /// The range of a number.
  public var range: NumberRange?

  /// Whether a number must be finite. A ``range`` implies this.
  public var isFinite: Bool

  /// The length of a value: Unicode scalars of a string, bytes of bytes, values of an array, fields of an object.
  public var length: LengthRange?

  /// A regular expression that must match the whole text: see <doc:Contracts>.
  public var pattern: String?

  /// The value that is filled in if the mandatory field is missing. The event is then flagged as defaulted, which is no
  /// violation.
  ///
  /// The default is not filled in if the event's own fields, its bound fields or the global fields have a value of the
  /// same name. Where a provider has one place for all of them, the default would take the place of that value.
  public var defaultValue: FieldValue?

  /// Whether the field's value must not leave the process unredacted, as with `Field.isSensitive`.
  public var isSensitive: Bool

  /// Whether the field is going to be removed. This is for people and for ``CompiledContract/changes(to:)``: a
  /// deprecated field is checked like any other.
  public var isDeprecated: Bool

  /// The meaning of the field, for people.
  public var description: String

  /// The fields of the object, or of each object in the array.
  public var fields: [FieldRule]

  /// The kinds of clauses that were given twice. The contract is refused because of them.
  var repeatedClauses: [String] = []

  /// Creates the rules for the field `name`.
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
  /// One rule for a field, beside its type.
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

    /// The value must be one of these.
    public static func oneOf(_ values: FieldValue...) -> Clause { Clause(kind: .oneOf(values)) }

    /// The value must be one of these.
    public static func oneOf(_ values: [FieldValue]) -> Clause { Clause(kind: .oneOf(values)) }

    /// The value must be a number in `range`, such as `1...`, `0...100` or `..<5`.
    public static func range<Bounds: RangeExpression>(_ range: Bounds) -> Clause where Bounds.Bound: BinaryInteger {
      Clause(kind: .range(NumberRange(range) { .init(whole: $0) }))
    }

    /// The value must be a number in `range`, such as `0.5...` or `0..<1.0`.
    public static func range<Bounds: RangeExpression>(_ range: Bounds) -> Clause
    where Bounds.Bound: BinaryFloatingPoint {
      Clause(kind: .range(NumberRange(range) { .double(Double($0)) }))
    }

    /// The value must be a number in a range for which Swift has no operator.
    public static func range(_ range: NumberRange) -> Clause { Clause(kind: .range(range)) }

    /// The length must be in `range`: Unicode scalars of a string, bytes of bytes, values of an array, fields of an
    /// object.
    public static func length(_ range: some RangeExpression<Int>) -> Clause {
      Clause(kind: .length(LengthRange(range)))
    }

    /// The value must have exactly this length.
    public static func length(_ length: Int) -> Clause { Clause(kind: .length(LengthRange(min: length, max: length))) }

    /// The regular expression must match the whole text: see <doc:Contracts>.
    public static func matches(_ pattern: String) -> Clause { Clause(kind: .matches(pattern)) }

    /// The value must be a number other than infinity and NaN.
    public static let finite = Clause(kind: .finite)

    /// The value must not leave the process unredacted.
    public static let sensitive = Clause(kind: .sensitive)

    /// The field is going to be removed.
    public static let deprecated = Clause(kind: .deprecated)

    /// The meaning of the field, for people.
    public static func description(_ text: String) -> Clause { Clause(kind: .description(text)) }
  }
}

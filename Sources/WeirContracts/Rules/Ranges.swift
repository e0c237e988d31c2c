// NumberRange and LengthRange: the bounds that a contract sets for numbers and lengths.

public import Weir

/// The bounds of a number. A contract is refused if both bounds are missing.
public struct NumberRange: Hashable, Sendable {
  /// A bound of a range.
  public enum Bound: Hashable, Sendable {
    /// The number is part of the range.
    case including(FieldValue)
    /// The number is not part of the range.
    case excluding(FieldValue)

    /// The number.
    public var number: FieldValue {
      switch self {
      case .including(let number), .excluding(let number): number
      }
    }
  }

  /// The lower bound; `nil` if there is none.
  public var lower: Bound?

  /// The upper bound; `nil` if there is none.
  public var upper: Bound?

  /// Creates a range with these bounds.
  public init(lower: Bound? = nil, upper: Bound? = nil) {
    self.lower = lower
    self.upper = upper
  }

  /// Converts a range of the standard library. Other types of ranges become a range without bounds, which is refused.
  init<Bounds: RangeExpression>(_ range: Bounds, value: (Bounds.Bound) -> FieldValue) {
    switch range {
    case let range as ClosedRange<Bounds.Bound>:
      self.init(lower: .including(value(range.lowerBound)), upper: .including(value(range.upperBound)))
    case let range as Range<Bounds.Bound>:
      self.init(lower: .including(value(range.lowerBound)), upper: .excluding(value(range.upperBound)))
    case let range as PartialRangeFrom<Bounds.Bound>: self.init(lower: .including(value(range.lowerBound)))
    case let range as PartialRangeThrough<Bounds.Bound>: self.init(upper: .including(value(range.upperBound)))
    case let range as PartialRangeUpTo<Bounds.Bound>: self.init(upper: .excluding(value(range.upperBound)))
    default: self.init()
    }
  }
}

extension NumberRange: CustomStringConvertible {
  /// The range in Swift's notation if possible: `1...100`, `0..<1`, `1...`. A range with an excluded lower bound is
  /// written `above 0, ...100`.
  public var description: String {
    let start =
      switch lower {
      case nil: ""
      case .including(let number): "\(number)"
      case .excluding(let number): "above \(number)" + (upper == nil ? "" : ", ")
      }
    let end =
      switch upper {
      case nil: if case .including = lower { "..." } else { "" }
      case .including(let number): "...\(number)"
      case .excluding(let number): "..<\(number)"
      }
    return start + end
  }
}

/// The bounds of a length. A contract is refused if both bounds are missing.
public struct LengthRange: Hashable, Sendable {
  /// The minimum length; `nil` if there is none.
  public var min: Int?

  /// The maximum length; `nil` if there is none.
  public var max: Int?

  /// Creates a range with these bounds, both included.
  public init(min: Int? = nil, max: Int? = nil) {
    self.min = min
    self.max = max
  }

  /// Converts a range. As with numbers, other types of ranges become a range without bounds. An empty range gets bounds
  /// in the wrong order.
  init(_ range: some RangeExpression<Int>) {
    switch range {
    case let range as ClosedRange<Int>: self.init(min: range.lowerBound, max: range.upperBound)
    case let range as Range<Int>: self.init(min: range.lowerBound, max: Self.below(range.upperBound))
    case let range as PartialRangeFrom<Int>: self.init(min: range.lowerBound)
    case let range as PartialRangeThrough<Int>: self.init(max: range.upperBound)
    case let range as PartialRangeUpTo<Int>: self.init(max: Self.below(range.upperBound))
    default: self.init()
    }
  }

  private static func below(_ length: Int) -> Int { length > .min ? length - 1 : .min }

  func contains(_ length: Int) -> Bool {
    length >= min ?? 0 && length <= max ?? .max
  }
}

extension LengthRange: CustomStringConvertible {
  /// `1...64`, `1...` or `...64`; a single length as `5`.
  public var description: String {
    min != nil && min == max ? "\(min ?? 0)" : (min.map { "\($0)" } ?? "") + "..." + (max.map { "\($0)" } ?? "")
  }
}

extension FieldValue {
  /// Creates a whole number. A number that no field can have becomes NaN, which contracts refuse.
  init(whole number: some BinaryInteger) {
    if let number = Int64(exactly: number) {
      self = .int(number)
    } else if let number = UInt64(exactly: number) {
      self = .uint(number)
    } else {
      self = .double(.nan)
    }
  }
}

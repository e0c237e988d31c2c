// NumberRange and LengthRange: the bounds that a contract puts on numbers and lengths.

public import Weir

/// The bounds of a number. At least one of them is there, or the contract is refused.
public struct NumberRange: Hashable, Sendable {
  /// One end of a range.
  public enum Bound: Hashable, Sendable {
    /// The number itself lies in the range.
    case including(FieldValue)
    /// The number itself lies outside.
    case excluding(FieldValue)

    /// The number.
    public var number: FieldValue {
      switch self {
      case .including(let number), .excluding(let number): number
      }
    }
  }

  /// The lower end; nil if there is none.
  public var lower: Bound?

  /// The upper end; nil if there is none.
  public var upper: Bound?

  /// A range with these ends.
  public init(lower: Bound? = nil, upper: Bound? = nil) {
    self.lower = lower
    self.upper = upper
  }

  /// A range of Swift's; one of a type that is not the standard library's comes without ends, and is refused as such.
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
  /// As Swift writes it where it can: `1...100`, `0..<1`, `1...`; with an excluded lower end `above 0, ...100`.
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

/// The bounds of a length. At least one of them is there, or the contract is refused.
public struct LengthRange: Hashable, Sendable {
  /// The least length; nil if there is none.
  public var min: Int?

  /// The greatest length; nil if there is none.
  public var max: Int?

  /// A range with these ends, which belong to it.
  public init(min: Int? = nil, max: Int? = nil) {
    self.min = min
    self.max = max
  }

  /// As with numbers: a foreign type of range comes without ends, an empty one with ends in the wrong order.
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
  /// `1...64`, `1...`, `...64`; one length as `5`.
  public var description: String {
    min != nil && min == max ? "\(min ?? 0)" : (min.map { "\($0)" } ?? "") + "..." + (max.map { "\($0)" } ?? "")
  }
}

extension FieldValue {
  /// A whole number; one that no field can have comes as not-a-number, which no contract takes.
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

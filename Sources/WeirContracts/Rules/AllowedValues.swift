// AllowedValues: the values that a contract allows for a field. Look-up is as fast for ten thousand values as for ten.

import Weir

/// A key for looking up values that are equal for a contract: two keys are equal if ``FieldValue/isSame(as:)`` is true.
enum ValueKey: Hashable, Sendable {
  case text([UInt8])
  /// A number without a fraction that an integer field can hold, of any kind.
  case whole(Int128)
  case fraction(Double)
  case other(FieldValue)

  init(_ value: FieldValue) {
    switch value {
    case .string(let text): self = .text(Array(text.utf8))
    case .int(let number): self = .whole(Int128(number))
    case .uint(let number): self = .whole(Int128(number))
    case .float(let number): self.init(Double(number))
    case .double(let number): self.init(number)
    default: self = .other(value)
    }
  }

  private init(_ number: Double) {
    // Beyond the range of integers, a double equals only doubles.
    let isWhole = number >= -0x1p63 && number < 0x1p64 && number.rounded(.towardZero) == number
    self = isWhole ? .whole(Int128(number)) : .fraction(number)
  }
}

/// The values that a field may have. A few values are searched, many are looked up.
struct AllowedValues: Sendable {
  private static let fewAtMost = 8

  /// Empty if there are many values.
  private let few: [FieldValue]
  private let many: Set<ValueKey>

  init(_ values: [FieldValue]) {
    let isFew = values.count <= Self.fewAtMost
    few = isFew ? values : []
    many = isFew ? [] : Set(values.lazy.map(ValueKey.init))
  }

  func contains(_ value: FieldValue) -> Bool {
    many.isEmpty ? few.contains { $0.isSame(as: value) } : many.contains(ValueKey(value))
  }
}

// AllowedValues: the values that a contract allows a field, looked up as fast in ten thousand as in ten.

import Weir

/// What makes a value the same as another to a contract, to look it up by: two keys are equal where
/// ``FieldValue/isSame(as:)`` is true.
enum ValueKey: Hashable, Sendable {
  case text([UInt8])
  /// A number without a fraction that an integer of a field can hold, whichever kind it has.
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
    // Beyond the integers a double is only ever the same as a double.
    let isWhole = number >= -0x1p63 && number < 0x1p64 && number.rounded(.towardZero) == number
    self = isWhole ? .whole(Int128(number)) : .fraction(number)
  }
}

/// The values that a field may have. Few are looked through, many are looked up.
struct AllowedValues: Sendable {
  private static let fewAtMost = 8

  /// Empty if there are many.
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

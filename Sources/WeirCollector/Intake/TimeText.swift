// TimeText: the times that vendors' forms have, as moments: ISO 8601 texts and numbers.

#if Collector
  import Weir

  enum TimeText {
    /// Up to which number a unit is meant: until the year 5138 each.
    private static let units: [(most: Int64, nanoseconds: Int64)] = [
      (99_999_999_999, 1_000_000_000), (99_999_999_999_999, 1_000_000), (99_999_999_999_999_999, 1_000),
    ]

    static func timestamp(_ text: String) -> Timestamp? { Timestamp(text: text, form: .lenient) }

    /// The moment of a number, whose size tells its unit: seconds, milliseconds, microseconds or nanoseconds since
    /// 1970; nil for what is no number, or negative.
    static func timestamp(_ value: FieldValue) -> Timestamp? {
      switch value {
      case .string(let text): return timestamp(text) ?? Double(text).flatMap { timestamp(FieldValue.double($0)) }
      case .int(let number):
        guard number >= 0 else { return nil }
        let unit: Int64? = units.first { number <= $0.most }?.nanoseconds
        let (product, overflow) = number.multipliedReportingOverflow(by: unit ?? 1)
        return overflow ? nil : Timestamp(nanosecondsSince1970: product)
      case .double(let number):
        guard number >= 0, number < 99_999_999_999_999 else { return nil }
        let unit: Int64 = number <= 99_999_999_999 ? 1_000_000_000 : 1_000_000
        // The fraction by itself, or its last digits would be lost beside the whole.
        let whole = number.rounded(.down)
        let (product, overflow) = Int64(whole).multipliedReportingOverflow(by: unit)
        let fraction = Int64(((number - whole) * Double(unit)).rounded())
        let (sum, carry) = product.addingReportingOverflow(fraction)
        return overflow || carry ? nil : Timestamp(nanosecondsSince1970: sum)
      default: return nil
      }
    }
  }
#endif

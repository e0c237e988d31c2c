// Quantity: numbers as people read and write them: 1,000,000 and 64K.

#if Tool
  enum Quantity {
    /// Returns 1234567 as "1,234,567".
    static func count(_ value: UInt64) -> String {
      let digits = String(value)
      var text = ""
      for (index, digit) in digits.enumerated() {
        if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
        text.append(digit)
      }
      return text
    }

    /// Returns a number with one decimal.
    static func decimal(_ value: Double) -> String {
      let tenths = UInt64((value * 10).rounded())
      return "\(count(tenths / 10)).\(tenths % 10)"
    }

    /// Returns nanoseconds as "2.13 s" or "4.1 ms".
    static func seconds(_ nanoseconds: UInt64) -> String {
      if nanoseconds < 1_000_000 { return "\(decimal(Double(nanoseconds) / 1_000)) us" }
      if nanoseconds < 1_000_000_000 { return "\(decimal(Double(nanoseconds) / 1_000_000)) ms" }
      let hundredths = (nanoseconds + 5_000_000) / 10_000_000
      let fraction = String(hundredths % 100)
      return "\(count(hundredths / 100)).\(fraction.count == 1 ? "0" : "")\(fraction) s"
    }

    /// Returns bytes as "17.0 MiB".
    static func bytes(_ value: UInt64) -> String {
      if value < 1 << 10 { return "\(value) B" }
      if value < 1 << 20 { return "\(decimal(Double(value) / 1_024)) KiB" }
      if value < 1 << 30 { return "\(decimal(Double(value) / 1_048_576)) MiB" }
      return "\(decimal(Double(value) / 1_073_741_824)) GiB"
    }

    /// Parses a number of bytes: digits, and K, M or G for powers of 1,024.
    static func parseBytes(_ text: String) -> UInt64? {
      let shift: UInt64
      switch text.last {
      case "k", "K": shift = 10
      case "m", "M": shift = 20
      case "g", "G": shift = 30
      default: shift = 0
      }
      let digits = shift == 0 ? text[...] : text.dropLast()
      guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = UInt64(digits) else { return nil }
      let (bytes, overflow) = value.multipliedReportingOverflow(by: 1 << shift)
      return overflow ? nil : bytes
    }
  }
#endif

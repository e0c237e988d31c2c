// DateText: dates in fields as text, for providers and the tool.

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension UTC {
  /// Appends a date as RFC 3339: without decimals if it falls on a second, else with nine, to the nearest nanosecond.
  /// Answers false, and appends nothing, where RFC 3339 has no form for it: outside the years 0 to 9999.
  package static func append(_ date: Date, to bytes: inout [UInt8]) -> Bool {
    // In the date's own scale, from 2001: adding the 31 years to 1970 first would cost bits of the fraction.
    let interval = date.timeIntervalSinceReferenceDate
    guard interval >= -63_145_526_400, interval < 252_423_993_600 - 0.000_000_001 else { return false }
    var seconds = Int(interval.rounded(.down))
    var nanoseconds = Int(((interval - Double(seconds)) * 1_000_000_000).rounded())
    if nanoseconds == 1_000_000_000 {
      seconds += 1
      nanoseconds = 0
    }
    appendSeconds(seconds + 978_307_200, to: &bytes)
    if nanoseconds > 0 {
      bytes.append(UInt8(ascii: "."))
      appendDigits(nanoseconds, 9, to: &bytes)
    }
    bytes.append(UInt8(ascii: "Z"))
    return true
  }
}

// DateText: dates in fields as text, for providers and the tool.

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension UTC {
  /// Appends a date in RFC 3339 format: without decimals if the date falls on a second, otherwise with nine decimals,
  /// rounded to the nearest nanosecond. Returns `false`, and appends nothing, for dates outside the years 0 to 9999,
  /// which RFC 3339 can't represent.
  package static func append(_ date: Date, to bytes: inout [UInt8]) -> Bool {
    // Computed in seconds since 2001, as Date stores them: adding the 31 years since 1970 first would lose bits.
    let interval = date.timeIntervalSinceReferenceDate
    guard interval >= -63_145_526_400, interval < 252_423_993_600 - 0.000_000_001 else { return false }
    var seconds = Int(interval.rounded(.down))
    var nanoseconds = Int(((interval - Double(seconds)) * 1_000_000_000).rounded())
    if nanoseconds == 1_000_000_000 {
      seconds += 1
      nanoseconds = 0
    }
    append(seconds + 978_307_200, nanoseconds: nanoseconds > 0 ? nanoseconds : nil, to: &bytes)
    return true
  }
}

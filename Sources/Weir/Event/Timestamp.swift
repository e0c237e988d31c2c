// Timestamp: the time of a capture, in nanoseconds.

import CClocks

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A time in nanoseconds since 1970 (Universal Time, without leap seconds), between the years 1677 and 2262.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Nanoseconds since 1970-01-01T00:00:00Z; negative before that time.
  public var nanosecondsSince1970: Int64

  /// Creates the time that is the given number of nanoseconds after 1970-01-01T00:00:00Z.
  public init(nanosecondsSince1970: Int64) {
    self.nanosecondsSince1970 = nanosecondsSince1970
  }

  /// The current time of the wall clock.
  public static var now: Timestamp { Timestamp(nanosecondsSince1970: weir_clock_read(CLOCK_REALTIME)) }

  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.nanosecondsSince1970 < right.nanosecondsSince1970
  }
}

extension Timestamp: CustomStringConvertible {
  /// RFC 3339 in Universal Time with nine decimals, such as `2026-11-21T00:00:00.123456789Z`.
  public var description: String {
    var text: [UInt8] = []
    text.reserveCapacity(30)
    append(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends ``description``.
  package func append(to text: inout [UInt8]) {
    let (quotient, rest) = nanosecondsSince1970.quotientAndRemainder(dividingBy: 1_000_000_000)
    // Rounds down, so that times before 1970 are correct.
    UTC.append(
      Int(rest < 0 ? quotient - 1 : quotient), nanoseconds: Int(rest < 0 ? rest + 1_000_000_000 : rest), to: &text)
  }
}

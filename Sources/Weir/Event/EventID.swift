// EventID and Offset: an event's id, which its capture gives, and its offset, which the log gives.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The number of an event in its log, counted from 0. Assigned when the event is drained, and never assigned twice.
public typealias Offset = UInt64

/// The id of an event. Known when the capture returns, and never assigned twice.
public struct EventID: Hashable, Sendable {
  /// The random number of the opening that captured the event.
  public let opening: UInt64

  /// The lane in the upper 16 bits, and an eighth of the position in the lane in the lower 48. Grows with each capture
  /// of a thread, as long as the thread keeps its lane.
  public let sequence: UInt64

  /// Creates an id from its two halves.
  @inlinable
  public init(opening: UInt64, sequence: UInt64) {
    self.opening = opening
    self.sequence = sequence
  }

  /// Parses the 32 hexadecimal digits of ``description``. Returns `nil` for any other text.
  public init?(_ text: String) {
    let digits = Array(text.utf8)
    guard digits.count == 32 else { return nil }
    var halves: [UInt64] = []
    for half in [digits[..<16], digits[16...]] {
      var value: UInt64 = 0
      for digit in half {
        guard let nibble = Character(UnicodeScalar(digit)).hexDigitValue else { return nil }
        value = value << 4 | UInt64(nibble)
      }
      halves.append(value)
    }
    self.init(opening: halves[0], sequence: halves[1])
  }
}

extension EventID: CustomStringConvertible {
  /// 32 lower-case hexadecimal digits: the opening, then the sequence.
  public var description: String {
    String(unsafeUninitializedCapacity: 32) { digits in
      for index in 0..<32 {
        let half = index < 16 ? opening : sequence
        let nibble = UInt8(truncatingIfNeeded: half >> UInt64(60 - index % 16 * 4)) & 15
        digits[index] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
      }
      return 32
    }
  }
}

extension EventID {
  /// The number of bits of a lane's number in ``uuid``. A log has at most 256 lanes.
  private static var laneBits: UInt64 { 10 }
  private static var positionBits: UInt64 { 48 }
  /// The lane in the ids of the log's own notices.
  private static var noticeLane: UInt64 { 0xffff }
  /// UUID version 8: the other bits are free for the application.
  private static var version: UInt64 { 8 }
  private static var variant: UInt64 { 2 }

  /// Whether the id is that of a notice of the log itself.
  var isNotice: Bool { sequence >> Self.positionBits == Self.noticeLane }

  /// The id as a UUID (RFC 9562, version 8), for systems that need one. ``init(_:)-(UUID)`` converts it back.
  ///
  /// Different events have different UUIDs. A UUID holds the opening, the lane's number and the position in the lane.
  /// Version and variant take the place of the upper six bits of the lane's number. These bits are 0 in every log,
  /// except in the log's own notices, where all bits of the lane are 1.
  public var uuid: UUID {
    let lane = sequence >> Self.positionBits & (1 << Self.laneBits - 1)
    let position = sequence & (1 << Self.positionBits - 1)
    let high = opening & ~0xffff | Self.version << 12 | opening >> 4 & 0xfff
    let low = Self.variant << 62 | (opening & 0xf) << 58 | lane << Self.positionBits | position
    var bytes = (high.bigEndian, low.bigEndian)
    return withUnsafeBytes(of: &bytes) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// Converts ``uuid`` back. Returns `nil` unless the UUID has version 8 and the variant of RFC 9562.
  public init?(_ uuid: UUID) {
    let (first, second) = withUnsafeBytes(of: uuid.uuid) { $0.loadUnaligned(as: (UInt64, UInt64).self) }
    let high = UInt64(bigEndian: first)
    let low = UInt64(bigEndian: second)
    guard high >> 12 & 0xf == Self.version, low >> 62 == Self.variant else { return nil }
    let ones: UInt64 = 1 << Self.laneBits - 1
    let isNotice = low >> Self.positionBits & ones == ones
    let upperLaneBits: UInt64 = isNotice ? 0x3f << (Self.positionBits + Self.laneBits) : 0
    self.init(
      opening: high & ~0xffff | (high & 0xfff) << 4 | low >> 58 & 0xf,
      sequence: low & (1 << 58 - 1) | upperLaneBits)
  }
}

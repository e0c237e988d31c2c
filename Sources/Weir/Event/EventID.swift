// EventID and Offset: the two names of an event, one from its capture and one from the log.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The number of an event in its log, counted from 0. Given when the event is drained, and never given twice.
public typealias Offset = UInt64

/// The identity of an event, known when its capture returns, and never given twice.
public struct EventID: Hashable, Sendable {
  /// The random number of the opening that captured the event.
  public let opening: UInt64

  /// The lane in the top 16 bits, an eighth of the position in the lane in the lower 48. It grows with the captures of
  /// one thread, as long as the thread keeps its lane.
  public let sequence: UInt64

  /// The identity with these two halves.
  @inlinable
  public init(opening: UInt64, sequence: UInt64) {
    self.opening = opening
    self.sequence = sequence
  }

  /// Reads the 32 hexadecimal digits that ``description`` writes; nil for any other text.
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
  /// How many bits of a lane's number go into ``uuid``. A log has at most 256 lanes.
  private static var laneBits: UInt64 { 10 }
  private static var positionBits: UInt64 { 48 }
  /// Version 8: the rest of the bits are the maker's own.
  private static var version: UInt64 { 8 }
  private static var variant: UInt64 { 2 }

  /// The identity as a UUID (RFC 9562, version 8), for systems that want one. ``init(_:)-(UUID)`` reads it back.
  ///
  /// Different events have different ones: it holds the opening, the lane's number and the position in the lane
  /// completely, and six bits of version and variant in place of the lane number's upper six. These are 0 in every log,
  /// but for the log's own notices, whose lane is all ones.
  public var uuid: UUID {
    let lane = sequence >> Self.positionBits & (1 << Self.laneBits - 1)
    let position = sequence & (1 << Self.positionBits - 1)
    let high = opening & ~0xffff | Self.version << 12 | opening >> 4 & 0xfff
    let low = Self.variant << 62 | (opening & 0xf) << 58 | lane << Self.positionBits | position
    var bytes = (high.bigEndian, low.bigEndian)
    return withUnsafeBytes(of: &bytes) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// The identity that ``uuid`` was made of; nil for any UUID that is not of version 8 and the variant of RFC 9562.
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

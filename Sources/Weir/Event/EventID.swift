// EventID and Offset: the two names of an event, one from its capture and one from the log.

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

// ViewID: the ids of views and scopes.

import CIds

/// The id of a view.
enum ViewID {
  /// A random UUID, whose text is made where somebody asks: the memory of a text takes as long as all else of an id,
  /// and most ids only go into events.
  case made(high: UInt64, low: UInt64)
  case given(String)

  /// Creates a unique id. Foundation's UUID takes many times as long, and so does a call of the kernel for each id.
  init() {
    var random: (high: UInt64, low: UInt64) = (0, 0)
    let isRandom = withUnsafeMutableBytes(of: &random) { bytes in
      weir_random_id(bytes.assumingMemoryBound(to: UInt64.self).baseAddress)
    }
    // Swift's generator knows what to do where the call is forbidden.
    if isRandom == 0 { random = (.random(in: .min ... .max), .random(in: .min ... .max)) }
    let version = UInt64(0x4000)
    let variant = UInt64(1) << 63
    self = .made(high: random.high & ~0xf000 | version, low: random.low & ~(3 << 62) | variant)
  }

  /// The number of bytes of a UUID's text.
  static let bytes = 36

  var text: String {
    switch self {
    case .given(let text): text
    case .made(let high, let low):
      String(unsafeUninitializedCapacity: Self.bytes) { text in
        Self.write(high, low, to: UnsafeMutableRawBufferPointer(text))
        return Self.bytes
      }
    }
  }

  /// Writes a UUID's text, in lower case.
  static func write(_ high: UInt64, _ low: UInt64, to text: UnsafeMutableRawBufferPointer) {
    func put(_ digits: UInt64, at first: Int, _ second: Int) {
      func put(_ digits: UInt64, at place: Int) {
        text.storeBytes(of: UInt32(truncatingIfNeeded: digits).littleEndian, toByteOffset: place, as: UInt32.self)
      }
      put(digits, at: first)
      put(digits >> 32, at: second)
    }
    put(hexadecimal(high >> 32), at: 0, 4)
    put(hexadecimal(high), at: 9, 14)
    put(hexadecimal(low >> 32), at: 19, 24)
    put(hexadecimal(low), at: 28, 32)
    text[8] = UInt8(ascii: "-")
    text[13] = UInt8(ascii: "-")
    text[18] = UInt8(ascii: "-")
    text[23] = UInt8(ascii: "-")
  }
}

extension TaggedSink {
  /// Puts the text of an id as a value.
  mutating func put(_ id: ViewID) {
    switch id {
    case .given(let text): put(text)
    case .made(let high, let low):
      put(.string)
      putCount(ViewID.bytes)
      withUnsafeTemporaryAllocation(byteCount: ViewID.bytes, alignment: 1) { text in
        ViewID.write(high, low, to: text)
        putBytes(UnsafeRawBufferPointer(text))
      }
    }
  }
}

/// Creates the text of a unique view id: a random UUID in lower case.
package func newViewID() -> String { ViewID().text }

/// Returns the hexadecimal digits of the lower 32 bits, the first digit in the lowest byte. All digits at once: one by
/// one takes twice as many instructions.
private func hexadecimal(_ number: UInt64) -> UInt64 {
  // Spreads the digits, one to each byte.
  var digits = number & 0xffff_ffff
  digits = (digits | digits << 16) & 0x0000_ffff_0000_ffff
  digits = (digits | digits << 8) & 0x00ff_00ff_00ff_00ff
  digits = (digits | digits << 4) & 0x0f0f_0f0f_0f0f_0f0f
  // Digits from 10 on are letters: with 6 added, they reach the upper half of their byte.
  let letters = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
  let toLetter = UInt64(UInt8(ascii: "a") - 10 - UInt8(ascii: "0"))
  return (digits &+ 0x3030_3030_3030_3030 &+ letters &* toLetter).byteSwapped
}

// ViewID: the ids of views and scopes.

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Creates a unique view id: a random UUID in lower case. Foundation's UUID takes four times as long.
package func newViewID() -> String {
  var random: (high: UInt64, low: UInt64) = (0, 0)
  // Both halves by one call of the kernel, which is most of the cost. Swift's generator calls for each, but knows what
  // to do where the call is forbidden.
  if withUnsafeMutableBytes(of: &random, { getentropy($0.baseAddress!, $0.count) }) != 0 {
    random = (.random(in: .min ... .max), .random(in: .min ... .max))
  }
  let version = UInt64(0x4000)
  let variant = UInt64(1) << 63
  let high = random.high & ~0xf000 | version
  let low = random.low & ~(3 << 62) | variant
  return String(unsafeUninitializedCapacity: 36) { text in
    var place = 0
    for number in [high, low] {
      for shift in stride(from: 60, through: 0, by: -4) {
        if place == 8 || place == 13 || place == 18 || place == 23 {
          text[place] = UInt8(ascii: "-")
          place += 1
        }
        let digit = UInt8(truncatingIfNeeded: number >> UInt64(shift) & 15)
        text[place] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
        place += 1
      }
    }
    return place
  }
}

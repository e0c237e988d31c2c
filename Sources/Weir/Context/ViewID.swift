// ViewID: the ids of views and scopes.

import CIds

/// Creates a unique view id: a random UUID in lower case. Foundation's UUID takes many times as long, and so does a
/// call of the kernel for each id.
package func newViewID() -> String {
  var random: (high: UInt64, low: UInt64) = (0, 0)
  let isRandom = withUnsafeMutableBytes(of: &random) { bytes in
    weir_random_id(bytes.assumingMemoryBound(to: UInt64.self).baseAddress)
  }
  // Swift's generator knows what to do where the call is forbidden.
  if isRandom == 0 { random = (.random(in: .min ... .max), .random(in: .min ... .max)) }
  let version = UInt64(0x4000)
  let variant = UInt64(1) << 63
  let high = random.high & ~0xf000 | version
  let low = random.low & ~(3 << 62) | variant
  return String(unsafeUninitializedCapacity: 36) { text in
    var place = 0
    func put(_ number: UInt64, from first: UInt64, digits: Int) {
      var shift = first
      for _ in 0..<digits {
        let digit = UInt8(truncatingIfNeeded: number >> shift & 15)
        text[place] = digit &+ (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
        place += 1
        shift &-= 4
      }
    }
    func putHyphen() {
      text[place] = UInt8(ascii: "-")
      place += 1
    }
    put(high, from: 60, digits: 8)
    putHyphen()
    put(high, from: 28, digits: 4)
    putHyphen()
    put(high, from: 12, digits: 4)
    putHyphen()
    put(low, from: 60, digits: 4)
    putHyphen()
    put(low, from: 44, digits: 12)
    return place
  }
}

// WordHash: hashes of 64 bits, word by word.

/// A hash of words and bytes. The multiplication to 128 bits is that of wyhash (Wang Yi, 2019).
///
/// Not for the words of an adversary who knows the seed.
@frozen
package struct WordHash: Sendable {
  @usableFromInline var state: UInt64

  @inlinable
  package init(_ seed: UInt64) { state = seed }

  @inlinable
  package var value: UInt64 { Self.mixed(state, 0xe703_7ed1_a0b4_28db) }

  @inlinable @inline(__always)
  package mutating func add(_ word: UInt64) {
    state = Self.mixed(state ^ word, 0xa076_1d64_78bd_642f) &+ 0x9e37_79b9_7f4a_7c15
  }

  @inlinable
  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    add(UInt64(bytes.count))
    var index = 0
    while index + 8 <= bytes.count {
      add(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      index += 8
    }
    guard index < bytes.count else { return }
    var word: UInt64 = 0
    for byte in bytes[index...] { word = word << 8 | UInt64(byte) }
    add(word)
  }

  /// Multiplies to 128 bits, and folds the halves: each bit of the result depends on all bits.
  @inlinable @inline(__always)
  static func mixed(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let (high, low) = one.multipliedFullWidth(by: other)
    return high ^ low
  }
}

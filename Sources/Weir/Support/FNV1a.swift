// FNV1a: the Fowler-Noll-Vo hash, variant 1a: short, the same in every process, and no protection against anybody.

package enum FNV1a {
  /// The hash in 64 bits.
  @inlinable
  package static func hash64(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }

  /// The hash of no bytes, in 64 bits.
  @inlinable package static var start: UInt64 { 0xcbf2_9ce4_8422_2325 }

  /// The hash of bytes whose hash is `hash`, and of a number's eight bytes after them, the lowest first.
  @inlinable
  package static func hash64(_ number: UInt64, after hash: UInt64) -> UInt64 {
    var hash = hash
    for index in 0..<8 as Range<UInt64> {
      hash = (hash ^ (number >> (8 * index) & 0xFF)) &* 0x100_0000_01b3
    }
    return hash
  }

  /// The hash in 32 bits.
  @inlinable
  package static func hash32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    bytes.reduce(0x811c_9dc5) { ($0 ^ UInt32($1)) &* 0x100_0193 }
  }
}

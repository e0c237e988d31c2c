// FNV1a: the Fowler-Noll-Vo hash, variant 1a: short, the same in every process, and no protection against anybody.

package enum FNV1a {
  /// The hash in 64 bits.
  package static func hash64(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }

  /// The hash in 32 bits.
  package static func hash32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    bytes.reduce(0x811c_9dc5) { ($0 ^ UInt32($1)) &* 0x100_0193 }
  }
}

// ContentHash: SipHash-2-4 with 128 bits, over what makes two events the same for the duplicates' window.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// 128 bits that stand for the content and source of an event. Two different ones are equal once in 2^64 events or so.
struct ContentHash: Hashable, Sendable {
  var low: UInt64
  var high: UInt64
}

/// SipHash-2-4 with an output of 128 bits (Aumasson and Bernstein, 2012), fed in whole words.
///
/// The key is fixed: what is hashed comes out the same in every process, and nothing of value hangs on an adversary's
/// not being able to make two events collide, whose own flag is all that could come of it.
struct SipHash128 {
  private var v0: UInt64
  private var v1: UInt64
  private var v2: UInt64
  private var v3: UInt64
  private var byteCount: UInt64 = 0

  init(key: (UInt64, UInt64) = (0x7765_6972_2064_7570, 0x6c69_6361_7465_7331)) {
    v0 = 0x736f_6d65_7073_6575 ^ key.0
    v1 = 0x646f_7261_6e64_6f6d ^ key.1 ^ 0xee
    v2 = 0x6c79_6765_6e65_7261 ^ key.0
    v3 = 0x7465_6462_7974_6573 ^ key.1
  }

  mutating func combine(_ word: UInt64) {
    compress(word)
    byteCount &+= 8
  }

  /// Bytes, after their count, so that no two sequences of fields give the same words.
  mutating func combine(bytes: some Sequence<UInt8>, count: Int) {
    combine(UInt64(count))
    var word: UInt64 = 0
    var filled: UInt64 = 0
    for byte in bytes {
      word |= UInt64(byte) << filled
      filled += 8
      if filled == 64 {
        combine(word)
        word = 0
        filled = 0
      }
    }
    if filled > 0 { combine(word) }
  }

  mutating func combine(text: String) {
    let utf8 = text.utf8
    combine(bytes: utf8, count: utf8.count)
  }

  func finished() -> ContentHash {
    var last = self
    // The last word has the count of bytes; those past a whole word, of which there are none here, go below it.
    last.compress(byteCount << 56)
    last.v2 ^= 0xee
    for _ in 0..<4 { last.round() }
    let low = last.v0 ^ last.v1 ^ last.v2 ^ last.v3
    last.v1 ^= 0xdd
    for _ in 0..<4 { last.round() }
    return ContentHash(low: low, high: last.v0 ^ last.v1 ^ last.v2 ^ last.v3)
  }

  private mutating func compress(_ word: UInt64) {
    v3 ^= word
    round()
    round()
    v0 ^= word
  }

  private mutating func round() {
    v0 = v0 &+ v1
    v1 = v1 << 13 | v1 >> 51
    v1 ^= v0
    v0 = v0 << 32 | v0 >> 32
    v2 = v2 &+ v3
    v3 = v3 << 16 | v3 >> 48
    v3 ^= v2
    v0 = v0 &+ v3
    v3 = v3 << 21 | v3 >> 43
    v3 ^= v0
    v2 = v2 &+ v1
    v1 = v1 << 17 | v1 >> 47
    v1 ^= v2
    v2 = v2 << 32 | v2 >> 32
  }
}

extension StoredEvent {
  /// What tells the event's content and source from all others': name, fields, and the user if there is one, else the
  /// opening and lane that it was captured in.
  var contentHash: ContentHash {
    var hash = SipHash128()
    if let user = context.user?.id {
      hash.combine(1)
      hash.combine(text: user)
    } else {
      hash.combine(2)
      hash.combine(id.opening)
      hash.combine(id.sequence >> 48)
    }
    hash.combine(text: name)
    hash.combine(fields: fields)
    return hash.finished()
  }
}

extension SipHash128 {
  /// Fields in whatever order: that of a dictionary changes from one encoding to the next.
  fileprivate mutating func combine(fields: FieldObject) {
    var low: UInt64 = 0
    var high: UInt64 = 0
    for member in fields {
      var hash = SipHash128()
      hash.combine(text: member.name)
      hash.combine(value: member.value)
      let sum = hash.finished()
      low = low &+ sum.low
      high = high &+ sum.high
    }
    combine(low)
    combine(high)
  }

  /// A value after a number for its kind: an integer 1 is not the text "1". Floating-point numbers go by their bits.
  fileprivate mutating func combine(value: FieldValue) {
    switch value {
    case .null: combine(0)
    case .bool(let value): combine(value ? 1 : 2)
    case .int(let value):
      combine(3)
      combine(UInt64(bitPattern: value))
    case .uint(let value):
      combine(4)
      combine(value)
    case .float(let value):
      combine(5)
      combine(UInt64(value.bitPattern))
    case .double(let value):
      combine(6)
      combine(value.bitPattern)
    case .string(let value):
      combine(7)
      combine(text: value)
    case .bytes(let value):
      combine(8)
      combine(bytes: value, count: value.count)
    case .uuid(let value):
      combine(9)
      withUnsafeBytes(of: value.uuid) { combine(bytes: $0, count: 16) }
    case .date(let value):
      combine(10)
      combine(value.timeIntervalSinceReferenceDate.bitPattern)
    case .array(let values):
      combine(11)
      combine(UInt64(values.count))
      for value in values { combine(value: value) }
    case .object(let object):
      combine(12)
      combine(fields: object)
    }
  }
}

// The checksum of the small files: known values, and every length and alignment against a bit at a time.

import TestSupport
import Testing
import Weir

struct ChecksumTests {
  @Test func `the checksum has its known values`() {
    func crc(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { crc32c($0) } }
    #expect(crc(Array("123456789".utf8)) == 0xe306_9283)
    #expect(crc([]) == 0)
    // RFC 3720, B.4.
    #expect(crc([UInt8](repeating: 0, count: 32)) == 0x8a91_36aa)
    #expect(crc([UInt8](repeating: 0xff, count: 32)) == 0x62a8_ab43)
    #expect(crc(Array(0..<32)) == 0x46dd_794e)
  }

  @Test func `the checksum is the same at every length and alignment`() {
    var random = Seeded(seed: 1)
    let bytes = (0..<64).map { _ in UInt8.random(in: 0...255, using: &random) }
    bytes.withUnsafeBytes { all in
      for start in 0..<9 {
        for end in start...64 {
          let part = UnsafeRawBufferPointer(rebasing: all[start..<end])
          #expect(crc32c(part) == bitwise(part))
        }
      }
    }
  }

  private func bitwise(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var crc: UInt32 = 0xffff_ffff
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82f6_3b78 : crc >> 1 }
    }
    return ~crc
  }
}

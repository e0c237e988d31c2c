// GunzipTests: what is packed is unpacked to the byte, and a bomb no further than allowed.

#if Collector
  import CZlib
  import Testing

  @testable import WeirCollector

  /// Bytes as gzip.
  func gzipped(_ bytes: [UInt8], level: Int32 = 6) -> [UInt8] {
    var stream = z_stream()
    deflateInit2_(
      &stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    defer { deflateEnd(&stream) }
    var bytes = bytes
    var packed = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    let count = bytes.withUnsafeMutableBufferPointer { bytes in
      packed.withUnsafeMutableBufferPointer { packed in
        stream.next_in = bytes.baseAddress
        stream.avail_in = UInt32(bytes.count)
        stream.next_out = packed.baseAddress
        stream.avail_out = UInt32(packed.count)
        _ = deflate(&stream, Z_FINISH)
        return packed.count - Int(stream.avail_out)
      }
    }
    return Array(packed[..<count])
  }

  struct GunzipTests {
    @Test(arguments: [0, 1, 1_000, 65_536, 65_537, 1_000_000])
    func `packed bytes come back`(count: Int) throws {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
      #expect(try Gunzip.unpack(gzipped(bytes), limit: count) == bytes)
      #expect(try Gunzip.unpack(gzipped(bytes) + gzipped([1, 2]), limit: count + 2) == bytes + [1, 2])
    }

    @Test func `a bomb is unpacked no further than the limit`() {
      let bomb = gzipped([UInt8](repeating: 0, count: 8 << 20), level: 9)
      #expect(bomb.count < 16 << 10)
      #expect(throws: GunzipError.tooLarge) { try Gunzip.unpack(bomb, limit: (8 << 20) - 1) }
      #expect(throws: GunzipError.tooLarge) { try Gunzip.unpack(bomb, limit: 1) }
    }

    @Test func `a cut and a flipped byte are damage, wherever they are`() {
      let packed = gzipped(Array("events events events events".utf8))
      for count in packed.indices {
        #expect(throws: GunzipError.damaged) { try Gunzip.unpack(Array(packed[..<count]), limit: 1 << 20) }
      }
      // Behind the header's time, extra flags and system, which say nothing of the content.
      for index in packed.indices where !(4...9).contains(index) {
        var flipped = packed
        flipped[index] ^= 0x20
        // Some bits say nothing: those that fill the last byte of the packed data.
        let unpacked = try? Gunzip.unpack(flipped, limit: 1 << 20)
        #expect(unpacked == nil || unpacked == Array("events events events events".utf8))
      }
      #expect(throws: GunzipError.damaged) { try Gunzip.unpack(packed + [7], limit: 1 << 20) }
    }
  }
#endif

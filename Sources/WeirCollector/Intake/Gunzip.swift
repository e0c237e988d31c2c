// Gunzip: unpacks a request's body, and no more of it than is allowed.

#if Collector
  import CZlib

  enum GunzipError: Error {
    /// It unpacks to more than allowed.
    case tooLarge
    /// It is no gzip, damaged, or cut.
    case damaged
    /// There is no room for it.
    case busy
  }

  enum Gunzip {
    /// What packed bytes unpack to, `limit` bytes at most. Several gzip members in a row are one body, as RFC 1952 has
    /// it.
    ///
    /// Takes memory for what it unpacks as it does so, never for what a header promises: a bomb costs `limit` at most.
    static func unpack(_ packed: [UInt8], limit: Int) throws(GunzipError) -> [UInt8] {
      var stream = z_stream()
      // 15 bits of window; 16 more for gzip and nothing else.
      guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
        throw .damaged
      }
      defer { inflateEnd(&stream) }
      var unpacked: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 64 << 10)
      var consumed = 0
      while true {
        let (status, taken, given) = step(&stream, packed, from: consumed, into: &chunk)
        consumed += taken
        unpacked.append(contentsOf: chunk[..<given])
        if unpacked.count > limit { throw .tooLarge }
        switch status {
        case Z_STREAM_END:
          if consumed == packed.count { return unpacked }
          guard inflateReset(&stream) == Z_OK else { throw .damaged }
        case Z_OK where taken > 0 || given > 0: continue
        default: throw .damaged
        }
      }
    }

    private static func step(
      _ stream: inout z_stream, _ packed: [UInt8], from: Int, into chunk: inout [UInt8]
    ) -> (status: Int32, taken: Int, given: Int) {
      let size = chunk.count
      return packed.withUnsafeBufferPointer { packed in
        chunk.withUnsafeMutableBufferPointer { chunk in
          // zlib counts in 32 bits.
          let available = min(packed.count - from, 1 << 30)
          // zlib reads from there and does not write; its header lacks the word for it.
          stream.next_in = UnsafeMutablePointer(mutating: packed.baseAddress.map { $0 + from })
          stream.avail_in = UInt32(available)
          stream.next_out = chunk.baseAddress
          stream.avail_out = UInt32(size)
          let status = inflate(&stream, Z_NO_FLUSH)
          return (status, available - Int(stream.avail_in), size - Int(stream.avail_out))
        }
      }
    }
  }
#endif

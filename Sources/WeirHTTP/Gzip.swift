// Gzip: RFC 1952, with the system's zlib.

#if HTTP
  import CZlib

  enum Gzip {
    /// The minimum size for compression. Below it, the gzip frame takes more than compression saves.
    static let leastBytes = 256

    /// Returns the bytes as one gzip member, or `nil` if zlib has no memory, so that the bytes are sent as they are.
    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
      var stream = z_stream()
      // 15 window bits, plus 16 for the gzip wrapper. Level 1: events compress well at any level, and processor time
      // belongs to the program.
      let status = deflateInit2_(
        &stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
      guard status == Z_OK else { return nil }
      defer { deflateEnd(&stream) }
      let bound = Int(deflateBound(&stream, UInt(bytes.count)))
      // zlib counts in 32 bits here. No request is that large.
      guard bytes.count <= Int(UInt32.max), bound <= Int(UInt32.max) else { return nil }
      let whole = [UInt8](unsafeUninitializedCapacity: bound) { output, count in
        bytes.withUnsafeBufferPointer { input in
          // zlib's interface has no const. zlib does not write to its input.
          stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
          stream.avail_in = UInt32(input.count)
          stream.next_out = output.baseAddress
          stream.avail_out = UInt32(output.count)
          count = deflate(&stream, Z_FINISH) == Z_STREAM_END ? output.count - Int(stream.avail_out) : 0
        }
      }
      return whole.isEmpty ? nil : whole
    }
  }
#endif

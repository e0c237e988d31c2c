// Gunzip: unpacks what a provider sent, with zlib.

#if HTTP
  import CZlib

  /// Nil for anything that is not one whole gzip member.
  func gunzip(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
    defer { inflateEnd(&stream) }
    var input = bytes
    var output: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    return input.withUnsafeMutableBufferPointer { input -> [UInt8]? in
      stream.next_in = input.baseAddress
      stream.avail_in = UInt32(input.count)
      while true {
        let status = chunk.withUnsafeMutableBufferPointer { chunk in
          stream.next_out = chunk.baseAddress
          stream.avail_out = UInt32(chunk.count)
          return inflate(&stream, Z_NO_FLUSH)
        }
        output += chunk[..<(chunk.count - Int(stream.avail_out))]
        if status == Z_STREAM_END { return stream.avail_in == 0 ? output : nil }
        guard status == Z_OK else { return nil }
      }
    }
  }
#endif

// ByteReader: reads numbers, bytes and texts from untrusted bytes, never past their end.

/// The bytes are not in the expected format. The reader of a log then returns them as they are.
package struct Malformed: Error {
  package init() {}
}

/// Reads bytes from front to back. The bytes must live at least as long as the reader.
struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  var remaining: Int { bytes.count - position }
  var isAtEnd: Bool { remaining == 0 }

  /// Returns the next `count` bytes.
  mutating func take(_ count: Int) throws(Malformed) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= remaining else { throw Malformed() }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
  }

  /// Returns the next number, in little-endian order.
  mutating func number<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws(Malformed) -> T {
    T(littleEndian: try take(MemoryLayout<T>.size).loadUnaligned(as: T.self))
  }

  /// Returns the next counted bytes: a 32-bit count, then as many bytes.
  mutating func counted() throws(Malformed) -> UnsafeRawBufferPointer {
    try take(Int(number(UInt32.self)))
  }
}

extension String {
  /// Creates a text from UTF-8, without repairing it. Returns `nil` if the bytes are not valid UTF-8.
  /// `String(validating:as:)` takes twice as long.
  package init?(utf8 bytes: Span<UInt8>) {
    guard let text = try? UTF8Span(validating: bytes) else { return nil }
    self.init(copying: text)
  }

  package init?(utf8 bytes: UnsafeRawBufferPointer) {
    // Reading raw bytes as UInt8 is always defined, and the bytes outlive the call.
    self.init(utf8: bytes.assumingMemoryBound(to: UInt8.self).span)
  }
}

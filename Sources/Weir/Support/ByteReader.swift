// ByteReader: takes numbers, stretches and texts from bytes that nobody vouches for, never past their end.

/// The bytes are not what they should be. The reader of a log then gives them as they are.
package struct Malformed: Error {}

/// Reads forward through bytes that live at least as long as the reader.
package struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  package init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  package var remaining: Int { bytes.count - position }
  package var isAtEnd: Bool { remaining == 0 }

  /// The next `count` bytes.
  package mutating func take(_ count: Int) throws(Malformed) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= remaining else { throw Malformed() }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
  }

  /// The next number, little endian.
  package mutating func number<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws(Malformed) -> T {
    T(littleEndian: try take(MemoryLayout<T>.size).loadUnaligned(as: T.self))
  }

  /// The next bytes after their count in 32 bits.
  package mutating func counted() throws(Malformed) -> UnsafeRawBufferPointer {
    try take(Int(number(UInt32.self)))
  }
}

extension String {
  /// The text of the bytes, or nil if they are not valid UTF-8: nothing is repaired. `String(validating:as:)` does the
  /// same in twice the time.
  package init?(utf8 bytes: Span<UInt8>) {
    guard let text = try? UTF8Span(validating: bytes) else { return nil }
    self.init(copying: text)
  }

  package init?(utf8 bytes: UnsafeRawBufferPointer) {
    // Reading raw bytes as UInt8 is always defined, and they outlive the call.
    self.init(utf8: bytes.assumingMemoryBound(to: UInt8.self).span)
  }
}

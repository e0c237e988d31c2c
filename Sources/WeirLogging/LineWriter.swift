// LineWriter: encodes the fields of a line into memory, as the log stores them.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Encodes fields with their names and kinds, in the format of `EventEncoder.putTaggedMembers`: a count in 32 bits, then
/// for each field the name, the kind, and the value. A text is its length in 32 bits, then its bytes.
///
/// A line is encoded here and then copied into the lane as a whole. The copy takes the checksum of many bytes at once,
/// and no code of the program runs while the capture holds the lane.
struct LineWriter {
  private let start: UnsafeMutableRawPointer
  private let end: UnsafeMutableRawPointer
  private var cursor: UnsafeMutableRawPointer
  private var count: UInt32 = 0

  /// Whether a value did not fit. Nothing more is put then.
  private(set) var isFull = false

  /// Writes to `memory`, which must be valid while the writer is used, and has at least four bytes.
  @inline(__always)
  init?(_ memory: UnsafeMutableRawBufferPointer) {
    guard let start = memory.baseAddress, memory.count >= MemoryLayout<UInt32>.size else { return nil }
    self.start = start
    end = start + memory.count
    cursor = start + MemoryLayout<UInt32>.size
  }

  /// The encoded fields.
  @inline(__always)
  func finish() -> UnsafeRawBufferPointer {
    start.storeBytes(of: count.littleEndian, as: UInt32.self)
    return UnsafeRawBufferPointer(start: start, count: cursor - start)
  }

  // MARK: Fields

  /// Puts the name of the next field, whose value follows.
  @inline(__always)
  mutating func begin(_ name: String) {
    count &+= 1
    put(name)
  }

  @inline(__always)
  mutating func put(_ name: StaticString, _ text: String) {
    begin(name)
    put(tagged: text)
  }

  @inline(__always)
  mutating func put(_ name: StaticString, _ number: UInt64) {
    begin(name)
    put(.uint64, number)
  }

  /// The length is a constant where this is inlined, and so are the stores.
  @inline(__always)
  private mutating func begin(_ name: StaticString) {
    count &+= 1
    let bytes = name.utf8CodeUnitCount
    guard hasRoom(4 + bytes) else { return }
    store(UInt32(truncatingIfNeeded: bytes))
    cursor.copyMemory(from: name.utf8Start, byteCount: bytes)
    cursor += bytes
  }

  // MARK: Values

  @inline(__always)
  mutating func put(tagged text: String) {
    put(.string)
    put(text)
  }

  @inline(__always)
  mutating func put(_ kind: Kind) {
    guard hasRoom(1) else { return }
    store(kind.rawValue)
  }

  @inline(__always)
  mutating func put<Number: FixedWidthInteger & BitwiseCopyable>(_ kind: Kind, _ number: Number) {
    guard hasRoom(1 + MemoryLayout<Number>.size) else { return }
    store(kind.rawValue)
    store(number)
  }

  /// Begins an array or an object of so many parts, which follow.
  mutating func begin(_ kind: Kind, count: Int) { put(kind, UInt32(truncatingIfNeeded: count)) }

  mutating func put(_ value: Scalar) {
    switch value {
    case .bool(let value): put(.bool, value ? 1 as UInt8 : 0)
    case .int(let value): put(.int64, value)
    case .uint(let value): put(.uint64, value)
    case .float(let value): put(.float, value.bitPattern)
    case .double(let value): put(.double, value.bitPattern)
    case .text(let value): put(tagged: value)
    case .date(let value): put(.date, value.timeIntervalSinceReferenceDate.bitPattern)
    case .uuid(let value):
      guard hasRoom(17) else { return }
      store(Kind.uuid.rawValue)
      cursor.storeBytes(of: value.uuid, as: uuid_t.self)
      cursor += 16
    }
  }

  /// Puts a text without a kind.
  @inline(__always)
  mutating func put(_ text: String) {
    let isDone: Void? = text.utf8.withContiguousStorageIfAvailable { put(counted: UnsafeRawBufferPointer($0)) }
    if isDone == nil { putBridged(text) }
  }

  /// Only strings of other languages are not contiguous.
  @inline(never)
  private mutating func putBridged(_ text: String) {
    var text = text
    text.withUTF8 { put(counted: UnsafeRawBufferPointer($0)) }
  }

  @inline(__always)
  private mutating func put(counted bytes: UnsafeRawBufferPointer) {
    guard hasRoom(4 + bytes.count) else { return }
    store(UInt32(truncatingIfNeeded: bytes.count))
    guard let from = bytes.baseAddress else { return }
    copy(from, bytes.count)
  }

  // MARK: Memory

  @inline(__always)
  private mutating func hasRoom(_ bytes: Int) -> Bool {
    if !isFull, end - cursor >= bytes { return true }
    isFull = true
    return false
  }

  @inline(__always)
  private mutating func store<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
    cursor.storeBytes(of: number.littleEndian, as: Number.self)
    cursor += MemoryLayout<Number>.size
  }

  /// Copies up to 16 bytes as two words that overlap, which takes a fraction of a call of `memcpy`.
  @inline(__always)
  private mutating func copy(_ from: UnsafeRawPointer, _ bytes: Int) {
    @inline(__always)
    func ends<Word: BitwiseCopyable>(_ type: Word.Type) {
      let last = bytes - MemoryLayout<Word>.size
      cursor.storeBytes(of: from.loadUnaligned(as: type), as: type)
      cursor.storeBytes(of: from.loadUnaligned(fromByteOffset: last, as: type), toByteOffset: last, as: type)
    }
    switch bytes {
    case 8...16: ends(UInt64.self)
    case 4..<8: ends(UInt32.self)
    case 2..<4: ends(UInt16.self)
    default: cursor.copyMemory(from: from, byteCount: bytes)
    }
    cursor += bytes
  }
}

// TaggedBytes: tagged objects as bytes in memory, for a definition's attributes, global contexts and scopes.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension FieldObject {
  /// The object as a log stores it: a count, then each name and its value with the value's kind. `nil` if values are
  /// nested deeper than ``maximumDepth``, which readers refuse.
  package func taggedBytes() -> [UInt8]? {
    var size = TaggedSize()
    guard size.putMembers(self, depth: 0) else { return nil }
    return [UInt8](unsafeUninitializedCapacity: size.count) { bytes, count in
      var writer = TaggedMemory(UnsafeMutableRawBufferPointer(bytes))
      _ = writer.putMembers(self, depth: 0)
      count = writer.count
    }
  }

  /// Decodes the bytes of ``taggedBytes()``. Trusts none of the bytes. Returns `nil` if they are not exactly one
  /// object.
  package init?(taggedBytes bytes: UnsafeRawBufferPointer) {
    var reader = PayloadReader(bytes)
    guard let object = try? reader.tagged() else { return nil }
    self = object
  }
}

/// Takes the bytes of tagged values, in the format that ``EventEncoder/putTagged(_:depth:)`` writes into a lane. The
/// bytes are put twice: first ``TaggedSize`` counts them, then ``TaggedMemory`` has room for exactly as many.
protocol TaggedSink {
  mutating func putNumber(_ number: some FixedWidthInteger & BitwiseCopyable)
  mutating func putBytes(_ bytes: UnsafeRawBufferPointer)
  mutating func putText(_ text: String)
}

/// Counts bytes.
struct TaggedSize: TaggedSink {
  private(set) var count = 0

  @inline(__always)
  mutating func putNumber<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
    count += MemoryLayout<Number>.size
  }

  @inline(__always)
  mutating func putBytes(_ bytes: UnsafeRawBufferPointer) { count += bytes.count }

  @inline(__always)
  mutating func putText(_ text: String) { count += text.utf8.count }
}

/// Writes bytes into memory that has room for them.
struct TaggedMemory: TaggedSink {
  private let room: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(_ room: UnsafeMutableRawBufferPointer) {
    self.room = room
  }

  @inline(__always)
  mutating func putNumber<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
    precondition(room.count - count >= MemoryLayout<Number>.size, "the bytes were counted before")
    room.storeBytes(of: number.littleEndian, toByteOffset: count, as: Number.self)
    count += MemoryLayout<Number>.size
  }

  @inline(__always)
  mutating func putBytes(_ bytes: UnsafeRawBufferPointer) {
    precondition(room.count - count >= bytes.count, "the bytes were counted before")
    UnsafeMutableRawBufferPointer(rebasing: room[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  @inline(__always)
  mutating func putText(_ text: String) {
    var text = text
    text.withUTF8 { putBytes(UnsafeRawBufferPointer($0)) }
  }
}

extension TaggedSink {
  /// Puts an object. Returns `false` if a value is nested too deep, as does ``put(_:depth:)``.
  mutating func putMembers(_ object: FieldObject, depth: Int) -> Bool {
    putCount(object.count)
    for member in object {
      putName(member.name)
      guard put(member.value, depth: depth + 1) else { return false }
    }
    return true
  }

  /// Puts a value with its kind.
  mutating func put(_ value: FieldValue, depth: Int) -> Bool {
    switch value {
    case .null:
      put(.null)
    case .bool(let value):
      put(.bool)
      putNumber(value ? 1 as UInt8 : 0)
    case .int(let value):
      put(.int64)
      putNumber(value)
    case .uint(let value):
      put(.uint64)
      putNumber(value)
    case .float(let value):
      put(.float)
      putNumber(value.bitPattern)
    case .double(let value):
      put(.double)
      putNumber(value.bitPattern)
    case .string(let value):
      put(value)
    case .bytes(let value):
      put(.bytes)
      putCount(value.count)
      value.withUnsafeBytes { putBytes($0) }
    case .uuid(let value):
      put(.uuid)
      withUnsafeBytes(of: value.uuid) { putBytes($0) }
    case .date(let value):
      put(.date)
      putNumber(value.timeIntervalSinceReferenceDate.bitPattern)
    case .array(let values):
      guard depth <= maximumDepth else { return false }
      put(.array)
      putCount(values.count)
      for value in values {
        guard put(value, depth: depth + 1) else { return false }
      }
    case .object(let object):
      guard depth <= maximumDepth else { return false }
      put(.object)
      return putMembers(object, depth: depth)
    }
    return true
  }

  /// Puts a text as a value.
  mutating func put(_ text: String) {
    put(.string)
    putName(text)
  }

  mutating func put(_ kind: Kind) { putNumber(kind.rawValue) }

  mutating func putCount(_ count: Int) { putNumber(UInt32(truncatingIfNeeded: count)) }

  mutating func putName(_ name: String) {
    putCount(name.utf8.count)
    putText(name)
  }
}

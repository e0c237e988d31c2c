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
      guard let start = bytes.baseAddress else { return }
      var writer = TaggedMemory(start, count: size.count)
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
  private let start: UnsafeMutableRawPointer
  private let end: UnsafeMutableRawPointer
  private var place: UnsafeMutableRawPointer

  var count: Int { place - start }

  init(_ start: UnsafeMutableRawPointer, count: Int) {
    self.start = start
    end = start + count
    place = start
  }

  @inline(__always)
  mutating func putNumber<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
    precondition(end - place >= MemoryLayout<Number>.size, "the bytes were counted before")
    place.storeBytes(of: number.littleEndian, as: Number.self)
    place += MemoryLayout<Number>.size
  }

  @inline(__always)
  mutating func putBytes(_ bytes: UnsafeRawBufferPointer) {
    precondition(end - place >= bytes.count, "the bytes were counted before")
    guard let from = bytes.baseAddress else { return }
    place.copyMemory(from: from, byteCount: bytes.count)
    place += bytes.count
  }

  @inline(__always)
  mutating func putText(_ text: String) {
    // The contiguous storage is tried first. String.withUTF8 mutates, so the compiler would copy the string. Only
    // bridged strings have no contiguous storage.
    let done: Void? = text.utf8.withContiguousStorageIfAvailable { putBytes(UnsafeRawBufferPointer($0)) }
    if done == nil { putBridged(text) }
  }

  @inline(never)
  private mutating func putBridged(_ text: String) {
    var text = text
    text.withUTF8 { putBytes(UnsafeRawBufferPointer($0)) }
  }
}

extension TaggedSink {
  /// Puts an object. Returns `false` if a value is nested too deep, as does ``put(_:depth:)``.
  mutating func putMembers(_ object: FieldObject, depth: Int) -> Bool {
    putCount(object.count)
    // A span, because an iterator would copy each member, which retains a name.
    let members = object.members.span
    for index in members.indices {
      putName(members[index].name)
      guard put(members[index].value, depth: depth + 1) else { return false }
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
      return put(object: object, depth: depth)
    }
    return true
  }

  /// Puts an object as a value.
  mutating func put(object: FieldObject, depth: Int) -> Bool {
    guard depth <= maximumDepth else { return false }
    put(.object)
    return putMembers(object, depth: depth)
  }

  /// Puts a text as a value.
  @inline(__always)
  mutating func put(_ text: String) {
    put(.string)
    putName(text)
  }

  @inline(__always)
  mutating func put(_ kind: Kind) { putNumber(kind.rawValue) }

  @inline(__always)
  mutating func putCount(_ count: Int) { putNumber(UInt32(truncatingIfNeeded: count)) }

  @inline(__always)
  mutating func putName(_ name: String) {
    putCount(name.utf8.count)
    putText(name)
  }
}

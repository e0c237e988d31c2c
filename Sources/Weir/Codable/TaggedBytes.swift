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
    var writer = TaggedBytes()
    return writer.putMembers(self, depth: 0) ? writer.bytes : nil
  }

  /// Decodes the bytes of ``taggedBytes()``. Trusts none of the bytes. Returns `nil` if they are not exactly one
  /// object.
  package init?(taggedBytes bytes: UnsafeRawBufferPointer) {
    var reader = PayloadReader(bytes)
    guard let object = try? reader.tagged() else { return nil }
    self = object
  }
}

/// Appends tagged values to memory that may be kept, in the format that ``EventEncoder/putTagged(_:depth:)`` writes
/// into a lane.
private struct TaggedBytes {
  var bytes: [UInt8] = []

  /// Returns `false` if a value is nested too deep, as do the methods below.
  mutating func putMembers(_ object: FieldObject, depth: Int) -> Bool {
    putNumber(UInt32(truncatingIfNeeded: object.count))
    for member in object {
      putCounted(member.name.utf8)
      guard put(member.value, depth: depth + 1) else { return false }
    }
    return true
  }

  private mutating func put(_ value: FieldValue, depth: Int) -> Bool {
    switch value {
    case .null:
      put(.null)
    case .bool(let value):
      put(.bool)
      bytes.append(value ? 1 : 0)
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
      put(.string)
      putCounted(value.utf8)
    case .bytes(let value):
      put(.bytes)
      putCounted(value)
    case .uuid(let value):
      put(.uuid)
      withUnsafeBytes(of: value.uuid) { bytes.append(contentsOf: $0) }
    case .date(let value):
      put(.date)
      putNumber(value.timeIntervalSinceReferenceDate.bitPattern)
    case .array(let values):
      guard depth <= maximumDepth else { return false }
      put(.array)
      putNumber(UInt32(truncatingIfNeeded: values.count))
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

  private mutating func put(_ kind: Kind) {
    bytes.append(kind.rawValue)
  }

  private mutating func putNumber(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }

  private mutating func putCounted(_ contents: some Collection<UInt8>) {
    putNumber(UInt32(truncatingIfNeeded: contents.count))
    bytes.append(contentsOf: contents)
  }
}

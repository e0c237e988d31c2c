// TaggedValues: writes values that carry their own kind: a byte for the kind, then the value, whose parts are tagged
// too.

import CCapture

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension EventEncoder {
  /// Puts the kind and the value. `depth` is the number of enclosing values, plus one for the value itself.
  mutating func putTagged(_ value: FieldValue, depth: Int) {
    func kind(_ kind: Kind) { weir_put_u8(&record, kind.rawValue) }
    switch value {
    case .null:
      kind(.null)
    case .bool(let value):
      kind(.bool)
      weir_put_u8(&record, value ? 1 : 0)
    case .int(let value):
      kind(.int64)
      weir_put_u64(&record, UInt64(bitPattern: value))
    case .uint(let value):
      kind(.uint64)
      weir_put_u64(&record, value)
    case .float(let value):
      kind(.float)
      weir_put_u32(&record, value.bitPattern)
    case .double(let value):
      kind(.double)
      weir_put_u64(&record, value.bitPattern)
    case .string(let value):
      kind(.string)
      putText(value)
    case .bytes(let value):
      kind(.bytes)
      value.withUnsafeBytes { putCounted($0) }
    case .uuid(let value):
      kind(.uuid)
      withUnsafeBytes(of: value.uuid) { weir_put_raw(&record, $0.baseAddress, 16) }
    case .date(let value):
      kind(.date)
      weir_put_u64(&record, value.timeIntervalSinceReferenceDate.bitPattern)
    case .array(let values):
      guard depth <= maximumDepth else { return spoil() }
      kind(.array)
      weir_put_u32(&record, UInt32(truncatingIfNeeded: values.count))
      for value in values { putTagged(value, depth: depth + 1) }
    case .object(let object):
      guard depth <= maximumDepth else { return spoil() }
      kind(.object)
      putTaggedMembers(object, depth: depth)
    }
  }

  /// Puts a tagged object without its kind.
  mutating func putTaggedMembers(_ object: FieldObject, depth: Int) {
    weir_put_u32(&record, UInt32(truncatingIfNeeded: object.count))
    for member in object {
      putText(member.name)
      putTagged(member.value, depth: depth + 1)
    }
  }
}

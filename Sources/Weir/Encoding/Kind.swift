// Kind: the numbers of the kinds in the file, and the signature that compares an event with its declaration.

public import CCapture

/// The numbers of the kinds in a log. FileFormat lists them. `weir.h` defines them too, but not in the part that
/// compiles into users' code. A test compares the two.
@usableFromInline
package enum Kind: UInt8, CaseIterable, Sendable {
  case null = 0
  case bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64
  case float, double, string, bytes, uuid, date
  case optional, array, object, any
}

/// The maximum nesting depth of values. Readers recurse into nested values, so the depth must be limited.
package let maximumDepth = 16

extension FieldKind {
  /// The kind's own number, without those of its parts.
  @inlinable
  package var kind: Kind {
    switch self {
    case .bool: .bool
    case .int8: .int8
    case .int16: .int16
    case .int32: .int32
    case .int64: .int64
    case .uint8: .uint8
    case .uint16: .uint16
    case .uint32: .uint32
    case .uint64: .uint64
    case .float: .float
    case .double: .double
    case .string: .string
    case .bytes: .bytes
    case .uuid: .uuid
    case .date: .date
    case .optional: .optional
    case .array: .array
    case .object: .object
    case .any: .any
    }
  }

  /// Returns a record's signature after this kind and the kinds within it, in the order of the descriptor in the file.
  @inlinable
  @inline(__always)
  func signature(after signature: UInt64) -> UInt64 {
    switch self {
    case .optional, .array, .object: nestedSignature(after: signature)
    default: Self.fold(kind, into: signature)
    }
  }

  @usableFromInline
  func nestedSignature(after signature: UInt64) -> UInt64 {
    let own = Self.fold(kind, into: signature)
    switch self {
    case .optional(let inner), .array(let inner): return inner.signature(after: own)
    case .object(let fields): return fields.reduce(own) { $1.kind.signature(after: $0) }
    default: return own
    }
  }

  @inlinable
  @inline(__always)
  static func fold(_ kind: Kind, into signature: UInt64) -> UInt64 {
    var record = weir_record()
    record.signature = signature
    weir_sign(&record, UInt64(kind.rawValue))
    return record.signature
  }
}

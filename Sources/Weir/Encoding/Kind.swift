// Kind: the numbers of the kinds of values in the file, and the signature that holds an encoder to its declaration.

public import CWeirCapture

/// The numbers of the kinds in a log, as FileFormat lists them. `weir.h` has them too, but not in the part that
/// compiles into users' code; a test compares the two.
@usableFromInline
enum Kind: UInt8, CaseIterable {
  case null = 0
  case bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64
  case float, double, string, bytes, uuid, date
  case optional, array, object, any
}

/// How deep values may nest. A limit, because readers follow the nesting with calls.
@usableFromInline
let maximumDepth = 16

extension FieldKind {
  /// The kind's own number, whatever it holds.
  @inlinable
  var kind: Kind {
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

  /// Folds the kind and those inside it into a record's signature, in the order of their descriptor in the file. A
  /// value that is put does it on its way; this is for values that are not there.
  @inlinable
  func sign(_ record: inout weir_record) {
    weir_sign(&record, UInt64(kind.rawValue))
    switch self {
    case .optional(let wrapped): wrapped.sign(&record)
    case .array(let element): element.sign(&record)
    case .object(let fields):
      for field in fields { field.kind.sign(&record) }
    default: break
    }
  }
}

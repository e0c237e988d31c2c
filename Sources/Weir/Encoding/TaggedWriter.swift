// TaggedWriter: what the encoders of one event share; writes the values whose types have a kind of their own, and lets
// all others encode themselves.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The buffer of an event, shared by its encoders.
///
/// The buffer lies behind a pointer that never changes: kept in the object itself, the language's checks for
/// overlapping access took a fifth of the whole time. The accesses can't overlap, for no code but the buffer's runs
/// within one.
final class TaggedWriter {
  let buffer: UnsafeMutablePointer<TaggedBuffer>

  init() {
    buffer = .allocate(capacity: 1)
    buffer.initialize(to: TaggedBuffer())
  }

  deinit {
    buffer.deinitialize(count: 1)
    buffer.deallocate()
  }

  /// Where a value goes.
  enum Place {
    /// It is the value of a frame that was opened for it.
    case frame(Int)
    /// It is the next value of an object (after its key) or an array (after its count).
    case member(of: Int)
  }

  /// Puts a value of one kind whose bytes `write` fills in.
  func put(_ kind: Kind, _ count: Int, at place: Place, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
    switch place {
    case .frame(let frame):
      buffer.pointee.shape(frame, as: kind)
      buffer.pointee.append(to: frame, count, write)
    case .member(let parent):
      buffer.pointee.append(to: parent, 1 + count) { bytes in
        bytes[0] = kind.rawValue
        write(UnsafeMutableRawBufferPointer(rebasing: bytes[1...]))
      }
    }
  }

  /// Encodes the next value of an object or an array.
  func encodeMember<T: Encodable>(_ value: T, of parent: Int, key: some CodingKey) throws {
    if putKnown(value, at: .member(of: parent)) { return }
    try encode(value, into: buffer.pointee.openFrame(in: parent, key: key))
  }

  /// Lets a value encode itself into a frame.
  func encode<T: Encodable>(_ value: T, into frame: Int) throws {
    do {
      try value.encode(to: TaggedEncoder(writer: self, frame: frame))
    } catch {
      // The code around may catch this and go on, but half of the value is written.
      buffer.pointee.fail("\(buffer.pointee.describe(frame)) could not be encoded: \(error)")
      throw error
    }
    // A value that encoded nothing is an object without fields, as JSONEncoder has it.
    if !buffer.pointee.frames[frame].isWritten { buffer.pointee.shape(frame, as: .object) }
  }

  /// Puts a value whose type has a kind of its own; answers whether it has. The types are compared, not cast to: that
  /// costs a nanosecond, a cast to a protocol a hundred.
  func putKnown<T>(_ value: T, at place: Place) -> Bool {
    // Each branch has just proved that T is the type that the bits are read as.
    func bits<Known>(_ type: Known.Type) -> Known { unsafeBitCast(value, to: type) }
    if T.self == String.self {
      putText(bits(String.self), at: place)
    } else if T.self == Int.self {
      put(.int64, Int64(bits(Int.self)), at: place)
    } else if T.self == Double.self {
      put(.double, bits(Double.self).bitPattern, at: place)
    } else if T.self == Bool.self {
      put(.bool, bits(Bool.self) ? 1 as UInt8 : 0, at: place)
    } else if T.self == UUID.self {
      withUnsafeBytes(of: bits(UUID.self).uuid) { uuid in put(.uuid, 16, at: place) { $0.copyMemory(from: uuid) } }
    } else if T.self == Date.self {
      put(.date, bits(Date.self).timeIntervalSinceReferenceDate.bitPattern, at: place)
    } else if T.self == Data.self {
      bits(Data.self).withUnsafeBytes { putCounted(.bytes, $0, at: place) }
    } else if T.self == [UInt8].self {
      bits([UInt8].self).withUnsafeBytes { putCounted(.bytes, $0, at: place) }
    } else {
      return putKnownNumber(value, at: place)
    }
    return true
  }

  private func putKnownNumber<T>(_ value: T, at place: Place) -> Bool {
    func bits<Known>(_ type: Known.Type) -> Known { unsafeBitCast(value, to: type) }
    if T.self == Int64.self {
      put(.int64, bits(Int64.self), at: place)
    } else if T.self == Int32.self {
      put(.int32, bits(Int32.self), at: place)
    } else if T.self == Int16.self {
      put(.int16, bits(Int16.self), at: place)
    } else if T.self == Int8.self {
      put(.int8, bits(Int8.self), at: place)
    } else if T.self == UInt.self {
      put(.uint64, UInt64(bits(UInt.self)), at: place)
    } else if T.self == UInt64.self {
      put(.uint64, bits(UInt64.self), at: place)
    } else if T.self == UInt32.self {
      put(.uint32, bits(UInt32.self), at: place)
    } else if T.self == UInt16.self {
      put(.uint16, bits(UInt16.self), at: place)
    } else if T.self == UInt8.self {
      put(.uint8, bits(UInt8.self), at: place)
    } else if T.self == Float.self {
      put(.float, bits(Float.self).bitPattern, at: place)
    } else {
      return false
    }
    return true
  }

  private func put<Number: FixedWidthInteger & BitwiseCopyable>(_ kind: Kind, _ number: Number, at place: Place) {
    put(kind, MemoryLayout<Number>.size, at: place) { $0.storeBytes(of: number.littleEndian, as: Number.self) }
  }

  private func putText(_ text: String, at place: Place) {
    var text = text
    text.withUTF8 { putCounted(.string, UnsafeRawBufferPointer($0), at: place) }
  }

  private func putCounted(_ kind: Kind, _ bytes: UnsafeRawBufferPointer, at place: Place) {
    put(kind, 4 + bytes.count, at: place) { room in
      room.storeBytes(of: UInt32(truncatingIfNeeded: bytes.count).littleEndian, as: UInt32.self)
      UnsafeMutableRawBufferPointer(rebasing: room[4...]).copyMemory(from: bytes)
    }
  }
}

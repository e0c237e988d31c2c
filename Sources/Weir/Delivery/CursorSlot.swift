// CursorSlot: how far a follower of a log has come, as 512 bytes of a cursor's file.
//
//      0  8   magic "WEIRCURS"
//      8  4   version, 1
//     12  4   CRC32C of the slot but for these four bytes
//     16  8   sequence: one more than that of the slot written before, from 1
//     24  8   offset: everything below it is done
//     32  8   opening  } the id of the event before it, zeros if there is none: tells whether
//     40  8   sequence } the log still has the events that were done
//     48  8   certain: every event below it was on the disk when the slot was written, so no power cut takes it
//     56 456  zero
//
// Numbers are little-endian. A slot counts if and only if it has the magic, the checksum is right, the version is 1,
// the sequence is not 0, `certain` is not above `offset`, and what is to be zero is.

/// How far a follower of a log has come.
struct CursorPosition: Hashable, Sendable {
  /// Everything below it is done.
  var offset: Offset = 0
  /// The id of the last event that was done; nil if there was none.
  var last: EventID?
  /// What is below it, and at most ``offset``, was on the disk: no power cut takes it.
  var certain: Offset = 0
}

/// A position and its number among those that were written.
struct CursorSlot: Hashable, Sendable {
  static let byteCount = 512
  static let version: UInt32 = 1
  private static let magic = UInt64(littleEndian: 0x5352_5543_5249_4557)
  private static let crcPlace = 12..<16
  private static let used = 56

  var sequence: UInt64
  var position: CursorPosition

  /// What bytes on the disk are.
  enum Reading: Hashable {
    case slot(CursorSlot)
    /// Of a version that this one does not know.
    case newer(UInt32)
    case damaged
  }

  var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    func put<Number: FixedWidthInteger>(_ number: Number, at place: Int) {
      bytes.withUnsafeMutableBytes { $0.storeBytes(of: number.littleEndian, toByteOffset: place, as: Number.self) }
    }
    put(Self.magic, at: 0)
    put(Self.version, at: 8)
    put(sequence, at: 16)
    put(position.offset, at: 24)
    put(position.last?.opening ?? 0, at: 32)
    put(position.last?.sequence ?? 0, at: 40)
    put(position.certain, at: 48)
    put(Self.checksum(of: bytes), at: Self.crcPlace.lowerBound)
    return bytes
  }

  static func read(_ bytes: [UInt8]) -> Reading {
    guard bytes.count == byteCount else { return .damaged }
    func get<Number: FixedWidthInteger>(_ place: Int, as type: Number.Type) -> Number {
      bytes.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: place, as: type)) }
    }
    // The checksum before the version: no flipped bit makes a slot that of a newer one.
    guard get(0, as: UInt64.self) == magic, get(crcPlace.lowerBound, as: UInt32.self) == checksum(of: bytes) else {
      return .damaged
    }
    let version = get(8, as: UInt32.self)
    guard version <= Self.version else { return .newer(version) }
    let id = EventID(opening: get(32, as: UInt64.self), sequence: get(40, as: UInt64.self))
    let hasID = id.opening != 0 || id.sequence != 0
    let position = CursorPosition(
      offset: get(24, as: UInt64.self), last: hasID ? id : nil, certain: get(48, as: UInt64.self))
    let slot = CursorSlot(sequence: get(16, as: UInt64.self), position: position)
    guard version == Self.version, slot.sequence > 0, position.certain <= position.offset,
      bytes[used...].allSatisfy({ $0 == 0 })
    else { return .damaged }
    return .slot(slot)
  }

  private static func checksum(of bytes: [UInt8]) -> UInt32 {
    var covered = bytes
    covered.removeSubrange(crcPlace)
    return covered.withUnsafeBytes { crc32c($0) }
  }
}

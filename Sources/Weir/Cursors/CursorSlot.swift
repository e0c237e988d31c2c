// CursorSlot: the position of a log's follower, as 512 bytes of a cursor's file.
//
//      0  8   magic "WEIRCURS"
//      8  4   version, 1 to 3
//     12  4   CRC32C of the slot without these four bytes
//     16  8   sequence: the sequence of the previously written slot plus 1, starting at 1
//     24  8   offset: everything below it is done
//     32  8   opening  } the id of the event before `offset` (version 2: of the last event below `offset`), zeros if
//     40  8   sequence } there is none: shows whether the log still has the events that were done
//     48  8   certain: every event below it was on disk when the slot was written, so it survives a power cut
//
// Version 1, for followers that count nothing:
//     56 456  zero
//
// Version 2, for followers that deliver, with the outcome of the events from `from` to `offset`:
//     56  8   from: the first offset to deliver, at most `offset`
//     64  8   baseline: events that the log had accepted below `from`
//     72  8   accepted events that were overwritten before they had an offset, when the delivery began
//     80  8   acknowledged
//     88  8   rejected
//     96  8   removed
//    104  8   damaged
//    112  8   withheld
//    120  8   restarts: how often the counts began again because the log was a different one
//    128  8   association: the offset of the last change of the default user plus 1, 0 if there is none
//    136  8   last: the offset of the event whose id is above plus 1, 0 if there is none
//    144  8   accepted events that were damaged before they had an offset, when the delivery began
//    152 360  zero
//
// Version 3, for followers that deliver and were rewound; the fields of version 2, and:
//    152  8   rewinds: how often the counts began again because somebody rewound the follower, at least 1
//    160  8   rewound: the offset before the last rewind
//    168  8   origin: the first offset that was ever to be delivered
//    176 336  zero
//
// Numbers are little-endian. A slot is valid if and only if it has the magic, the checksum is right, the version is 1
// to 3, the sequence is not 0, `certain`, `from`, `association` and `last` are at most `offset`, no event is named if
// `offset` is 0, `rewinds` is at least 1 in version 3, and the bytes that must be zero are.

/// The position of a log's follower.
package struct CursorPosition: Hashable, Sendable {
  /// Everything below this offset is done.
  package var offset: Offset = 0
  /// The id of the last event that was done; `nil` if there was none.
  package var last: EventID?
  /// Everything below this offset, which is at most ``offset``, was on disk, and survives a power cut.
  package var certain: Offset = 0
  /// The outcome of the events; `nil` for a follower that does not deliver.
  package var counts: DeliveryCounts?
  /// The offset of the last change of the default user below ``offset``; `nil` if there was none.
  package var association: Offset?
  /// The offset of ``last``; `nil` if there was none, or if it is ``offset`` - 1.
  package var lastOffset: Offset?

  package init(
    offset: Offset = 0, last: EventID? = nil, certain: Offset = 0, counts: DeliveryCounts? = nil,
    association: Offset? = nil, lastOffset: Offset? = nil
  ) {
    self.offset = offset
    self.last = last
    self.certain = certain
    self.counts = counts
    self.association = association
    self.lastOffset = lastOffset
  }
}

/// A position and its sequence number.
package struct CursorSlot: Hashable, Sendable {
  package static let byteCount = 512
  /// The newest known version.
  package static let version: UInt32 = 3
  private static let magic = UInt64(littleEndian: 0x5352_5543_5249_4557)
  private static let crcPlace = 12..<16
  private static let countsPlace = 56
  private static let associationPlace = 128
  private static let lastPlace = 136
  private static let inHolesPlace = 144
  private static let countFields: [any WritableKeyPath<DeliveryCounts, UInt64> & Sendable] = [
    \.from, \.baseline, \.overwrittenBaseline, \.acknowledged, \.rejected, \.removed, \.damaged, \.withheld, \.restarts,
  ]

  private static let rewindFields: [any WritableKeyPath<DeliveryCounts, UInt64> & Sendable] = [
    \.rewinds, \.rewound, \.origin,
  ]
  private static let rewindPlace = 152

  /// The position of the first byte that must be zero.
  private static func used(_ version: UInt32) -> Int {
    switch version {
    case 1: countsPlace
    case 2: rewindPlace
    default: rewindPlace + 8 * rewindFields.count
    }
  }

  /// The oldest version that has the position's fields, so that older libraries read the slot if they can.
  private static func version(of position: CursorPosition) -> UInt32 {
    guard let counts = position.counts else { return 1 }
    return counts.rewinds == 0 ? 2 : 3
  }

  package var sequence: UInt64
  package var position: CursorPosition

  package init(sequence: UInt64, position: CursorPosition) {
    self.sequence = sequence
    self.position = position
  }

  /// The result of parsing a slot.
  package enum Reading: Hashable {
    case slot(CursorSlot)
    /// The slot has a newer version than this library knows.
    case newer(UInt32)
    case damaged
  }

  package var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    func put<Number: FixedWidthInteger>(_ number: Number, at place: Int) {
      bytes.withUnsafeMutableBytes { $0.storeBytes(of: number.littleEndian, toByteOffset: place, as: Number.self) }
    }
    put(Self.magic, at: 0)
    put(Self.version(of: position), at: 8)
    put(sequence, at: 16)
    put(position.offset, at: 24)
    put(position.last?.opening ?? 0, at: 32)
    put(position.last?.sequence ?? 0, at: 40)
    put(position.certain, at: 48)
    if let counts = position.counts {
      for (index, field) in Self.countFields.enumerated() {
        put(counts[keyPath: field], at: Self.countsPlace + 8 * index)
      }
      put(position.association.map { $0 + 1 } ?? 0, at: Self.associationPlace)
      put(position.lastOffset.map { $0 + 1 } ?? 0, at: Self.lastPlace)
      put(counts.inHolesBaseline, at: Self.inHolesPlace)
      for (index, field) in Self.rewindFields.enumerated() where counts.rewinds > 0 {
        put(counts[keyPath: field], at: Self.rewindPlace + 8 * index)
      }
    }
    put(Self.checksum(of: bytes), at: Self.crcPlace.lowerBound)
    return bytes
  }

  package static func read(_ bytes: [UInt8]) -> Reading {
    guard bytes.count == byteCount else { return .damaged }
    func get<Number: FixedWidthInteger>(_ place: Int, as type: Number.Type) -> Number {
      bytes.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: place, as: type)) }
    }
    // The checksum is checked before the version, so that a flipped bit does not make a slot look newer.
    guard get(0, as: UInt64.self) == magic, get(crcPlace.lowerBound, as: UInt32.self) == checksum(of: bytes) else {
      return .damaged
    }
    let version = get(8, as: UInt32.self)
    guard version <= Self.version else { return .newer(version) }
    let id = EventID(opening: get(32, as: UInt64.self), sequence: get(40, as: UInt64.self))
    let hasID = id.opening != 0 || id.sequence != 0
    var position = CursorPosition(
      offset: get(24, as: UInt64.self), last: hasID ? id : nil, certain: get(48, as: UInt64.self))
    if version >= 2 {
      var counts = DeliveryCounts()
      for (index, field) in countFields.enumerated() {
        counts[keyPath: field] = get(countsPlace + 8 * index, as: UInt64.self)
      }
      counts.inHolesBaseline = get(inHolesPlace, as: UInt64.self)
      if version >= 3 {
        for (index, field) in rewindFields.enumerated() {
          counts[keyPath: field] = get(rewindPlace + 8 * index, as: UInt64.self)
        }
      }
      position.counts = counts
      let association = get(associationPlace, as: UInt64.self)
      position.association = association > 0 ? association - 1 : nil
      let last = get(lastPlace, as: UInt64.self)
      position.lastOffset = last > 0 ? last - 1 : nil
    }
    let slot = CursorSlot(sequence: get(16, as: UInt64.self), position: position)
    guard version >= 1, version < 3 || position.counts?.rewinds ?? 0 > 0, slot.sequence > 0,
      position.certain <= position.offset,
      position.counts?.from ?? 0 <= position.offset, position.association.map({ $0 < position.offset }) ?? true,
      position.lastOffset.map({ $0 < position.offset }) ?? true, !hasID || position.offset > 0,
      bytes[used(version)...].allSatisfy({ $0 == 0 })
    else { return .damaged }
    return .slot(slot)
  }

  private static func checksum(of bytes: [UInt8]) -> UInt32 {
    var covered = bytes
    covered.removeSubrange(crcPlace)
    return covered.withUnsafeBytes { crc32c($0) }
  }
}

// The out-of-line parts of a capture: those for bound scopes and for sampled types.

public import CCapture
import Synchronization

extension Tracker {
  /// Tells captures to look for a bound scope. Must be called before the first scope is bound. Until then, captures
  /// only load one flag.
  static func willBindScopes() {
    weir_bind_scopes()
  }

  /// The memory of the scope that is bound here, or `nil`. The memory is valid until the capture ends. See
  /// ``EncodedScope``.
  @usableFromInline
  @inline(never)
  func scopeHere() -> UnsafeRawPointer? { boundScope.get().address }

  /// Publishes an event together with the bound scope. Inlined, so that the record stays in registers.
  @inline(__always)
  static func commit(_ record: inout weir_record, _ type: UInt32, _ scope: UnsafeRawPointer?) -> Receipt {
    guard let scope else { return publish(&record, type) }
    putEnding(&record, scope + ScopeHeader.bytes, scope.load(as: ScopeHeader.self).count)
    return publish(&record, type | WEIR_SCOPED)
  }

  /// Does what `weir_put_scope` does: appends bytes that end with their count. Copies four words at a time. Taking the
  /// time, which follows, waits for these stores, and a loop of single words takes 2 ns longer.
  @inline(__always)
  private static func putEnding(_ record: inout weir_record, _ bytes: UnsafeRawPointer, _ count: Int) {
    guard let cursor = record.cursor, record.end - cursor >= count else {
      record.end = record.start
      return
    }
    var from = bytes
    var to = UnsafeMutableRawPointer(cursor)
    var crc = record.checksum
    @inline(__always)
    func put<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type, _ fold: (UInt64, Number) -> UInt64) {
      let number = from.loadUnaligned(as: Number.self)
      to.storeBytes(of: number, as: Number.self)
      crc = fold(crc, number)
      from += MemoryLayout<Number>.size
      to += MemoryLayout<Number>.size
    }
    for _ in 0..<count / 32 {
      put(UInt64.self, weir_crc_u64)
      put(UInt64.self, weir_crc_u64)
      put(UInt64.self, weir_crc_u64)
      put(UInt64.self, weir_crc_u64)
    }
    if count & 16 != 0 {
      put(UInt64.self, weir_crc_u64)
      put(UInt64.self, weir_crc_u64)
    }
    if count & 8 != 0 { put(UInt64.self, weir_crc_u64) }
    if count & 4 != 0 { put(UInt32.self, weir_crc_u32) }
    if count & 2 != 0 { put(UInt16.self, weir_crc_u16) }
    if count & 1 != 0 { put(UInt8.self, weir_crc_u8) }
    record.checksum = crc
    record.cursor = cursor + count
  }

  /// The sampling key of the event's user, or 0.
  func userKey(_ scope: UnsafeRawPointer?) -> UInt64 {
    if let header = scope?.load(as: ScopeHeader.self), header.bindsUser { return header.userKey }
    return defaultUserKey.load(ordering: .relaxed)
  }

  /// Publishes an event of a sampled type, or leaves the event out.
  func commitSampled<E: Event>(
    _ record: weir_record, _ number: UInt32, _ sampler: Sampler, _ scope: UnsafeRawPointer?, of type: E.Type,
    name: () -> String
  ) -> Receipt {
    var record = record
    guard
      sampler.keeps(record, userKey: userKey(scope), number: number, of: ObjectIdentifier(type), name: name)
    else {
      return .refused(weir_refuse(&record, Int32(WEIR_DROP_SAMPLED)))
    }
    return Self.commit(&record, number, scope)
  }
}

/// One half of a record. Swift passes structures of up to four words in registers, and larger structures in memory.
/// Memory that is written word by word and read back in larger pieces stalls the processor, for 5 ns of a 10 ns
/// capture.
@usableFromInline
struct RecordPlace {
  @usableFromInline let start: UnsafeMutablePointer<UInt8>?
  @usableFromInline let cursor: UnsafeMutablePointer<UInt8>?
  @usableFromInline let end: UnsafeMutablePointer<UInt8>?
  @usableFromInline let lane: UnsafeMutablePointer<weir_lane>?

  @inlinable
  @inline(__always)
  init(_ record: weir_record) {
    start = record.start
    cursor = record.cursor
    end = record.end
    lane = record.lane
  }
}

/// The other half of a record.
@usableFromInline
struct RecordState {
  @usableFromInline let tail: UnsafeMutablePointer<UInt64>?
  @usableFromInline let position: UInt64
  @usableFromInline let checksum: UInt64
  @usableFromInline let signature: UInt64

  @inlinable
  @inline(__always)
  init(_ record: weir_record) {
    tail = record.tail
    position = record.position
    checksum = record.checksum
    signature = record.signature
  }
}

extension weir_record {
  @inline(__always)
  init(_ place: RecordPlace, _ state: RecordState) {
    self.init(
      start: place.start, cursor: place.cursor, end: place.end, lane: place.lane, tail: state.tail,
      position: state.position, checksum: state.checksum, signature: state.signature)
  }
}

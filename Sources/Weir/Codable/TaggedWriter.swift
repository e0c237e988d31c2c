// TaggedWriter: the state that the encoders of one event share. Writes values whose types have a kind, and lets all
// other values encode themselves.

import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The state that a thread keeps from event to event: the buffer, and the bookkeeping of its users.
struct WriterState: ~Copyable {
  var buffer = TaggedBuffer()

  /// The number of the event being encoded. Atomic because another thread may use an encoder that was kept, and must
  /// see that the event has ended.
  let event = Atomic<UInt64>(1)

  /// Whether a thread is encoding an event with this state. A thread encodes one event at a time.
  var isInUse = false

  /// The size of the last event's fields, in bytes.
  var lastBytes = 0
}

/// Owns the memory of a writer. Every encoder and container refers to it, so that one kept by the user's code never
/// writes to freed memory.
final class WriterMemory {
  let writer: TaggedWriter

  init() {
    writer = TaggedWriter(state: .allocate(capacity: 1))
    writer.state.initialize(to: WriterState())
  }

  deinit {
    writer.state.deinitialize(count: 1)
    writer.state.deallocate()
  }
}

/// Writes the values of one event.
///
/// A plain pointer, valid while its ``WriterMemory`` is retained. References would take half of the total time: copying
/// a reference is an atomic operation, and the language checks properties of objects for overlapping access. Accesses
/// can't overlap here, because only the buffer's code runs within an access.
struct TaggedWriter {
  let state: UnsafeMutablePointer<WriterState>

  /// Ends the event. Encoders and containers that the user's code still holds write nothing from now on.
  func end() {
    let event = state.pointee.event.load(ordering: .relaxed)
    state.pointee.event.store(event &+ 1, ordering: .relaxed)
  }

  /// The place of a value.
  enum Place {
    /// The value of a frame that was opened for it.
    case frame(Int)
    /// The next value of an object, with its key.
    case member(of: Int, String)
    /// The next value of an array.
    case element(of: Int)
  }

  // MARK: Values

  /// Encodes a value of any type.
  func encode<T: Encodable>(_ value: T, at place: Place, key: some CodingKey, of memory: WriterMemory) throws {
    if putKnown(value, at: place) { return }
    try encode(value, into: open(place, key), of: memory)
  }

  /// Lets a value encode itself into a frame. Does nothing once the event is refused: otherwise a value with endless
  /// nesting would overflow the stack.
  func encode<T: Encodable>(_ value: T, into frame: Int, of memory: WriterMemory) throws {
    guard state.pointee.buffer.isOpen else { return }
    do {
      try value.encode(to: TaggedEncoder(target: TaggedTarget(memory, frame)))
    } catch {
      // The calling code may catch this error and continue, but half of the value is written.
      state.pointee.buffer.fail("\(state.pointee.buffer.describe(frame)) could not be encoded: \(error)")
      throw error
    }
    // As in JSONEncoder, a value that encoded nothing becomes an object without fields.
    if !state.pointee.buffer[frame].isWritten { state.pointee.buffer.shape(frame, as: .object) }
  }

  /// Opens a frame for the next value of an object or an array.
  func open(_ place: Place, _ key: some CodingKey) -> Int {
    switch place {
    case .frame(let frame):
      return frame
    case .member(let parent, let name):
      state.pointee.buffer.member(name, 1, of: parent)?.storeBytes(of: Kind.null.rawValue, as: UInt8.self)
      return state.pointee.buffer.openFrame(in: parent, key: key)
    case .element(let parent):
      state.pointee.buffer.element(1, of: parent)?.storeBytes(of: Kind.null.rawValue, as: UInt8.self)
      return state.pointee.buffer.openFrame(in: parent, key: key)
    }
  }

  /// Puts a value's kind, and returns room for `count` bytes of the value. Returns `nil` if nothing more will be
  /// written.
  @inline(__always)
  func put(_ kind: Kind, _ count: Int, at place: Place) -> UnsafeMutableRawPointer? {
    let room: UnsafeMutableRawPointer?
    switch place {
    case .frame(let frame): return state.pointee.buffer.scalar(kind, count, in: frame)
    case .member(let parent, let name): room = state.pointee.buffer.member(name, 1 + count, of: parent)
    case .element(let parent): room = state.pointee.buffer.element(1 + count, of: parent)
    }
    guard let room else { return nil }
    room.storeBytes(of: kind.rawValue, as: UInt8.self)
    return room + 1
  }

  @inline(__always)
  func put<Number: FixedWidthInteger & BitwiseCopyable>(_ kind: Kind, _ number: Number, at place: Place) {
    put(kind, MemoryLayout<Number>.size, at: place)?.storeBytes(of: number.littleEndian, as: Number.self)
  }

  func putText(_ text: String, at place: Place) {
    let done: Void? = text.utf8.withContiguousStorageIfAvailable {
      putCounted(.string, UnsafeRawBufferPointer($0), at: place)
    }
    if done != nil { return }
    var text = text
    text.withUTF8 { putCounted(.string, UnsafeRawBufferPointer($0), at: place) }
  }

  func putCounted(_ kind: Kind, _ bytes: UnsafeRawBufferPointer, at place: Place) {
    guard let room = put(kind, 4 + bytes.count, at: place) else { return }
    room.storeBytes(of: UInt32(truncatingIfNeeded: bytes.count).littleEndian, as: UInt32.self)
    if let from = bytes.baseAddress { (room + 4).copyMemory(from: from, byteCount: bytes.count) }
  }

  /// Puts a value whose type has a kind of its own. Returns `false` for any other type. The types are compared instead
  /// of cast: a comparison costs a nanosecond, a cast to a protocol a hundred.
  func putKnown<T>(_ value: T, at place: Place) -> Bool {
    // Each branch below has established that T is the type that the bits are read as.
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
      put(.uuid, 16, at: place)?.storeBytes(of: bits(UUID.self).uuid, as: uuid_t.self)
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
      return putConverted(value, at: place)
    }
    return true
  }

  /// Puts a value whose type is stored as a value of another type, instead of the parts that it would encode.
  private func putConverted<T>(_ value: T, at place: Place) -> Bool {
    func bits<Known>(_ type: Known.Type) -> Known { unsafeBitCast(value, to: type) }
    if T.self == URL.self {
      putText(bits(URL.self).absoluteString, at: place)
    } else if T.self == Decimal.self {
      putText(bits(Decimal.self).description, at: place)
    } else if T.self == Duration.self {
      put(.double, bits(Duration.self).inSeconds.bitPattern, at: place)
    } else {
      return false
    }
    return true
  }
}

/// The frame of an event that an encoder or a container writes to.
///
/// Three words, so that an `any Encoder` stores it inline.
struct TaggedTarget {
  let memory: WriterMemory
  let frame: Int
  /// The number of the event.
  private let event: UInt64

  init(_ memory: WriterMemory, _ frame: Int) {
    self.memory = memory
    self.frame = frame
    event = memory.writer.state.pointee.event.load(ordering: .relaxed)
  }

  /// Creates a target that has ended, for encoders and containers of an event that has ended.
  init(overAs other: TaggedTarget) {
    memory = other.memory
    frame = 0
    event = 0  // events are counted from 1
  }

  @inline(__always)
  var writer: TaggedWriter { memory.writer }

  /// Whether the event is still being encoded. Once it has ended, its encoders write nothing.
  @inline(__always)
  var isLive: Bool { event == writer.state.pointee.event.load(ordering: .relaxed) }

  /// The buffer of the event.
  @inline(__always)
  var buffer: TaggedBuffer {
    _read { yield writer.state.pointee.buffer }
    nonmutating _modify { yield &writer.state.pointee.buffer }
  }

  var path: [any CodingKey] { isLive ? buffer.path(of: frame) : [] }

  /// Returns a keyed container for a frame of the same event.
  func container<Key: CodingKey>(_ type: Key.Type, _ frame: Int) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(TaggedKeyedContainer<Key>(target: TaggedTarget(memory, frame)))
  }
}

// TaggedWriter: what the encoders of one event share; writes the values whose types have a kind of their own, and lets
// all others encode themselves.

import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a thread keeps from one event to the next: the buffer, and what is handed out to fill it.
struct WriterState: ~Copyable {
  var buffer = TaggedBuffer()

  /// The number of the event that is being encoded. Atomic for the sake of an encoder that was kept and is used by
  /// another thread: it sees that its event is over.
  let event = Atomic<UInt64>(1)

  /// A thread encodes one event at a time with it.
  var isInUse = false

  /// The size of the last event's fields.
  var lastBytes = 0
}

/// Owns the memory of a writer. Everything handed out refers to it, so that what the user's code keeps never writes to
/// memory that is gone.
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
/// A bare pointer, to be used while something holds its ``WriterMemory``: references cost an atomic operation to copy,
/// and the language checks their properties for overlapping access, which together took half of the whole time. The
/// accesses can't overlap, for no code but the buffer's runs within one.
struct TaggedWriter {
  let state: UnsafeMutablePointer<WriterState>

  /// Ends the event. Encoders and containers that the user's code still holds write nothing any more.
  func end() {
    let event = state.pointee.event.load(ordering: .relaxed)
    state.pointee.event.store(event &+ 1, ordering: .relaxed)
  }

  /// Where a value goes.
  enum Place {
    /// It is the value of a frame that was opened for it.
    case frame(Int)
    /// It is the next value of an object, with its key, or of an array.
    case member(of: Int, String)
    case element(of: Int)
  }

  // MARK: Values

  /// Encodes a value of any type.
  func encode<T: Encodable>(_ value: T, at place: Place, key: some CodingKey, of memory: WriterMemory) throws {
    if putKnown(value, at: place) { return }
    try encode(value, into: open(place, key), of: memory)
  }

  /// Lets a value encode itself into a frame; not any more once the event is refused, or a value that is nested without
  /// end would use up the stack.
  func encode<T: Encodable>(_ value: T, into frame: Int, of memory: WriterMemory) throws {
    guard state.pointee.buffer.isOpen else { return }
    do {
      try value.encode(to: TaggedEncoder(target: TaggedTarget(memory, frame)))
    } catch {
      // The code around may catch this and go on, but half of the value is written.
      state.pointee.buffer.fail("\(state.pointee.buffer.describe(frame)) could not be encoded: \(error)")
      throw error
    }
    // A value that encoded nothing is an object without fields, as JSONEncoder has it.
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

  /// Puts a value's kind, and answers room for so many bytes of the value. Nil if nothing more is to be written.
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

  /// The types that are stored as a value of another one, in the place of the parts that they would encode.
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

/// What an encoder or a container writes to: a frame of an event.
///
/// Three words, so that an `any Encoder` holds it without a box.
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

  /// A target that is over for ever, for what is handed out once its event is over.
  init(overAs other: TaggedTarget) {
    memory = other.memory
    frame = 0
    event = 0  // events are counted from 1
  }

  @inline(__always)
  var writer: TaggedWriter { memory.writer }

  /// The event is still being encoded. Once it is over, what its encoders are told goes nowhere.
  @inline(__always)
  var isLive: Bool { event == writer.state.pointee.event.load(ordering: .relaxed) }

  /// The buffer of the event.
  @inline(__always)
  var buffer: TaggedBuffer {
    _read { yield writer.state.pointee.buffer }
    nonmutating _modify { yield &writer.state.pointee.buffer }
  }

  var path: [any CodingKey] { isLive ? buffer.path(of: frame) : [] }

  /// A keyed container of a frame of the same event.
  func container<Key: CodingKey>(_ type: Key.Type, _ frame: Int) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(TaggedKeyedContainer<Key>(target: TaggedTarget(memory, frame)))
  }
}

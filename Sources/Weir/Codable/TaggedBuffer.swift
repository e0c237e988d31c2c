// TaggedBuffer: builds a tagged object in memory from calls in any order, for the events of Codable types.
//
// An Encoder hands out containers that may be filled in any order and interleaved. The numbers of their values are
// known only at the end. A lane's checksum includes bytes as they are written, so nothing in a lane can be changed
// afterwards. Therefore the object is built in a buffer, which a thread keeps from event to event, and then copied into
// the lane.

/// A buffer with frames, which are values that may still grow.
///
/// Invariants: every frame holds at least the byte of its kind, so no two frames begin at the same place. A frame lies
/// within its parent. Two frames of which neither is the other's ancestor don't overlap.
struct TaggedBuffer: ~Copyable {
  /// A value that may still grow.
  struct Frame {
    /// The position of the kind's byte, and the position after the last byte.
    var start: Int
    var end: Int
    let parent: Int
    let depth: Int
    /// The number of values of an object or array.
    var count: UInt32 = 0
    var kind = Kind.null
    /// Whether an Encoder asked for a container for this value, as the compiler's code for an enum's case does.
    var isNestedContainer = false
    /// Whether a value was given, `null` included.
    var isWritten = false
  }

  /// Allocated by hand: the safety checks of arrays took a tenth of the total time.
  private var frames: UnsafeMutablePointer<Frame>
  private var frameCapacity = 16
  private var frameCount = 0
  /// The keys of the frames. Frame 0, the event, has no key.
  private var keys: UnsafeMutablePointer<any CodingKey>
  private var memory: UnsafeMutableRawPointer
  private var capacity = 1024
  private var used = 0

  /// The number of bytes after which nothing more is written, because the event is too large.
  private var limit = 0
  /// The number of bytes up to which a value is written without a further check. Limited by the capacity and by
  /// `limit`; 0 once nothing more will be written.
  private var bound = 0
  private(set) var isTooLarge = false

  /// The first reason why the event can't be written, if any.
  private(set) var failure: String?

  /// Whether everything so far was written. If not, nothing more is written, and the event is refused.
  var isGood: Bool { failure == nil && !isTooLarge }

  /// The same as ``isGood``, at lower cost.
  var isOpen: Bool { bound > 0 }

  /// The frame whose values become the event's fields; `nil` if the value itself becomes a field.
  var fieldsFrame: Int?

  /// Whether a field of an enum's case has no label.
  private(set) var hasUnlabelledField = false

  init() {
    frames = .allocate(capacity: frameCapacity)
    keys = .allocate(capacity: frameCapacity)
    memory = .allocate(byteCount: capacity, alignment: 8)
  }

  deinit {
    (keys + 1).deinitialize(count: max(frameCount, 1) - 1)
    keys.deallocate()
    frames.deallocate()
    memory.deallocate()
  }

  subscript(frame: Int) -> Frame { frames[frame] }

  /// Empties the buffer and opens frame 0, the event itself.
  mutating func start(limit: Int) {
    forgetKeys()
    self.limit = limit
    bound = min(limit, capacity)
    isTooLarge = false
    if failure != nil { failure = nil }
    hasUnlabelledField = false
    memory.storeBytes(of: Kind.null.rawValue, as: UInt8.self)
    used = 1
    frames.initialize(to: Frame(start: 0, end: 1, parent: -1, depth: 0))
    frameCount = 1
  }

  private mutating func forgetKeys() {
    while frameCount > 1 {
      frameCount -= 1
      (keys + frameCount).deinitialize(count: 1)
    }
  }

  /// The frame of an enum's case: a nested container that is the only value. `nil` if the event does not look like a
  /// case.
  var caseFrame: Int? {
    guard frameCount > 1, frames[0].kind == .object, frames[0].count == 1 else { return nil }
    return frames[1].isNestedContainer && frames[1].parent == 0 && frames[1].kind == .object ? 1 : nil
  }

  /// The name of the case in UTF-8, which is the key of the only value of frame 0. Valid until the next write.
  var caseName: UnsafeRawBufferPointer {
    let keyStart = frames[0].start + 1 + 4 + 4
    return UnsafeRawBufferPointer(start: memory + keyStart, count: frames[1].start - keyStart)
  }

  var caseKey: String { String(decoding: caseName, as: UTF8.self) }

  /// Whether the event is a case of an enum.
  var isCase: Bool { fieldsFrame != nil && fieldsFrame == caseFrame }

  /// Returns the bytes of a frame after the kind's byte. Valid until the next write.
  func contents(of frame: Int) -> UnsafeRawBufferPointer {
    let start = frames[frame].start + 1
    return UnsafeRawBufferPointer(start: memory + start, count: frames[frame].end - start)
  }

  /// Returns the bytes of a frame, including the kind's byte. Valid until the next write.
  func value(of frame: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory + frames[frame].start, count: frames[frame].end - frames[frame].start)
  }

  mutating func fail(_ reason: String) {
    if failure == nil { failure = reason }
    bound = 0
  }

  /// Not inlined, and neither is the code that makes the text.
  @inline(never)
  private mutating func fail(_ frame: Int, _ reason: @autoclosure () -> String) {
    fail("\(describe(frame)) \(reason())")
  }

  /// Returns the keys from the event down to a frame.
  func path(of frame: Int) -> [any CodingKey] {
    var path: [any CodingKey] = []
    var at = frame
    while at > 0 {
      path.append(keys[at])
      at = frames[at].parent
    }
    return path.reversed()
  }

  func describe(_ frame: Int) -> String {
    let path = path(of: frame).map(\.stringValue).joined(separator: ".")
    return path.isEmpty ? "the event" : "field \(path)"
  }
}

// MARK: Writing

extension TaggedBuffer {
  /// Makes a frame an object, an array or a scalar. A frame never changes its kind afterwards.
  mutating func shape(_ frame: Int, as kind: Kind) {
    guard isGood else { return }
    let isContainer = kind == .object || kind == .array
    if frames[frame].isWritten {
      if frames[frame].kind == kind, isContainer { return }
      return fail(frame, "is encoded twice, or as two kinds of containers")
    }
    frames[frame].kind = kind
    frames[frame].isWritten = true
    memory.storeBytes(of: kind.rawValue, toByteOffset: frames[frame].start, as: UInt8.self)
    guard isContainer else { return }
    guard frames[frame].depth <= maximumDepth else {
      return fail(frame, "is nested deeper than \(maximumDepth)")
    }
    room(for: 4, in: frame)?.storeBytes(of: 0, as: UInt32.self)
  }

  /// Counts a further value of an object, adds its key, and returns room for `count` bytes of the value.
  mutating func member(_ key: String, _ count: Int, of frame: Int) -> UnsafeMutableRawPointer? {
    // The contiguous storage is tried first: String.withUTF8 mutates, and only bridged strings need it.
    let place = key.utf8.withContiguousStorageIfAvailable { member($0, count, of: frame) }
    if let place { return place }
    var key = key
    return key.withUTF8 { member($0, count, of: frame) }
  }

  @inline(__always)
  private mutating func member(
    _ key: UnsafeBufferPointer<UInt8>, _ count: Int, of frame: Int
  ) -> UnsafeMutableRawPointer? {
    bumpCount(of: frame)
    if key.first == UInt8(ascii: "_") { noteUnlabelled(key, in: frame) }
    guard let place = room(for: 4 &+ key.count &+ count, in: frame) else { return nil }
    place.storeBytes(of: UInt32(truncatingIfNeeded: key.count).littleEndian, as: UInt32.self)
    if let text = key.baseAddress { copyName(UnsafeRawPointer(text), key.count, to: place + 4) }
    return place + 4 + key.count
  }

  /// Notes a field without a label. Swift names such fields _0, _1 and so on.
  private mutating func noteUnlabelled(_ key: UnsafeBufferPointer<UInt8>, in frame: Int) {
    guard frames[frame].isNestedContainer, frames[frame].parent == 0, key.count > 1 else { return }
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    if key.dropFirst().allSatisfy({ digits ~= $0 }) { hasUnlabelledField = true }
  }

  /// Counts a further value of an array, and returns room for `count` bytes of the value.
  mutating func element(_ count: Int, of frame: Int) -> UnsafeMutableRawPointer? {
    bumpCount(of: frame)
    return room(for: count, in: frame)
  }

  /// Makes a frame a scalar, and returns room for `count` bytes after the kind's byte.
  mutating func scalar(_ kind: Kind, _ count: Int, in frame: Int) -> UnsafeMutableRawPointer? {
    shape(frame, as: kind)
    return room(for: count, in: frame)
  }

  /// Opens the value that a key or a count announced, at the byte that already exists at the parent's end. Once nothing
  /// more will be written, returns the parent instead: otherwise an event that is too large would have an unlimited
  /// number of frames.
  mutating func openFrame(in parent: Int, key: some CodingKey) -> Int {
    guard isOpen else { return parent }
    let end = frames[parent].end
    if frameCount == frameCapacity { growFrames() }
    (frames + frameCount).initialize(
      to: Frame(start: end - 1, end: end, parent: parent, depth: frames[parent].depth + 1))
    (keys + frameCount).initialize(to: key)
    frameCount += 1
    return frameCount - 1
  }

  mutating func markNested(_ frame: Int) {
    frames[frame].isNestedContainer = true
  }

  /// Counts a further value of an object or an array.
  @inline(__always)
  private mutating func bumpCount(of frame: Int) {
    guard bound > 0 else { return }
    let count = frames[frame].count &+ 1
    frames[frame].count = count
    memory.storeBytes(of: count.littleEndian, toByteOffset: frames[frame].start &+ 1, as: UInt32.self)
  }

  /// Returns room at a frame's end. If the frame is the last in the buffer, as it usually is, that appends. Otherwise
  /// the bytes behind the frame are moved. Returns `nil` if nothing more will be written.
  @inline(__always)
  private mutating func room(for count: Int, in frame: Int) -> UnsafeMutableRawPointer? {
    let place = frames[frame].end
    guard used &+ count <= bound, place == used else { return slowRoom(for: count, in: frame) }
    take(count, in: frame)
    return memory + place
  }

  @inline(__always)
  private mutating func take(_ count: Int, in frame: Int) {
    used &+= count
    var ancestor = frame
    repeat {
      frames[ancestor].end &+= count
      ancestor = frames[ancestor].parent
    } while ancestor >= 0
  }

  @inline(never)
  private mutating func slowRoom(for count: Int, in frame: Int) -> UnsafeMutableRawPointer? {
    guard isGood else { return nil }
    guard used + count <= limit else {
      isTooLarge = true
      bound = 0
      return nil
    }
    if used + count > capacity { grow(to: used + count) }
    let place = frames[frame].end
    if place < used {
      (memory + place + count).copyMemory(from: memory + place, byteCount: used - place)
      moveFrames(from: place, by: count, except: frame)
    }
    take(count, in: frame)
    return memory + place
  }

  /// Moves the frames that lie completely behind `place`. Ancestors of `frame` begin before `place`. So do the frames
  /// within `frame`, because each holds at least one byte.
  private mutating func moveFrames(from place: Int, by count: Int, except frame: Int) {
    for index in 0..<frameCount where index != frame && frames[index].start >= place {
      frames[index].start += count
      frames[index].end += count
    }
  }

  private mutating func grow(to count: Int) {
    let largerCapacity = max(count, capacity * 2)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: largerCapacity, alignment: 8)
    larger.copyMemory(from: memory, byteCount: used)
    memory.deallocate()
    memory = larger
    capacity = largerCapacity
    bound = min(limit, capacity)
  }

  private mutating func growFrames() {
    let larger = UnsafeMutablePointer<Frame>.allocate(capacity: frameCapacity * 2)
    larger.moveInitialize(from: frames, count: frameCount)
    frames.deallocate()
    frames = larger
    let largerKeys = UnsafeMutablePointer<any CodingKey>.allocate(capacity: frameCapacity * 2)
    (largerKeys + 1).moveInitialize(from: keys + 1, count: frameCount - 1)
    keys.deallocate()
    keys = largerKeys
    frameCapacity *= 2
  }
}

/// Copies a short text without a function call, as one or two words that may overlap.
@inline(__always)
private func copyName(_ from: UnsafeRawPointer, _ count: Int, to place: UnsafeMutableRawPointer) {
  func words<Word: BitwiseCopyable>(_ type: Word.Type) {
    let last = count - MemoryLayout<Word>.size
    let end = from.loadUnaligned(fromByteOffset: last, as: Word.self)
    place.storeBytes(of: from.loadUnaligned(as: Word.self), as: Word.self)
    place.storeBytes(of: end, toByteOffset: last, as: Word.self)
  }
  switch count {
  case 8...16: words(UInt64.self)
  case 4..<8: words(UInt32.self)
  case 2..<4: words(UInt16.self)
  default: place.copyMemory(from: from, byteCount: count)
  }
}

// TaggedBuffer: builds a tagged object in memory from calls in any order, for the events of Codable types.
//
// An Encoder hands out containers that may be filled in any order and interleaved, and the counts of their values are
// known only at the end. A lane's checksum is folded in as bytes are written, so nothing there can be changed
// afterwards. The object is therefore built in a buffer, which a thread keeps from one event to the next, and is then
// put into the lane in one piece.

/// A buffer with the places in it that are still being filled.
///
/// Keeps true: every frame holds at least the byte of its kind, so no two frames begin at the same place; a frame lies
/// within its parent; and one that is not another's ancestor or descendant lies wholly before or after it.
struct TaggedBuffer: ~Copyable {
  /// A value that may still grow.
  struct Frame {
    /// Position of the byte of its kind, and the position after its last byte.
    var start: Int
    var end: Int
    let parent: Int
    let depth: Int
    /// Of its values, in an object or an array.
    var count: UInt32 = 0
    var kind = Kind.null
    /// An Encoder asked for a container of its own for it, as the code that the compiler writes for an enum's case
    /// does.
    var isNestedContainer = false
    /// A value was given, if only null.
    var isWritten = false
  }

  /// In memory of their own: what arrays do for their safety took a tenth of the whole time.
  private var frames: UnsafeMutablePointer<Frame>
  private var frameCapacity = 16
  private var frameCount = 0
  /// The keys of the frames, but for that of frame 0, the event, which has none.
  private var keys: UnsafeMutablePointer<any CodingKey>
  private var memory: UnsafeMutableRawPointer
  private var capacity = 1024
  private var used = 0

  /// Bytes after which nothing more is written: the event is too large anyway.
  private var limit = 0
  /// Bytes up to which a value is written without a further look: as far as there is memory and the limit allows it, 0
  /// once nothing more is to be written.
  private var bound = 0
  private(set) var isTooLarge = false

  /// Why the event can't be written, if it can't. The first reason counts.
  private(set) var failure: String?

  /// Whether what was written so far is whole. Once it is not, nothing more is written, and the event is refused.
  var isGood: Bool { failure == nil && !isTooLarge }

  /// The same, at less cost.
  var isOpen: Bool { bound > 0 }

  /// The frame whose values become the event's fields; nil if there is none and the value itself becomes a field.
  var fieldsFrame: Int?

  /// A field of an enum's case has no label.
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

  /// The frame of an enum's case, if what was encoded looks like one: a nested container is all there is.
  var caseFrame: Int? {
    guard frameCount > 1, frames[0].kind == .object, frames[0].count == 1 else { return nil }
    return frames[1].isNestedContainer && frames[1].parent == 0 && frames[1].kind == .object ? 1 : nil
  }

  /// The name of the case, in UTF-8: the key of the only value of frame 0. Valid until the next write.
  var caseName: UnsafeRawBufferPointer {
    let keyStart = frames[0].start + 1 + 4 + 4
    return UnsafeRawBufferPointer(start: memory + keyStart, count: frames[1].start - keyStart)
  }

  var caseKey: String { String(decoding: caseName, as: UTF8.self) }

  /// Whether the event is a case of an enum.
  var isCase: Bool { fieldsFrame != nil && fieldsFrame == caseFrame }

  /// The bytes of a frame after that of its kind. Valid until the next write.
  func contents(of frame: Int) -> UnsafeRawBufferPointer {
    let start = frames[frame].start + 1
    return UnsafeRawBufferPointer(start: memory + start, count: frames[frame].end - start)
  }

  /// The whole value of a frame, its kind included.
  func value(of frame: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory + frames[frame].start, count: frames[frame].end - frames[frame].start)
  }

  mutating func fail(_ reason: String) {
    if failure == nil { failure = reason }
    bound = 0
  }

  /// Out of line, and so is the making of the text.
  @inline(never)
  private mutating func fail(_ frame: Int, _ reason: @autoclosure () -> String) {
    fail("\(describe(frame)) \(reason())")
  }

  /// The keys from the event down to a frame.
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
  /// Makes a frame an object, an array or a scalar. What it was made once, it stays.
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

  /// Counts one more value of an object, adds its key, and answers room for so many bytes of the value.
  mutating func member(_ key: String, _ count: Int, of frame: Int) -> UnsafeMutableRawPointer? {
    // The storage is asked first: String.withUTF8 mutates, and only texts bridged from elsewhere need that.
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

  /// A case's fields without labels have the names _0, _1 and so on.
  private mutating func noteUnlabelled(_ key: UnsafeBufferPointer<UInt8>, in frame: Int) {
    guard frames[frame].isNestedContainer, frames[frame].parent == 0, key.count > 1 else { return }
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    if key.dropFirst().allSatisfy({ digits ~= $0 }) { hasUnlabelledField = true }
  }

  /// Counts one more value of an array, and answers room for so many bytes of it.
  mutating func element(_ count: Int, of frame: Int) -> UnsafeMutableRawPointer? {
    bumpCount(of: frame)
    return room(for: count, in: frame)
  }

  /// Makes a frame a scalar, and answers room for so many bytes after that of its kind.
  mutating func scalar(_ kind: Kind, _ count: Int, in frame: Int) -> UnsafeMutableRawPointer? {
    shape(frame, as: kind)
    return room(for: count, in: frame)
  }

  /// Opens the value that a key or a count announced: a byte at its parent's end, which is there already. Once nothing
  /// more is to be written, the parent stands in for it: else an event that is too large would have frames without
  /// limit.
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

  /// Counts one more value of an object or an array.
  @inline(__always)
  private mutating func bumpCount(of frame: Int) {
    guard bound > 0 else { return }
    let count = frames[frame].count &+ 1
    frames[frame].count = count
    memory.storeBytes(of: count.littleEndian, toByteOffset: frames[frame].start &+ 1, as: UInt32.self)
  }

  /// Room at a frame's end. Where the frame is the last thing in the buffer, as it nearly always is, that is an append;
  /// else what lies behind is moved. Nil if nothing more is to be written.
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

  /// Moves the frames that lie wholly behind `place`. The ancestors of `frame` begin before it, and so do the frames
  /// inside it, since each holds a byte at least.
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

/// Copies a short text without a call: as one or two words, which overlap where they must.
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

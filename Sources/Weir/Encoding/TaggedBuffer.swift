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
    /// Of its values, in an object or an array.
    var count: UInt32 = 0
    var kind = Kind.null
    /// An Encoder asked for a container of its own for it, as the code that the compiler writes for an enum's case
    /// does.
    var isNestedContainer = false
    /// A value was given, if only null.
    var isWritten = false
    let parent: Int
    let depth: Int
  }

  private(set) var frames: [Frame] = []
  /// The keys of the frames. Apart from them, so that looking at a frame copies plain numbers and retains nothing.
  private var keys: [(any CodingKey)?] = []
  private var memory: UnsafeMutableRawBufferPointer
  private var used = 0

  /// Bytes after which nothing more is written: the event is too large anyway.
  private var limit = 0
  private(set) var isTooLarge = false

  /// Why the event can't be written, if it can't. The first reason counts.
  private(set) var failure: String?

  /// Whether what was written so far is whole. Once it is not, nothing more is written, and the event is refused.
  var isGood: Bool { failure == nil && !isTooLarge }

  /// The frame whose values become the event's fields; nil if there is none and the value itself becomes a field.
  var fieldsFrame: Int?

  /// A field of an enum's case has no label.
  var hasUnlabelledField = false

  init() {
    memory = .allocate(byteCount: 1024, alignment: 8)
  }

  deinit {
    memory.deallocate()
  }

  /// Empties the buffer and opens frame 0, the event itself.
  mutating func start(limit: Int) {
    frames.removeAll(keepingCapacity: true)
    keys.removeAll(keepingCapacity: true)
    used = 0
    self.limit = limit
    isTooLarge = false
    failure = nil
    hasUnlabelledField = false
    memory[0] = Kind.null.rawValue
    used = 1
    frames.append(Frame(start: 0, end: 1, parent: -1, depth: 0))
    keys.append(nil)
  }

  /// The frame of an enum's case, if what was encoded looks like one: a nested container is all there is.
  var caseFrame: Int? {
    guard frames.count > 1, frames[0].kind == .object, frames[0].count == 1 else { return nil }
    return frames[1].isNestedContainer && frames[1].parent == 0 && frames[1].kind == .object ? 1 : nil
  }

  /// The bytes of a frame after that of its kind. Valid until the next write.
  func contents(of frame: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[(frames[frame].start + 1)..<frames[frame].end])
  }

  /// The whole value of a frame, its kind included.
  func value(of frame: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[frames[frame].start..<frames[frame].end])
  }

  mutating func fail(_ reason: String) {
    if failure == nil { failure = reason }
  }

  /// The key of a frame, as text.
  func key(of frame: Int) -> String? { keys[frame]?.stringValue }

  /// The keys from the event down to a frame.
  func path(of frame: Int) -> [any CodingKey] {
    var path: [any CodingKey] = []
    var at = frame
    while at >= 0 {
      if let key = keys[at] { path.append(key) }
      at = frames[at].parent
    }
    return path.reversed()
  }

  // MARK: Writing

  /// Makes a frame an object, an array or a scalar. What it was made once, it stays.
  mutating func shape(_ frame: Int, as kind: Kind) {
    guard isGood else { return }
    if frames[frame].kind == kind, kind == .object || kind == .array { return }
    guard !frames[frame].isWritten else {
      return fail("\(describe(frame)) is encoded twice, or as two kinds of containers")
    }
    frames[frame].kind = kind
    frames[frame].isWritten = true
    memory[frames[frame].start] = kind.rawValue
    if kind == .object || kind == .array {
      guard frames[frame].depth <= maximumDepth else {
        return fail("\(describe(frame)) is nested deeper than \(maximumDepth)")
      }
      append(to: frame, 4) { $0.storeBytes(of: 0, as: UInt32.self) }
    }
  }

  /// Adds a value's key to an object.
  mutating func appendKey(_ key: some CodingKey, to frame: Int) {
    bumpCount(of: frame)
    var name = key.stringValue
    name.withUTF8 { text in
      // A case's fields without labels have the names _0, _1 and so on.
      if frames[frame].isNestedContainer, frames[frame].parent == 0, text.first == UInt8(ascii: "_"),
        text.count > 1, text.dropFirst().allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
      {
        hasUnlabelledField = true
      }
      append(to: frame, 4 + text.count) { place in
        place.storeBytes(of: UInt32(truncatingIfNeeded: text.count).littleEndian, as: UInt32.self)
        UnsafeMutableRawBufferPointer(rebasing: place[4...]).copyMemory(from: UnsafeRawBufferPointer(text))
      }
    }
  }

  /// Counts one more value of an object or an array.
  mutating func bumpCount(of frame: Int) {
    guard isGood else { return }
    frames[frame].count += 1
    let place = UnsafeMutableRawBufferPointer(rebasing: memory[(frames[frame].start + 1)..<frames[frame].end])
    place.storeBytes(of: frames[frame].count.littleEndian, as: UInt32.self)
  }

  /// Opens a place for a value in an object (after its key) or in an array (after its count).
  mutating func openFrame(in parent: Int, key: some CodingKey) -> Int {
    let start = frames[parent].end
    append(to: parent, 1) { $0[0] = Kind.null.rawValue }
    frames.append(Frame(start: start, end: start + 1, parent: parent, depth: frames[parent].depth + 1))
    keys.append(key)
    return frames.count - 1
  }

  mutating func markNested(_ frame: Int) {
    frames[frame].isNestedContainer = true
  }

  /// Adds bytes at a frame's end. Where the frame is the last thing in the buffer, as it nearly always is, that is an
  /// append; else what lies behind is moved.
  mutating func append(to frame: Int, _ count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
    guard isGood else { return }
    guard used + count <= limit else {
      isTooLarge = true
      return
    }
    if used + count > memory.count { grow(to: used + count) }
    let place = frames[frame].end
    if place < used {
      let behind = UnsafeRawBufferPointer(rebasing: memory[place..<used])
      UnsafeMutableRawBufferPointer(rebasing: memory[(place + count)..<(used + count)]).copyMemory(from: behind)
      moveFrames(from: place, by: count, except: frame)
    }
    used += count
    var ancestor = frame
    while ancestor >= 0 {
      frames[ancestor].end += count
      ancestor = frames[ancestor].parent
    }
    write(UnsafeMutableRawBufferPointer(rebasing: memory[place..<(place + count)]))
  }

  /// Moves the frames that lie wholly behind `place`. The ancestors of `frame` begin before it, and so do the frames
  /// inside it, since each holds a byte at least.
  private mutating func moveFrames(from place: Int, by count: Int, except frame: Int) {
    for index in frames.indices where index != frame && frames[index].start >= place {
      frames[index].start += count
      frames[index].end += count
    }
  }

  private mutating func grow(to count: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, memory.count * 2), alignment: 8)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<used]))
    memory.deallocate()
    memory = larger
  }

  func describe(_ frame: Int) -> String {
    let path = path(of: frame).map(\.stringValue).joined(separator: ".")
    return path.isEmpty ? "the event" : "field \(path)"
  }
}

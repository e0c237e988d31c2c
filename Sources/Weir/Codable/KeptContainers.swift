// KeptContainers and KeptEncoders: what a thread's Codable events were encoded with, kept to be used again.
//
// A KeyedEncodingContainer is an object on the heap, and to make one the run-time library looks up the metadata of four
// generic types, in tables whose readers all count themselves in one shared word: that was nine tenths of what a
// Codable event cost, and with three threads several times that. A container that nobody holds any more can simply be
// pointed at another frame.

/// The kept containers of a writer: a small hash table by the type of the key. Several may have the same type.
struct KeptContainers: ~Copyable {
  private static var capacity: Int { 256 }
  private static var reach: Int { 8 }
  /// Not an array, whose elements are retained to be looked at.
  private let kept = UnsafeMutablePointer<Unmanaged<KeptContainer>?>.allocate(capacity: Self.capacity)

  init() {
    kept.initialize(repeating: nil, count: Self.capacity)
  }

  deinit {
    removeAll()
    kept.deallocate()
  }

  func removeAll() {
    for place in 0..<Self.capacity {
      guard let container = kept[place] else { continue }
      kept[place] = nil
      container.release()
    }
  }

  /// A container of a frame: a kept one of this type that nobody holds, or a new one, which is kept if there is room.
  @inline(__always)
  func container<Key: CodingKey>(
    _ type: Key.Type, _ frame: Int, of memory: WriterMemory
  ) -> KeyedEncodingContainer<Key> {
    let identity = ObjectIdentifier(type)
    let hash = UInt(bitPattern: identity)
    let first = Int(truncatingIfNeeded: hash >> 4 ^ hash >> 12)
    for step in 0..<Self.reach {
      guard let found = kept[(first &+ step) & (Self.capacity - 1)] else { break }
      let isMine = found._withUnsafeGuaranteedRef { $0.key == identity && $0.isFree }
      guard isMine else { continue }
      found._withUnsafeGuaranteedRef { $0.target.aim(at: frame) }
      // The key's type is that of the container.
      let same = Unmanaged<Kept<KeyedEncodingContainer<Key>>>.fromOpaque(found.toOpaque())
      return same._withUnsafeGuaranteedRef { $0.copy() }
    }
    return make(type, TaggedTarget(memory, frame), first)
  }

  @inline(never)
  private func make<Key: CodingKey>(
    _ type: Key.Type, _ target: TaggedTarget, _ first: Int
  ) -> KeyedEncodingContainer<Key> {
    let container = KeyedEncodingContainer(TaggedKeyedContainer<Key>(target: target))
    guard Self.canTellHolders else { return container }
    for step in 0..<Self.reach {
      let place = (first &+ step) & (Self.capacity - 1)
      guard kept[place] == nil else { continue }
      kept[place] = .passRetained(Kept(container, ObjectIdentifier(type), target))
      break
    }
    return container
  }

  /// Whether a container is one reference to an object and nothing else, so that the object's count of references
  /// tells whether somebody holds it. If it ever is not, none is kept.
  private static let canTellHolders: Bool = {
    var container = KeyedEncodingContainer(TaggedKeyedContainer<TextKey>(target: TaggedTarget(WriterMemory(), 0)))
    let members = Array(Mirror(reflecting: container).children)
    guard members.count == 1, type(of: members[0].value) is AnyClass,
      MemoryLayout.size(ofValue: container) == MemoryLayout<AnyObject>.size
    else { return false }
    let box = ObjectIdentifier(members[0].value as AnyObject)
    return withUnsafeBytes(of: &container) { $0.load(as: UInt.self) == UInt(bitPattern: box) }
  }()
}

/// The kept encoders of a writer, one for each level of values in values.
struct KeptEncoders: ~Copyable {
  private static var capacity: Int { 32 }
  private let encoders = UnsafeMutablePointer<any Encoder>.allocate(capacity: Self.capacity)
  private let targets = UnsafeMutablePointer<Unmanaged<TaggedTarget>>.allocate(capacity: Self.capacity)
  private var count = 0

  deinit {
    encoders.deinitialize(count: count)
    encoders.deallocate()
    targets.deallocate()
  }

  mutating func removeAll() {
    encoders.deinitialize(count: count)
    count = 0
  }

  /// Where the encoder for a level is, pointed at a frame. If the user's code has kept the one that was there, that is
  /// left to it. Nil if the level is deeper than encoders are kept for.
  mutating func encoder(
    _ level: Int, _ frame: Int, of memory: WriterMemory
  ) -> UnsafeMutablePointer<any Encoder>? {
    if level < count {
      if isHeldOnce(targets + level) {
        targets[level]._withUnsafeGuaranteedRef { $0.aim(at: frame) }
      } else {
        encoders[level] = TaggedEncoder(target: makeTarget(level, frame, memory))
      }
    } else {
      guard level == count, level < Self.capacity else { return nil }
      (encoders + level).initialize(to: TaggedEncoder(target: makeTarget(level, frame, memory)))
      count += 1
    }
    return encoders + level
  }

  @inline(never)
  private func makeTarget(_ level: Int, _ frame: Int, _ memory: WriterMemory) -> TaggedTarget {
    let target = TaggedTarget(memory, frame)
    targets[level] = .passUnretained(target)
    return target
  }
}

/// Whether there is but one reference that counts to the object that a place refers to, of whatever class of Swift's.
///
/// Asked of an `AnyObject`, code that is not optimised answers no in any case, and nothing would ever be used again.
@inline(__always)
private func isHeldOnce(_ reference: UnsafeMutableRawPointer) -> Bool {
  isKnownUniquelyReferenced(&reference.assumingMemoryBound(to: KeptContainer.self).pointee)
}

/// A container of some type.
private class KeptContainer {
  let key: ObjectIdentifier
  let target: TaggedTarget
  private let box: UnsafeMutableRawPointer

  /// Nobody else holds it: no user's code that kept it, and none that is still using it.
  var isFree: Bool { isHeldOnce(box) }

  init(_ key: ObjectIdentifier, _ target: TaggedTarget, _ box: UnsafeMutableRawPointer) {
    self.key = key
    self.target = target
    self.box = box
  }
}

/// Generic over the container and not over the key, so that the type of what it copies lies in its own metadata and
/// need not be looked up.
private final class Kept<Container>: KeptContainer {
  private let place: UnsafeMutablePointer<Container>

  init(_ container: Container, _ key: ObjectIdentifier, _ target: TaggedTarget) {
    place = .allocate(capacity: 1)
    place.initialize(to: container)
    super.init(key, target, place)
  }

  deinit {
    place.deinitialize(count: 1)
    place.deallocate()
  }

  /// Never inlined: the caller would look up what this has at hand.
  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  func copy() -> Container { place.pointee }
}

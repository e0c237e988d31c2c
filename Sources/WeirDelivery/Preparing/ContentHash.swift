// ContentHash: a 64-bit hash by which the window of duplicates compares events.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension StoredEvent {
  /// A hash of the event's content and source: the name, the fields, and the user. Without a user, the opening and lane
  /// of the capture take the user's place.
  ///
  /// The hash of an event differs between processes. With the default number of remembered events, about one event in
  /// 10^13 is wrongly taken for a duplicate.
  var contentHash: Int {
    var hash = Hasher()
    if let user = context.user?.id {
      hash.combine(1)
      hash.combine(user)
    } else {
      hash.combine(2)
      hash.combine(id.opening)
      hash.combine(id.sequence >> 48)
    }
    hash.combine(name)
    hash.combine(contentOf: fields)
    return hash.finalize()
  }
}

extension Hasher {
  /// Adds fields in any order, because the order of a dictionary changes from one encoding to the next.
  fileprivate mutating func combine(contentOf fields: FieldObject) {
    var sum = 0
    for member in fields {
      var hash = Hasher()
      hash.combine(member.name)
      hash.combine(contentOf: member.value)
      sum = sum &+ hash.finalize()
    }
    combine(sum)
  }

  /// Adds a value after a number for its kind: the integer 1 differs from the text "1". Floating-point numbers are
  /// compared by their bits.
  fileprivate mutating func combine(contentOf value: FieldValue) {
    switch value {
    case .null: combine(0)
    case .bool(let value): combine(value ? 1 : 2)
    case .int(let value):
      combine(3)
      combine(value)
    case .uint(let value):
      combine(4)
      combine(value)
    case .float(let value):
      combine(5)
      combine(value.bitPattern)
    case .double(let value):
      combine(6)
      combine(value.bitPattern)
    case .string(let value):
      combine(7)
      combine(value)
    case .bytes(let value):
      combine(8)
      combine(value)
    case .uuid(let value):
      combine(9)
      combine(value)
    case .date(let value):
      combine(10)
      combine(value.timeIntervalSinceReferenceDate.bitPattern)
    case .array(let values):
      combine(11)
      combine(values.count)
      for value in values { combine(contentOf: value) }
    case .object(let object):
      combine(12)
      combine(contentOf: object)
    }
  }
}

/// Hashes the content and source of events from their bytes. The hash of an event is mostly another number than
/// ``StoredEvent/contentHash``, and is equal for the same events: the fields count by name, in any order, and integers
/// by value, whatever their width.
///
/// What the events of a definition share is made once.
struct ContentHasher: Sendable {
  private static let mostPlans = 1_024

  private let start = WordHash(UInt64.random(in: 0 ... .max))
  private var plans: [ObjectIdentifier: ContentPlan] = [:]
  private var plan: ContentPlan?

  mutating func hash(of event: EncodedEvent) -> Int {
    var hashes: [Int] = []
    hash(event.block, event.index..<event.index + 1, to: &hashes)
    return hashes[0]
  }

  /// Appends the hashes of these events of a block.
  mutating func hash(_ block: EventBlock, _ places: Range<Int>, to hashes: inout [Int]) {
    var last: (head: Head, hash: WordHash)?
    var definition: UInt32?
    var plan: ContentPlan?
    for place in places {
      let entry = block.entries[place]
      if entry.definition != definition {
        definition = entry.definition
        plan = self.plan(of: block.definitions[Int(entry.definition)])
      }
      guard let plan else { continue }
      let head = Head(entry)
      var hash: WordHash
      if let last, last.head == head {
        hash = last.hash
      } else {
        hash = self.hash(of: head, entry, in: block)
        last = (head, hash)
      }
      let payload = block.payload(entry)
      var fields = FieldHash(payload, start)
      if !fields.add(plan, to: &hash) {
        // What can't be read is compared as it is: no bytes at all are no object without fields.
        hash.add(1)
        hash.add(payload)
      }
      hashes.append(Int(truncatingIfNeeded: hash.value))
    }
    withExtendedLifetime(block) {}
  }

  /// What of an event is hashed before the fields, as far as events of a block share it.
  private struct Head: Equatable {
    var opening: UInt64
    var lane: UInt64
    var definition: UInt32
    var name: Int32
    var context: UInt32

    init(_ entry: EventBlock.Entry) {
      opening = entry.id.opening
      lane = entry.id.sequence >> 48
      definition = entry.definition
      name = entry.name
      context = entry.context
    }
  }

  private func hash(of head: Head, _ entry: EventBlock.Entry, in block: EventBlock) -> WordHash {
    var hash = start
    if let user = block.userHash(entry) {
      hash.add(1)
      hash.add(user)
    } else {
      hash.add(2)
      hash.add(head.opening)
      hash.add(head.lane)
    }
    hash.add(block.nameHash(entry))
    return hash
  }

  private mutating func plan(of definition: StoredDefinition) -> ContentPlan {
    if let plan, plan.definition === definition { return plan }
    // A plan keeps its definition, so an identifier here is never that of another definition.
    let id = ObjectIdentifier(definition)
    let found = plans[id] ?? ContentPlan(definition, start)
    if plans.count >= Self.mostPlans { plans.removeAll() }
    plans[id] = found
    plan = found
    return found
  }
}

/// The kinds of a definition's fields, and the hashes of their names.
private final class ContentPlan: Sendable {
  struct Member: Sendable {
    /// The hash of the field's name, to which the value is added.
    let name: WordHash
    let kind: Kind
    /// Of an optional or an array what it contains, and of an object its fields.
    let parts: [Member]

    init(_ name: WordHash, _ kind: FieldKind, _ start: WordHash) {
      self.name = name
      self.kind = kind.kind
      switch kind {
      case .optional(let inner), .array(let inner): parts = [Member(start, inner, start)]
      case .object(let fields): parts = Self.members(fields, start)
      default: parts = []
      }
    }

    static func members(_ fields: [Field], _ start: WordHash) -> [Member] {
      fields.map { field in
        var name = start
        var text = field.name
        text.withUTF8 { name.add(UnsafeRawBufferPointer($0)) }
        return Member(name, field.kind, start)
      }
    }
  }

  /// A field that has no parts.
  struct Flat: Sendable {
    /// The hash of the field's name, and of the name and what the value is.
    let name: WordHash
    let start: WordHash
    let kind: Kind
    let isOptional: Bool

    init?(_ member: Member) {
      isOptional = member.kind == .optional
      kind = isOptional ? member.parts[0].kind : member.kind
      guard let sort = Sort(kind) else { return nil }
      name = member.name
      var start = name
      start.add(sort.rawValue)
      self.start = start
    }
  }

  enum Layout: Sendable {
    case flat([Flat])
    case packed([Member])
    case tagged
    case unknown
  }

  let definition: StoredDefinition
  let layout: Layout

  init(_ definition: StoredDefinition, _ start: WordHash) {
    self.definition = definition
    switch definition.layout {
    case .packed(let fields):
      let members = Member.members(fields, start)
      let flat = members.compactMap(Flat.init)
      layout = flat.count == members.count ? .flat(flat) : .packed(members)
    case .tagged: layout = .tagged
    case .unknown: layout = .unknown
    }
  }
}

/// What a value is: the integer 1 differs from the text "1".
private enum Sort: UInt64 {
  case null, bool, int, uint, float, double, string, bytes, uuid, date, array, object

  /// `nil` for what has parts.
  init?(_ kind: Kind) {
    switch kind {
    case .null: self = .null
    case .bool: self = .bool
    case .int8, .int16, .int32, .int64: self = .int
    case .uint8, .uint16, .uint32, .uint64: self = .uint
    case .float: self = .float
    case .double: self = .double
    case .string: self = .string
    case .bytes: self = .bytes
    case .uuid: self = .uuid
    case .date: self = .date
    case .optional, .array, .object, .any: return nil
    }
  }
}

/// Reads the fields of an event for their hash. Trusts none of the bytes.
private struct FieldHash {
  private let bytes: UnsafeRawBufferPointer
  private let start: WordHash
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer, _ start: WordHash) {
    self.bytes = bytes
    self.start = start
  }

  /// Adds the fields. Returns `false` if the bytes can't be read.
  mutating func add(_ plan: ContentPlan, to hash: inout WordHash) -> Bool {
    switch plan.layout {
    case .flat(let fields): flatObject(fields, &hash) && position == bytes.count
    case .packed(let members): object(members, &hash) && position == bytes.count
    case .tagged: taggedObject(depth: 0, &hash) && position == bytes.count
    case .unknown: false
    }
  }

  private mutating func flatObject(_ fields: [ContentPlan.Flat], _ hash: inout WordHash) -> Bool {
    var sum: UInt64 = 0
    let isRead = fields.withUnsafeBufferPointer { fields in
      for field in fields {
        var member = field.start
        if field.isOptional {
          guard let flag = number(UInt8.self), flag <= 1 else { return false }
          if flag == 0 {
            member = field.name
            _ = scalar(.null, &member)
            sum = sum &+ member.value
            continue
          }
        }
        guard addValue(field.kind, &member) else { return false }
        sum = sum &+ member.value
      }
      return true
    }
    guard isRead else { return false }
    hash.add(sum)
    return true
  }

  private mutating func object(_ members: [ContentPlan.Member], _ hash: inout WordHash) -> Bool {
    var sum: UInt64 = 0
    for index in members.indices {
      var member = members[index].name
      guard value(members[index], &member) else { return false }
      sum = sum &+ member.value
    }
    hash.add(sum)
    return true
  }

  private mutating func value(_ member: ContentPlan.Member, _ hash: inout WordHash) -> Bool {
    switch member.kind {
    case .optional:
      guard let flag = number(UInt8.self), flag <= 1 else { return false }
      return flag == 1 ? value(member.parts[0], &hash) : scalar(.null, &hash)
    case .array:
      guard let count = count(depth: 0) else { return false }
      hash.add(Sort.array.rawValue)
      hash.add(UInt64(count))
      for _ in 0..<count {
        guard value(member.parts[0], &hash) else { return false }
      }
      return true
    case .object:
      hash.add(Sort.object.rawValue)
      return object(member.parts, &hash)
    case .any: return taggedValue(depth: 1, &hash)
    default: return scalar(member.kind, &hash)
    }
  }

  private mutating func taggedObject(depth: Int, _ hash: inout WordHash) -> Bool {
    guard let count = count(depth: depth) else { return false }
    var sum: UInt64 = 0
    for _ in 0..<count {
      var member = start
      guard let name = counted() else { return false }
      member.add(name)
      guard taggedValue(depth: depth + 1, &member) else { return false }
      sum = sum &+ member.value
    }
    hash.add(sum)
    return true
  }

  private mutating func taggedValue(depth: Int, _ hash: inout WordHash) -> Bool {
    guard let kind = number(UInt8.self).flatMap(Kind.init(rawValue:)) else { return false }
    switch kind {
    case .array:
      guard let count = count(depth: depth) else { return false }
      hash.add(Sort.array.rawValue)
      hash.add(UInt64(count))
      for _ in 0..<count {
        guard taggedValue(depth: depth + 1, &hash) else { return false }
      }
      return true
    case .object:
      hash.add(Sort.object.rawValue)
      return taggedObject(depth: depth, &hash)
    default: return scalar(kind, &hash)
    }
  }

  private mutating func scalar(_ kind: Kind, _ hash: inout WordHash) -> Bool {
    guard let sort = Sort(kind) else { return false }
    hash.add(sort.rawValue)
    return addValue(kind, &hash)
  }

  /// Adds a value without parts, after its sort.
  @inline(__always)
  private mutating func addValue(_ kind: Kind, _ hash: inout WordHash) -> Bool {
    switch kind {
    case .null: return add(0 as UInt64, &hash)
    case .bool:
      guard let flag = number(UInt8.self), flag <= 1 else { return false }
      return add(flag, &hash)
    case .int8: return add(number(Int8.self), &hash)
    case .int16: return add(number(Int16.self), &hash)
    case .int32: return add(number(Int32.self), &hash)
    case .int64: return add(number(Int64.self), &hash)
    case .uint8: return add(number(UInt8.self), &hash)
    case .uint16: return add(number(UInt16.self), &hash)
    case .uint32, .float: return add(number(UInt32.self), &hash)
    case .uint64, .double, .date: return add(number(UInt64.self), &hash)
    case .uuid: return add(number(UInt64.self), &hash) && add(number(UInt64.self), &hash)
    case .string, .bytes:
      guard let value = counted() else { return false }
      hash.add(value)
      return true
    case .optional, .array, .object, .any: return false
    }
  }

  /// Adds a number, widened to 64 bits. Returns `false` without a number.
  @inline(__always)
  private func add(_ value: (some FixedWidthInteger)?, _ hash: inout WordHash) -> Bool {
    guard let value else { return false }
    hash.add(UInt64(truncatingIfNeeded: value))
    return true
  }

  // MARK: Bytes

  @inline(__always)
  private mutating func number<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) -> T? {
    guard MemoryLayout<T>.size <= bytes.count - position else { return nil }
    defer { position += MemoryLayout<T>.size }
    return T(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: T.self))
  }

  private mutating func counted() -> UnsafeRawBufferPointer? {
    guard let count = number(UInt32.self), Int(count) <= bytes.count - position else { return nil }
    defer { position += Int(count) }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<position + Int(count)])
  }

  /// Returns a number of values, each of which takes at least one byte.
  private mutating func count(depth: Int) -> Int? {
    guard depth <= maximumDepth, let count = number(UInt32.self), Int(count) <= bytes.count - position else {
      return nil
    }
    return Int(count)
  }
}

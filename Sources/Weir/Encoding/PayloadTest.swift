// PayloadTest: asks whether the values of a payload are as they should be, by the payload's bytes.

/// What is asked of the values of one definition. Testing a payload builds only the values that no simple question is
/// enough for, and looks at no field that nothing is asked of.
package struct PayloadTest: Sendable {
  /// The question for one value. A value that is missing is told apart before: see ``Field/allowsNull``.
  package enum Question: Sendable {
    /// Nothing is asked.
    case anything
    /// An integer within these bounds.
    case integer(least: Int128, most: Int128)
    /// A number within these bounds, and not NaN.
    case number(least: Double, most: Double)
    /// Valid UTF-8, with a number of Unicode scalars within these bounds.
    case text(least: Int, most: Int)
    /// The value is built, and the caller asked.
    case value
  }

  /// What is asked of one declared field.
  package struct Field: Sendable {
    package var kind: FieldKind
    package var question: Question
    /// Whether the field may be missing, which only an optional can be.
    package var allowsNull: Bool

    package init(_ kind: FieldKind, _ question: Question, allowsNull: Bool) {
      self.kind = kind
      self.question = question
      self.allowsNull = allowsNull
    }
  }

  /// How the bytes of a value are passed over, or read.
  fileprivate enum Way: Sendable {
    case bytes(Int)
    case flag
    case counted
    /// Kinds with parts.
    case whole
    case signed8, signed16, signed32, signed64, unsigned8, unsigned16, unsigned32, unsigned64, float, double, text
    case value
  }

  /// A question, prepared: nothing in it is counted, so that no test touches a reference count.
  fileprivate struct Step: Sendable {
    var way: Way
    var isOptional = false
    var allowsNull: Bool
    var least: Int128 = 0
    var most: Int128 = 0
    var leastNumber: Double = 0
    var mostNumber: Double = 0
  }

  private let steps: [Step]
  /// The kinds of the fields, without their optional.
  private let kinds: [FieldKind]

  /// Prepares the questions for a definition's fields, all of them, in their order.
  package init(_ fields: [Field]) {
    var steps: [Step] = []
    var kinds: [FieldKind] = []
    for field in fields {
      var kind = field.kind
      var step = Step(way: .whole, allowsNull: field.allowsNull)
      if case .optional(let wrapped) = kind {
        step.isOptional = true
        kind = wrapped
      }
      step.way = Self.way(kind, field.question)
      switch field.question {
      case .integer(let least, let most): (step.least, step.most) = (least, most)
      case .number(let least, let most): (step.leastNumber, step.mostNumber) = (least, most)
      case .text(let least, let most): (step.least, step.most) = (Int128(least), Int128(most))
      case .anything, .value: break
      }
      steps.append(step)
      kinds.append(kind)
    }
    self.steps = steps
    self.kinds = kinds
  }

  private static func way(_ kind: FieldKind, _ question: Question) -> Way {
    switch (question, kind) {
    case (.integer, .int8): .signed8
    case (.integer, .int16): .signed16
    case (.integer, .int32): .signed32
    case (.integer, .int64): .signed64
    case (.integer, .uint8): .unsigned8
    case (.integer, .uint16): .unsigned16
    case (.integer, .uint32): .unsigned32
    case (.integer, .uint64): .unsigned64
    case (.number, .float): .float
    case (.number, .double): .double
    case (.text, .string): .text
    case (.anything, .bool): .flag
    case (.anything, .int8), (.anything, .uint8): .bytes(1)
    case (.anything, .int16), (.anything, .uint16): .bytes(2)
    case (.anything, .int32), (.anything, .uint32), (.anything, .float): .bytes(4)
    case (.anything, .int64), (.anything, .uint64), (.anything, .double), (.anything, .date): .bytes(8)
    case (.anything, .uuid): .bytes(16)
    case (.anything, .string), (.anything, .bytes): .counted
    case (.anything, _): .whole
    // A question that is not for values of this kind: the caller is to say.
    default: .value
    }
  }

  /// Returns whether the payload is one of these fields, and every value passes. `passes` is asked for each value that
  /// had to be built, with the index of its field.
  package func passes(_ payload: UnsafeRawBufferPointer, _ passes: (Int, FieldValue) -> Bool) -> Bool {
    var reader = PayloadReader(payload)
    do throws(Malformed) {
      for index in steps.indices {
        guard try test(index, &reader, passes) else { return false }
      }
    } catch {
      return false
    }
    return reader.bytes.isAtEnd
  }

  @inline(__always)
  private func test(
    _ index: Int, _ reader: inout PayloadReader, _ passes: (Int, FieldValue) -> Bool
  ) throws(Malformed) -> Bool {
    let step = steps[index]
    if step.isOptional, try !reader.flag() { return step.allowsNull }
    switch step.way {
    case .bytes(let count): _ = try reader.bytes.take(count)
    case .flag: _ = try reader.flag()
    case .counted: _ = try reader.bytes.counted()
    case .whole: try reader.skip(kinds[index], depth: step.isOptional ? 2 : 1)
    case .signed8: return step.holds(try reader.bytes.number(Int8.self))
    case .signed16: return step.holds(try reader.bytes.number(Int16.self))
    case .signed32: return step.holds(try reader.bytes.number(Int32.self))
    case .signed64: return step.holds(try reader.bytes.number(Int64.self))
    case .unsigned8: return step.holds(try reader.bytes.number(UInt8.self))
    case .unsigned16: return step.holds(try reader.bytes.number(UInt16.self))
    case .unsigned32: return step.holds(try reader.bytes.number(UInt32.self))
    case .unsigned64: return step.holds(try reader.bytes.number(UInt64.self))
    case .float: return step.holds(Double(Float(bitPattern: try reader.bytes.number(UInt32.self))))
    case .double: return step.holds(Double(bitPattern: try reader.bytes.number(UInt64.self)))
    case .text:
      guard let count = try reader.bytes.counted().scalarCount else { return false }
      return step.holds(count)
    case .value:
      let value = try reader.value(kinds[index], depth: step.isOptional ? 2 : 1)
      if case .null = value, !step.allowsNull { return false }
      return passes(index, value)
    }
    return true
  }
}

extension PayloadTest.Step {
  @inline(__always)
  fileprivate func holds(_ number: some FixedWidthInteger) -> Bool {
    let number = Int128(truncatingIfNeeded: number)
    return least <= number && number <= most
  }

  @inline(__always)
  fileprivate func holds(_ number: Double) -> Bool { leastNumber <= number && number <= mostNumber }
}

/// What is asked of fields that carry their own names: of events of `Codable` types, and of those without a type.
package struct TaggedTest: Sendable {
  private let names: [[UInt8]]
  private let mandatory: UInt64
  private let allowsOthers: Bool

  /// The maximum number of names.
  package static let maximumNames = 64

  /// Asks of the fields with these names, of which some must be there. The names are ASCII. Other fields must be null,
  /// if they are not allowed.
  package init(_ names: [(name: String, isMandatory: Bool)], allowsOthers: Bool) {
    precondition(names.count <= Self.maximumNames, "a word has a bit for each name")
    self.names = names.map { Array($0.name.utf8) }
    mandatory = names.enumerated().reduce(0) { $1.element.isMandatory ? $0 | 1 << UInt64($1.offset) : $0 }
    self.allowsOthers = allowsOthers
  }

  /// Returns whether the payload is an object whose fields are there, once each, and pass. Also returns `false` for
  /// other fields whose names are not ASCII, unless there are no names to ask of. `passes` is asked for each of the named
  /// fields that is there, with the index of the name.
  package func passes(_ payload: UnsafeRawBufferPointer, _ passes: (Int, FieldValue) -> Bool) -> Bool {
    var reader = PayloadReader(payload)
    var seen: UInt64 = 0
    do throws(Malformed) {
      var last = -1
      for _ in 0..<(try reader.count(depth: 0)) {
        let name = try reader.bytes.counted()
        if let index = position(of: name, after: last) {
          guard seen & 1 << UInt64(index) == 0 else { return false }
          seen |= 1 << UInt64(index)
          last = index
          guard passes(index, try reader.taggedValue(depth: 1)) else { return false }
        } else {
          // A reader refuses a name that is not valid; and other bytes may be the same name to Swift.
          guard let length = name.scalarCount, names.isEmpty || length == name.count else { return false }
          let isNull = try reader.skipTagged(depth: 1)
          guard allowsOthers || isNull else { return false }
        }
      }
    } catch {
      return false
    }
    return reader.bytes.isAtEnd && seen & mandatory == mandatory
  }

  /// Events usually have their fields in the order of the names, so the name after `last` is tried first.
  private func position(of name: UnsafeRawBufferPointer, after last: Int) -> Int? {
    let next = last + 1
    if next < names.count, isName(next, name) { return next }
    return names.indices.first { isName($0, name) }
  }
}

extension TaggedTest {
  private func isName(_ index: Int, _ name: UnsafeRawBufferPointer) -> Bool {
    names[index].count == name.count && names[index].elementsEqual(name)
  }
}

extension PayloadReader {
  /// Passes over a value of this kind. Refuses what ``value(_:depth:)`` refuses.
  mutating func skip(_ kind: FieldKind, depth: Int) throws(Malformed) {
    switch kind {
    case .optional(let wrapped):
      guard depth <= maximumDepth else { throw Malformed() }
      if try flag() { try skip(wrapped, depth: depth + 1) }
    case .array(let element):
      for _ in 0..<(try count(depth: depth)) { try skip(element, depth: depth + 1) }
    case .object(let fields):
      guard depth <= maximumDepth, !fields.isEmpty else { throw Malformed() }
      for field in fields { try skip(field.kind, depth: depth + 1) }
    case .any:
      try skipTagged(depth: 1)
    default:
      try skip(kind.kind)
    }
  }

  /// Passes over a value that carries its kind. Returns whether the value is null.
  @discardableResult
  mutating func skipTagged(depth: Int) throws(Malformed) -> Bool {
    guard let kind = Kind(rawValue: try bytes.number(UInt8.self)) else { throw Malformed() }
    switch kind {
    case .array:
      for _ in 0..<(try count(depth: depth)) { try skipTagged(depth: depth + 1) }
    case .object:
      for _ in 0..<(try count(depth: depth)) {
        guard try bytes.counted().scalarCount != nil else { throw Malformed() }
        try skipTagged(depth: depth + 1)
      }
    default:
      try skip(kind)
    }
    return kind == .null
  }

  private mutating func skip(_ kind: Kind) throws(Malformed) {
    switch kind {
    case .null: return
    case .bool: _ = try flag()
    case .int8, .uint8: _ = try bytes.take(1)
    case .int16, .uint16: _ = try bytes.take(2)
    case .int32, .uint32, .float: _ = try bytes.take(4)
    case .int64, .uint64, .double, .date: _ = try bytes.take(8)
    case .uuid: _ = try bytes.take(16)
    case .string, .bytes: _ = try bytes.counted()
    case .optional, .array, .object, .any: throw Malformed()
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The number of Unicode scalars; `nil` if the bytes are not valid UTF-8.
  var scalarCount: Int? {
    var at = 0
    while at + 8 <= count, loadUnaligned(fromByteOffset: at, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 { at += 8 }
    while at < count, self[at] < 0x80 { at += 1 }
    if at == count { return count }
    let rest = UnsafeRawBufferPointer(rebasing: self[at...])
    guard (try? UTF8Span(validating: rest.assumingMemoryBound(to: UInt8.self).span)) != nil else { return nil }
    return at + rest.reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 &+ 1 }
  }
}

// EncodedJSON: writes events as JSON directly from their bytes in the log.

package import Weir

/// Writes events as JSON from their bytes in the log, in the same form as `JSONText` and `EventJSON` write decoded
/// events.
///
/// Most events are written without being decoded and without an allocation. What can't be written so is left to the
/// caller, who decodes it: an event of the log itself, a payload that does not fit its definition, objects in arrays.
/// What events share is prepared once: the names of a definition's fields, the text of a context, the text of a second.
///
/// Belongs to one thread at a time.
package final class EncodedJSON {
  /// The keys before and after the fields.
  package enum Shape {
    /// `EventJSON`: id, offset, time, name, kind, fields.
    case provider
    /// `weir cat`: offset, id, time, event, fields.
    case listing
  }

  private static let mostPayloadBytes = 256 << 10
  private static let mostPlans = 1_024
  /// The most bytes of the keys of an event, with its id, offset and time.
  private static let headBytes = 256

  private let form: JSONForm
  private let shape: Shape
  private let appendTail: (EventContext, inout [UInt8]) -> Void

  // Unchecked: the checks took a tenth of the time of an event, and nothing called while they are used leads back here.
  @exclusivity(unchecked) private var plans: [ObjectIdentifier: EncodedPlan] = [:]
  @exclusivity(unchecked) private var plan: EncodedPlan?
  /// The text after the fields, of the last event.
  @exclusivity(unchecked) private var tail: [UInt8] = []
  /// An event of the same plan and the same tail, and its block, definition and context. Compared without holding the
  /// event, which would cost more than the comparison.
  @exclusivity(unchecked) private var last: EncodedEvent?
  @exclusivity(unchecked) private var lastBlock: ObjectIdentifier?
  @exclusivity(unchecked) private var lastDefinition: UInt32 = 0
  @exclusivity(unchecked) private var lastContext: UInt32 = 0
  /// The text of the last second: `2026-11-21T00:00:00`.
  @exclusivity(unchecked) private var second = Int64.min
  @exclusivity(unchecked) private var secondText: [UInt8] = []
  @exclusivity(unchecked) private var room = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)

  /// Creates a writer. `tail` appends what follows the fields of an event with this context.
  package init(_ form: JSONForm, _ shape: Shape, tail: @escaping (EventContext, inout [UInt8]) -> Void) {
    self.form = form
    self.shape = shape
    appendTail = tail
  }

  deinit { room.deallocate() }

  /// Appends an event, without a line break. Returns `false`, and appends nothing, if the event has to be decoded
  /// first.
  ///
  /// Nothing is redacted: the event must be plain (`EncodedEvent.isPlain`), or sensitive values are wanted.
  package func append(_ event: EncodedEvent, to bytes: inout [UInt8]) -> Bool {
    let entry = event.entry
    let payload = event.payload
    let plan = notePlanAndTail(of: event, entry)
    // The last of several fields with one name is not known before all names were read.
    guard plan.isWritable, !form.hasEachNameOnce || plan.hasDifferentNames, payload.count <= Self.mostPayloadBytes
    else {
      return false
    }
    let time = entry.time
    var (seconds, nanoseconds) = time.quotientAndRemainder(dividingBy: 1_000_000_000)
    if nanoseconds < 0 {
      seconds -= 1
      nanoseconds += 1_000_000_000
    }
    noteSecond(seconds)
    let name = event.hasOwnName ? event.name : ""
    makeRoom(
      Self.headBytes + plan.head.count + plan.textBytes + name.utf8.count * JSONSink.textFactor
        + payload.count * EncodedFields.factor + tail.count)
    guard let start = room.baseAddress else { return false }
    var sink = JSONSink(start)
    let id = entry.id
    switch shape {
    case .provider:
      sink.put("{\"id\":\"")
      sink.put(hexadecimal: id.opening)
      sink.put(hexadecimal: id.sequence)
      sink.put("\",\"offset\":")
      sink.put(entry.offset)
    case .listing:
      sink.put("{\"offset\":")
      sink.put(entry.offset)
      sink.put(",\"id\":\"")
      sink.put(hexadecimal: id.opening)
      sink.put(hexadecimal: id.sequence)
      sink.put(byte: "\"")
    }
    sink.put(",\"time\":\"")
    secondText.withUnsafeBufferPointer { sink.put($0) }
    sink.put(byte: ".")
    sink.put(nanoseconds: Int(nanoseconds))
    if event.hasOwnName {
      sink.put(shape == .provider ? "Z\",\"name\":" : "Z\",\"event\":")
      sink.put(text: name)
      sink.put(",\"fields\":")
    } else {
      plan.head.withUnsafeBufferPointer { head in
        if let start = head.baseAddress { sink.put(padded: start, plan.headBytes) }
      }
    }
    var fields = EncodedFields(payload, sink, form)
    guard fields.write(plan.fields) else { return false }
    sink = fields.sink
    tail.withUnsafeBufferPointer { sink.put($0) }
    bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: sink.place - start))
    return withExtendedLifetime(event) { true }
  }

  /// Returns the plan of an event, and makes the tail that of the event.
  private func notePlanAndTail(of event: EncodedEvent, _ entry: EventBlock.Entry) -> EncodedPlan {
    let isSameContext = lastBlock == ObjectIdentifier(event.block) && lastContext == entry.context
    if isSameContext, lastDefinition == entry.definition, let plan { return plan }
    if !isSameContext {
      tail.removeAll(keepingCapacity: true)
      appendTail(event.context, &tail)
    }
    // Held, so that no other block gets the same identifier.
    last = event
    lastBlock = ObjectIdentifier(event.block)
    lastContext = entry.context
    lastDefinition = entry.definition
    return plan(of: event.definition)
  }

  private func plan(of definition: StoredDefinition) -> EncodedPlan {
    if let plan, plan.definition === definition { return plan }
    // A plan keeps its definition, so an identifier here is never that of another definition.
    let id = ObjectIdentifier(definition)
    if let known = plans[id] {
      plan = known
      return known
    }
    let new = EncodedPlan(definition, shape)
    if plans.count >= Self.mostPlans { plans.removeAll() }
    plans[id] = new
    plan = new
    return new
  }

  private func noteSecond(_ second: Int64) {
    guard second != self.second || secondText.isEmpty else { return }
    secondText.removeAll(keepingCapacity: true)
    UTC.append(Int(second), nanoseconds: nil, to: &secondText)
    secondText.removeLast()
    self.second = second
  }

  private func makeRoom(_ count: Int) {
    guard count > room.count else { return }
    room.deallocate()
    room = .allocate(capacity: max(count, 2 * room.count, 4_096))
  }
}

/// What is the same for all events of a definition.
final class EncodedPlan {
  let definition: StoredDefinition
  /// The text from the time's end to the fields: `Z","name":"checkout.completed","kind":"page_action","fields":`, and
  /// padding.
  let head: [UInt8]
  /// The bytes of the head without its padding.
  let headBytes: Int
  /// The fields of a packed definition; `nil` if each event carries the names of its fields.
  let fields: PackedFields?
  /// Whether events can be written from their bytes.
  let isWritable: Bool
  /// Whether no two fields of an object have the same name, whatever the event.
  let hasDifferentNames: Bool
  /// The most bytes of the names.
  let textBytes: Int

  init(_ definition: StoredDefinition, _ shape: EncodedJSON.Shape) {
    self.definition = definition
    var isTagged = false
    switch definition.layout {
    case .packed(let declared): fields = PackedFields(declared, isInArray: false)
    case .tagged:
      fields = nil
      isTagged = true
    case .unknown: fields = nil
    }
    isWritable = isTagged || fields != nil
    hasDifferentNames = fields?.hasDifferentNames ?? false
    textBytes = fields?.textBytes ?? 0
    var head: [UInt8] = []
    JSONText.append(literal: shape == .provider ? "Z\",\"name\":" : "Z\",\"event\":", to: &head)
    JSONText.append(definition.name, to: &head)
    if shape == .provider, let kind = definition.declaration?.kind {
      JSONText.append(literal: ",\"kind\":", to: &head)
      JSONText.append(kind.rawValue, to: &head)
    }
    JSONText.append(literal: ",\"fields\":", to: &head)
    headBytes = head.count
    self.head = head + [UInt8](repeating: 0, count: JSONSink.padding)
  }
}

/// Declared fields, with the text before each value. Never changed after it is made. A class, because each event would
/// otherwise hold and release three arrays.
final class PackedFields {
  struct Member {
    /// The end of `,"name":` in ``names``; the first member has `{` in place of the comma.
    var end: Int
    var kind: Kind
    /// Of an optional or an array what it contains, and of an object its fields.
    var inner: [Member] = []
    var fields: [PackedFields] = []
  }

  /// A field that has no parts.
  struct Flat {
    /// The bytes of `,"name":` in ``names``.
    var nameBytes: Int
    /// The kind, of an optional the kind within.
    var kind: Kind
    var isOptional: Bool
  }

  /// The texts before the values, one after the other, and padding.
  private(set) var names: [UInt8] = []
  private(set) var members: [Member] = []
  /// The members, if none of them has parts; empty otherwise.
  private(set) var flat: [Flat] = []
  private(set) var textBytes = 2
  private(set) var hasDifferentNames = true

  /// Returns `nil` for fields that an event's size does not bound: names that are repeated in an array.
  init?(_ fields: [Field], isInArray: Bool) {
    guard !isInArray else { return nil }
    for (index, field) in fields.enumerated() {
      names.append(UInt8(ascii: index == 0 ? "{" : ","))
      JSONText.append(field.name, to: &names)
      names.append(UInt8(ascii: ":"))
      guard var member = member(field.kind, isInArray: false) else { return nil }
      member.end = names.count
      members.append(member)
    }
    textBytes += names.count
    names += [UInt8](repeating: 0, count: JSONSink.padding)
    if Set(fields.map(\.name)).count < fields.count { hasDifferentNames = false }
    var start = 0
    for member in members {
      let kind = member.kind == .optional ? member.inner.first?.kind ?? .any : member.kind
      switch kind {
      case .optional, .array, .object, .any:
        flat = []
        return
      default: flat.append(Flat(nameBytes: member.end - start, kind: kind, isOptional: member.kind == .optional))
      }
      start = member.end
    }
  }

  /// Whether there are members, and none of them has parts.
  var isFlat: Bool { !flat.isEmpty }

  private func member(_ kind: FieldKind, isInArray: Bool) -> Member? {
    var member = Member(end: 0, kind: kind.kind)
    switch kind {
    case .optional(let inner):
      guard let inner = self.member(inner, isInArray: isInArray) else { return nil }
      member.inner = [inner]
    case .array(let inner):
      guard let inner = self.member(inner, isInArray: true) else { return nil }
      member.inner = [inner]
    case .object(let fields):
      guard !fields.isEmpty, let fields = PackedFields(fields, isInArray: isInArray) else { return nil }
      member.fields = [fields]
      textBytes += fields.textBytes
      hasDifferentNames = hasDifferentNames && fields.hasDifferentNames
    case .any: hasDifferentNames = false
    default: break
    }
    return member
  }
}

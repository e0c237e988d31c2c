// The conformance to Event that Codable types get without code.
//
// The compiler's code for an enum encodes one nested container, named after the case, with the associated values by
// label. That container becomes the event: "Checkout.completed" with the labels as fields. Anything else that a type
// encodes becomes one event named after the type. The values of a keyed container are its fields; any other value is
// the field "value".

import CCapture

extension Event where Self: Codable {
  /// The type of events that are not a case of an enum. The types of cases are defined when a case is first captured.
  public static var eventTypes: [EventType] { [EventType(tagged: eventName)] }

  public func encode(into encoder: inout EventEncoder) {
    encoder.encodeTagged(self)
  }

  public init?(_ stored: StoredEvent) throws {
    let isDeriving = Self.self is any DerivingEvent.Type
    guard let decoder = EventDecoder(stored, eventName: Self.eventName, isDeriving: isDeriving) else { return nil }
    do {
      try self.init(from: decoder)
    } catch {
      if decoder.foundUnknownCase { return nil }
      throw error
    }
  }
}

/// A `Codable` event with values that follow from it. The values are fields of the event from its capture on: in the
/// log, in every reader and at every provider.
///
/// ```swift
/// enum Profile: Codable, DerivingEvent {
///   static let eventName = "Profile"
///   case saved(name: Bool, photo: Bool)
///
///   var derivedFields: FieldObject {
///     switch self {
///     case .saved(let name, let photo): ["totalFieldsChanged": .int((name ? 1 : 0) + (photo ? 1 : 0))]
///     }
///   }
/// }
/// ```
///
/// Types that encode themselves, such as those of the macro `@Event`, declare such a value as a field and put it. To
/// derive values for one provider, or from rules in a file, see `EventMapper` of WeirDelivery.
///
/// **Cost.** A capture of such an event decodes and encodes the event's fields once more, some microseconds.
public protocol DerivingEvent: Event, Codable {
  /// The derived fields. A field of the event with the same name is never replaced. An event that encodes one value,
  /// which is the field `value`, has the derived fields beside it.
  var derivedFields: FieldObject { get }
}

extension DerivingEvent {
  public func encode(into encoder: inout EventEncoder) {
    encoder.encodeTagged(self, deriving: derivedFields)
  }
}

/// The name of the field that holds a single value or an array.
let singleField = "value"

extension EventEncoder {
  /// Writes an event that encodes itself.
  ///
  /// The lane is released during the encoding. Encoding is slow, runs the user's code, and may define a type. Defining
  /// a type takes a lock, and no thread may wait for that lock while it holds a lane.
  @usableFromInline
  mutating func encodeTagged<E: Event & Encodable>(_ event: E, deriving derived: @autoclosure () -> FieldObject? = nil)
  {
    guard index == Self.unset else { return spoil() }
    // The tracker is not retained: all threads would contend for its reference count.
    let log = tracker._withUnsafeGuaranteedRef { $0.log }
    let room = record.end - record.cursor
    let memory = Scratch.take()
    defer { Scratch.give(memory) }
    let writer = memory._withUnsafeGuaranteedRef { $0.writer }
    fetchAhead(writer.state.pointee.lastBytes)
    weir_cancel(&record)
    record = weir_record()
    index = Self.ended

    // Runs the user's code, so not before the lane is released.
    let added = derived()
    // The limit is the largest event plus the case's name and other bytes that are not part of the event.
    writer.state.pointee.buffer.start(limit: room + 2 * EventType.maximumNameBytes)
    do {
      try memory._withUnsafeGuaranteedRef { try writer.encode(event, into: 0, of: $0) }
    } catch {
      writer.state.pointee.buffer.fail("\(error)")
    }
    let type = writer.state.pointee.buffer.isGood ? type(of: event, in: &writer.state.pointee.buffer, log) : nil
    if let failure = writer.state.pointee.buffer.failure { tracker.takeUnretainedValue().note(E.self, failure) }

    let drop = weir_begin(log, &record)
    guard drop == WEIR_ACCEPTED else {
      outcome = UInt32(drop)
      return
    }
    if writer.state.pointee.buffer.isTooLarge {
      weir_put_raw(&record, nil, .max)  // more than there is room for
      record.signature = WEIR_TAGGED_SIGNATURE
      index = 0
    } else if let type {
      index = Self.named
      outcome = type
      writer.state.pointee.lastBytes = putFields(of: writer.state.pointee.buffer, added)
      if let sampler = tracker._withUnsafeGuaranteedRef({ $0.sampler }) {
        leaveOut(event, type, by: sampler, writer.state.pointee.buffer)
      }
    } else {
      index = Self.misused
    }
  }

  /// Leaves the event out if the sampling rules say so.
  @inline(never)
  private mutating func leaveOut<E: Event>(
    _ event: E, _ type: UInt32, by sampler: Sampler, _ buffer: borrowing TaggedBuffer
  ) {
    let name = buffer.isCase ? "\(E.eventName).\(buffer.caseKey)" : E.eventName
    let userKey = tracker._withUnsafeGuaranteedRef { $0.userKey($0.scopeHere()) }
    let isKept = sampler.keeps(record, userKey: userKey, number: type, of: ObjectIdentifier(E.self)) { name }
    guard !isKept else { return }
    outcome = UInt32(weir_refuse(&record, Int32(WEIR_DROP_SAMPLED)))
    index = Self.ended
  }

  /// Prefetches the cache lines for the next event, assuming that it is about as large as the last. Otherwise the first
  /// atomic operation after the next event would wait for these lines.
  private func fetchAhead(_ bytes: Int) {
    let cacheLine = 64
    let most = 1024
    var at = 0
    while at < min(bytes + Int(WEIR_RECORD_HEADER_BYTES), most) {
      weir_fetch_ahead(record.start + bytes + Int(WEIR_RECORD_HEADER_BYTES) + at)
      at += cacheLine
    }
  }

  /// Puts the encoded fields, and returns their size in bytes.
  private mutating func putFields(of buffer: borrowing TaggedBuffer, _ derived: FieldObject?) -> Int {
    let bytes: UnsafeRawBufferPointer
    if let frame = buffer.fieldsFrame {
      bytes = buffer.contents(of: frame)
      if let derived, !derived.isEmpty, var fields = FieldObject(taggedBytes: bytes) {
        for field in derived where fields[field.name] == nil { fields[field.name] = field.value }
        putTaggedMembers(fields, depth: 0)
        return bytes.count
      }
      weir_put_raw(&record, bytes.baseAddress, UInt64(bytes.count))
    } else {
      var added = FieldObject()
      if let derived {
        for field in derived where field.name != singleField { added[field.name] = added[field.name] ?? field.value }
      }
      weir_put_u32(&record, UInt32(truncatingIfNeeded: 1 + added.count))
      putText(singleField)
      bytes = buffer.value(of: 0)
      weir_put_raw(&record, bytes.baseAddress, UInt64(bytes.count))
      for field in added {
        putText(field.name)
        putTagged(field.value, depth: 1)
      }
    }
    return bytes.count
  }

  /// Returns the type's number of an encoded event, and defines the type if needed. Returns `nil` if the type can't be
  /// defined. The buffer has the reason then, unless the log is closed.
  private func type<E: Event & Encodable>(
    of event: E, in buffer: inout TaggedBuffer, _ log: UnsafeMutablePointer<weir_log>
  ) -> UInt32? {
    let owner = Tracker.owner(E.self)
    if let frame = buffer.caseFrame {
      let known = LogHandle(log).findType(owner: owner, key: buffer.caseName)
      if known != 0, !buffer.hasUnlabelledField {
        buffer.fieldsFrame = frame
        return known
      }
      // Checked only until the type is known: a structure that encodes a nested container itself keeps its own name.
      if known != 0 || Self.isEnum(event) { return newType(of: E.self, frame, in: &buffer) }
    }
    buffer.fieldsFrame = buffer[0].kind == .object ? 0 : nil
    guard let slot = weir_find_owner(log, owner) else { return nil }
    // The fields would be stored under a declaration of other fields, and could not be read.
    guard slot.pointee.isTagged else {
      buffer.fail(Self.undeclared(E.self))
      return nil
    }
    return slot.pointee.first
  }

  @inline(never)
  private static func undeclared<E: Event>(_ type: E.Type, name: String? = nil) -> String {
    let name = name ?? type.eventTypes.first?.name ?? type.eventName
    return "eventTypes declares \(name) with fields that encode(into:) would have to write; declare the event of a "
      + "Codable type with EventType(codable:kind:sensitive:)"
  }

  @inline(never)
  private static func isEnum<E>(_ event: E) -> Bool {
    Mirror(reflecting: event).displayStyle == .enum
  }

  /// Defines the type of a case at the case's first event.
  @inline(never)
  private func newType<E: Event>(of type: E.Type, _ frame: Int, in buffer: inout TaggedBuffer) -> UInt32? {
    let key = buffer.caseKey
    guard !buffer.hasUnlabelledField else {
      buffer.fail("case \(key) has an associated value without a label; give the value a label, which names the field")
      return nil
    }
    let name = "\(type.eventName).\(key)"
    let declared = type.eventTypes.first { $0.name == name } ?? EventType(tagged: name)
    guard declared.isTagged else {
      buffer.fail(Self.undeclared(type, name: name))
      return nil
    }
    buffer.fieldsFrame = frame
    return tracker.takeUnretainedValue().define(type, declared, key: key)
  }
}

extension weir_type_slot {
  /// Whether the first event of the type carries the names of its fields. A sampled type has its signature inverted.
  fileprivate var isTagged: Bool {
    let signature = signatures[0]
    return signature == WEIR_TAGGED_SIGNATURE || signature == ~WEIR_TAGGED_SIGNATURE
  }
}

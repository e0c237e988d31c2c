// The conformance to Event that Codable types get for nothing.
//
// The compiler's code for an enum encodes one nested container, named after the case, with the associated values by
// label. That container becomes the event: "Checkout.completed" with the labels as fields. Anything else that a type
// may encode becomes one event named after the type: a keyed container's values are its fields, any other value is the
// field "value".

import CCapture

extension Event where Self: Codable {
  /// One type for the events that are not a case of an enum. Those of the cases are made as they are met.
  public static var eventTypes: [EventType] { [EventType(tagged: eventName)] }

  public func encode(into encoder: inout EventEncoder) {
    encoder.encodeTagged(self)
  }

  public init?(_ stored: StoredEvent) throws {
    guard let decoder = EventDecoder(stored, eventName: Self.eventName) else { return nil }
    do {
      try self.init(from: decoder)
    } catch {
      if decoder.foundUnknownCase { return nil }
      throw error
    }
  }
}

/// The field of an event whose type encodes a single value or an array.
let singleField = "value"

extension EventEncoder {
  /// Writes an event that encodes itself.
  ///
  /// The lane is given back meanwhile: encoding takes its time, runs the user's code, and may define a type, for which
  /// a lock is needed that no thread may wait for while it holds up a lane.
  @usableFromInline
  mutating func encodeTagged<E: Event & Encodable>(_ event: E) {
    guard index == Self.unset else { return spoil() }
    // The tracker is not retained: all threads would contend for its count of references.
    let log = tracker._withUnsafeGuaranteedRef { $0.log }
    let room = record.end - record.cursor
    let memory = Scratch.take()
    defer { Scratch.give(memory) }
    let writer = memory._withUnsafeGuaranteedRef { $0.writer }
    fetchAhead(writer.state.pointee.lastBytes)
    weir_cancel(&record)
    record = weir_record()
    index = Self.ended

    // The largest event, and the case's name and the like, which do not go into it.
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
      index = 0
    } else if let type {
      index = Self.named
      outcome = type
      writer.state.pointee.lastBytes = putFields(of: writer.state.pointee.buffer)
      if let sampler = tracker._withUnsafeGuaranteedRef({ $0.sampler }) {
        leaveOut(event, type, by: sampler, writer.state.pointee.buffer)
      }
    } else {
      index = Self.misused
    }
  }

  /// Ends the event if the rules of sampling say so.
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

  /// Asks for the cache lines that the next event will be put into, if it is about as large as the last one. They are
  /// there by then; without this, the first atomic operation after the event waited for them.
  private func fetchAhead(_ bytes: Int) {
    let cacheLine = 64
    let most = 1024
    var at = 0
    while at < min(bytes + Int(WEIR_RECORD_HEADER_BYTES), most) {
      weir_fetch_ahead(record.start + bytes + Int(WEIR_RECORD_HEADER_BYTES) + at)
      at += cacheLine
    }
  }

  /// Puts the fields as they were encoded; answers how many bytes.
  private mutating func putFields(of buffer: borrowing TaggedBuffer) -> Int {
    let bytes: UnsafeRawBufferPointer
    if let frame = buffer.fieldsFrame {
      bytes = buffer.contents(of: frame)
    } else {
      weir_put_u32(&record, 1)
      putText(singleField)
      bytes = buffer.value(of: 0)
    }
    weir_put_raw(&record, bytes.baseAddress, UInt64(bytes.count))
    return bytes.count
  }

  /// The number of an encoded event's type, which is made if need be. Nil if it can't be; the buffer then says why, or
  /// the log is closed.
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
      // Asked only until the type is known: a structure that encodes a nested container itself keeps its own name.
      if known != 0 || Self.isEnum(event) { return newType(of: E.self, frame, in: &buffer) }
    }
    buffer.fieldsFrame = buffer[0].kind == .object ? 0 : nil
    return weir_find_owner(log, owner)?.pointee.first
  }

  @inline(never)
  private static func isEnum<E>(_ event: E) -> Bool {
    Mirror(reflecting: event).displayStyle == .enum
  }

  /// The type of a case's first event.
  @inline(never)
  private func newType<E: Event>(of type: E.Type, _ frame: Int, in buffer: inout TaggedBuffer) -> UInt32? {
    let key = buffer.caseKey
    guard !buffer.hasUnlabelledField else {
      buffer.fail("case \(key) has an associated value without a label; give it one, for the log needs a name")
      return nil
    }
    buffer.fieldsFrame = frame
    return tracker.takeUnretainedValue().define(type, EventType(tagged: "\(type.eventName).\(key)"), key: key)
  }
}

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
    let tracker = tracker.takeUnretainedValue()
    let room = record.end - record.cursor
    weir_cancel(&record)
    record = weir_record()
    index = Self.ended

    var writer = Scratch.take()
    defer { Scratch.give(&writer) }
    // The largest event, and the case's name and the like, which do not go into it.
    writer.buffer.pointee.start(limit: room + 2 * EventType.maximumNameBytes)
    do {
      try writer.encode(event, into: 0)
    } catch {
      writer.buffer.pointee.fail("\(error)")
    }
    let type = writer.buffer.pointee.isGood ? tracker.type(of: event, in: writer) : nil
    if let failure = writer.buffer.pointee.failure { tracker.note(E.self, failure) }

    let drop = weir_begin(tracker.log, &record)
    guard drop == WEIR_ACCEPTED else {
      outcome = UInt32(drop)
      return
    }
    if writer.buffer.pointee.isTooLarge {
      weir_put_raw(&record, nil, .max)  // more than there is room for
      index = 0
    } else if let type {
      index = Self.named
      outcome = type
      putFields(of: writer)
    } else {
      index = Self.misused
    }
  }

  /// Puts the fields as they were encoded.
  private mutating func putFields(of writer: TaggedWriter) {
    let bytes: UnsafeRawBufferPointer
    if let frame = writer.buffer.pointee.fieldsFrame {
      bytes = writer.buffer.pointee.contents(of: frame)
    } else {
      weir_put_u32(&record, 1)
      putText(singleField)
      bytes = writer.buffer.pointee.value(of: 0)
    }
    weir_put_raw(&record, bytes.baseAddress, UInt64(bytes.count))
  }
}

extension Tracker {
  /// The number of an encoded event's type, which is made if need be. Nil if it can't be; the writer then says why, or
  /// the log is closed.
  fileprivate func type<E: Event & Encodable>(of event: E, in writer: TaggedWriter) -> UInt32? {
    let owner = Self.owner(E.self)
    if let frame = writer.buffer.pointee.caseFrame, let key = writer.buffer.pointee.key(of: frame) {
      let known = handle.findType(owner: owner, key: key)
      // Asked only until the type is known: a structure that encodes a nested container itself keeps its own name.
      if known != 0 || Mirror(reflecting: event).displayStyle == .enum {
        guard !writer.buffer.pointee.hasUnlabelledField else {
          writer.buffer.pointee.fail(
            "case \(key) has an associated value without a label; give it one, for the log needs a name")
          return nil
        }
        writer.buffer.pointee.fieldsFrame = frame
        return known != 0 ? known : define(E.self, EventType(tagged: "\(E.eventName).\(key)"), key: key)
      }
    }
    writer.buffer.pointee.fieldsFrame = writer.buffer.pointee.frames[0].kind == .object ? 0 : nil
    return weir_find_owner(log, owner)?.pointee.first
  }
}

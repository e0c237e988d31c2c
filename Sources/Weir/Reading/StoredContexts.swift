// StoredContexts: the contexts of events, as a reader finds them.

import CCapture
import CWeir

/// Joins an event with its global context, which is parsed once, and with its scope, which is parsed once for events in
/// a row that have the same: those of one request, mostly. Trusts none of the bytes.
struct StoredContexts {
  /// The most that is kept; a log with more in it has many openings, and is parsed again from there on.
  private static let maximumKept = 1024

  /// By the reader's number of a context.
  private var global: [UInt64: EventContext] = [:]

  /// The last event's scope, in which global context, and what came of it.
  private var lastScope: [UInt8] = []
  private var lastGlobal: UInt64 = 0
  private var lastContext: EventContext?

  mutating func context(of event: weir_event) -> EventContext {
    guard let scope = event.scope else { return globalContext(of: event) }
    let bytes = UnsafeRawBufferPointer(start: scope, count: Int(event.scope_bytes))
    // A context that is lost has number 0, as none has: the two are not the same.
    if event.context_number == 0 || event.context_definition != 0, let lastContext,
      lastGlobal == event.context_definition, bytes.elementsEqual(lastScope)
    {
      return lastContext
    }
    let global = globalContext(of: event)
    let object = FieldObject(taggedBytes: bytes)
    let context = object.map { global.with(scope: $0) } ?? global.with(unreadableScope: bytes)
    if event.context_number == 0 || event.context_definition != 0 {
      lastScope = Array(bytes)
      lastGlobal = event.context_definition
      lastContext = context
    }
    return context
  }

  private mutating func globalContext(of event: weir_event) -> EventContext {
    guard event.context_number != 0 else { return EventContext() }
    guard let bytes = event.context else {
      var lost = EventContext()
      lost.isGlobalPartLost = true
      return lost
    }
    if let known = global[event.context_definition] { return known }
    let object = FieldObject(
      taggedBytes: UnsafeRawBufferPointer(start: bytes, count: Int(event.context_bytes)))
    var context = EventContext(global: object ?? [:])
    context.isGlobalPartLost = object == nil
    if global.count >= Self.maximumKept { global.removeAll() }
    global[event.context_definition] = context
    return context
  }
}

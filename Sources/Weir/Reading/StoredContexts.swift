// StoredContexts: the contexts of the events that a reader returns.

import CCapture
import CWeir

/// Joins an event with its global context and its bound scope. A global context is parsed once. A scope is parsed once
/// for consecutive events with equal scopes, which are mostly those of one request. The bytes are not trusted.
struct StoredContexts {
  /// The maximum number of cached contexts. A log with more contexts has many openings, and is parsed again from there.
  private static let maximumKept = 1024

  /// The global contexts, by the reader's number.
  private var global: [UInt64: EventContext] = [:]

  /// The last event's scope, its global context, and the resulting context.
  private var lastScope: [UInt8] = []
  private var lastGlobal: UInt64 = 0
  private var lastContext: EventContext?

  mutating func context(of event: weir_event) -> EventContext {
    guard let scope = event.scope else { return globalContext(of: event) }
    let bytes = UnsafeRawBufferPointer(start: scope, count: Int(event.scope_bytes))
    // A lost context has definition number 0, and so has a missing context. The two must not be confused.
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

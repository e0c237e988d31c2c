// EventBlockBuilder: copies events out of the core reader's memory into a block.

import CCapture
import CWeir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Collects events for an ``EventBlock``.
struct EventBlockBuilder {
  private(set) var entries: [EventBlock.Entry] = []
  private(set) var bytes: [UInt8] = []
  private(set) var definitions: [StoredDefinition] = []
  private(set) var names: [String] = []
  private(set) var contexts: [EventContext] = []
  private(set) var origins: [EventBlock.Origin] = []

  /// The core's numbers of the last event's definition and context: mostly those of the next event, too.
  private var lastDefinition: UInt64?
  private var lastContext: (number: UInt64, isMissing: Bool, hasScope: Bool)?
  private var lastScope: [UInt8] = []
  private var lastName: [UInt8] = []
  private var lastBoot: UInt128?
  private var lastHost: [UInt8] = []
  /// The marks by the last definition, name and context.
  private var definitionMarks: EventBlock.Marks = []
  private var nameIsOfTheLog = false
  private var contextMarks: EventBlock.Marks = []

  init(capacity: Int, bytes byteCapacity: Int) {
    entries.reserveCapacity(capacity)
    bytes.reserveCapacity(byteCapacity)
  }

  var isEmpty: Bool { entries.isEmpty }

  /// Copies an event. `definition` and `context` are called if the event does not share them with the event before.
  mutating func add(
    _ event: weir_event, definition: () -> StoredDefinition, context: () -> EventContext
  ) {
    if lastDefinition != event.definition {
      lastDefinition = event.definition
      let definition = definition()
      definitions.append(definition)
      definitionMarks = definition.isOfTheLog ? .isOfTheLog : definition.isPlain ? .isPlain : []
    }
    noteContext(event, context)
    noteOrigin(event)
    var name: Int32 = -1
    var marks = definitionMarks
    if event.type == LogHandle.dynamicType {
      name = indexOfName(event)
      if nameIsOfTheLog { marks = .isOfTheLog }
    }
    if !contextMarks.contains(.isPlain) { marks.remove(.isPlain) }
    if contextMarks.contains(.namesUserWithTraits) { marks.insert(.namesUserWithTraits) }
    let start = bytes.count
    bytes.append(contentsOf: UnsafeRawBufferPointer(start: event.payload, count: Int(event.payload_bytes)))
    entries.append(
      EventBlock.Entry(
        offset: event.offset, id: EventID(opening: event.id.opening, sequence: event.id.sequence), time: event.time_ns,
        monotonic: event.monotonic_ns, start: UInt32(start), count: UInt32(event.payload_bytes),
        scopeCount: event.scope_bytes, definition: UInt32(definitions.count - 1), name: name,
        context: UInt32(contexts.count - 1), origin: UInt32(origins.count - 1), marks: marks))
  }

  private mutating func indexOfName(_ event: weir_event) -> Int32 {
    let name = UnsafeRawBufferPointer(start: event.name, count: Int(event.name_bytes))
    if names.isEmpty || !Self.equal(lastName, name) {
      lastName = Array(name)
      let text = StoredDefinition.name(of: event)
      names.append(text)
      nameIsOfTheLog = text.hasPrefix(EventType.reservedPrefix)
    }
    return Int32(names.count - 1)
  }

  private mutating func noteOrigin(_ event: weir_event) {
    let boot = withUnsafeBytes(of: event.boot_id) { $0.loadUnaligned(as: UInt128.self) }
    let host = UnsafeRawBufferPointer(start: event.host, count: Int(event.host_bytes))
    guard lastBoot != boot || !Self.equal(lastHost, host) else { return }
    lastBoot = boot
    lastHost = Array(host)
    origins.append(EventBlock.Origin(event))
  }

  private mutating func noteContext(_ event: weir_event, _ context: () -> EventContext) {
    let isMissing = event.context_number == 0
    let scope = UnsafeRawBufferPointer(start: event.scope, count: Int(event.scope_bytes))
    // A lost context has definition number 0, and so has a missing context. The two must not be confused, and two lost
    // contexts may differ.
    let isKnown = isMissing || event.context_definition != 0
    if isKnown, let last = lastContext, last.number == event.context_definition, last.isMissing == isMissing,
      last.hasScope == (event.scope != nil), event.scope == nil || Self.equal(lastScope, scope)
    {
      return
    }
    lastContext = isKnown ? (event.context_definition, isMissing, event.scope != nil) : nil
    lastScope = Array(scope)
    let new = context()
    contexts.append(new)
    contextMarks = new.needsRedaction ? [] : .isPlain
    if let user = new.user, !user.id.isEmpty, !user.traits.isEmpty { contextMarks.insert(.namesUserWithTraits) }
  }

  private static func equal(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard known.count == bytes.count, let start = bytes.baseAddress else { return known.count == bytes.count }
    return memcmp(known, start, known.count) == 0
  }
}

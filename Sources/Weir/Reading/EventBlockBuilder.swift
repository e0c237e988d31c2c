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

  /// The core's numbers of the last event's definition and context: mostly those of the next event, too.
  private var lastDefinition: UInt64?
  private var lastContext: (number: UInt64, isMissing: Bool, hasScope: Bool)?
  private var lastScope: [UInt8] = []
  private var lastName: [UInt8] = []
  private var lastBoot: (bytes: UInt128, id: UUID?)?

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
      definitions.append(definition())
    }
    let name = event.type == LogHandle.dynamicType ? indexOfName(event) : -1
    noteContext(event, context)
    let start = bytes.count
    bytes.append(contentsOf: UnsafeRawBufferPointer(start: event.payload, count: Int(event.payload_bytes)))
    entries.append(
      EventBlock.Entry(
        offset: event.offset, id: EventID(opening: event.id.opening, sequence: event.id.sequence), time: event.time_ns,
        monotonic: event.monotonic_ns, boot: boot(event), start: start, count: Int(event.payload_bytes),
        scopeCount: Int(event.scope_bytes), definition: definitions.count - 1, name: name,
        context: contexts.count - 1))
  }

  private mutating func indexOfName(_ event: weir_event) -> Int {
    let name = UnsafeRawBufferPointer(start: event.name, count: Int(event.name_bytes))
    if !names.isEmpty, Self.equal(lastName, name) { return names.count - 1 }
    lastName = Array(name)
    names.append(StoredDefinition.name(of: event))
    return names.count - 1
  }

  private mutating func boot(_ event: weir_event) -> UUID? {
    let bytes = withUnsafeBytes(of: event.boot_id) { $0.loadUnaligned(as: UInt128.self) }
    if let lastBoot, lastBoot.bytes == bytes { return lastBoot.id }
    let id = UUID(boot: event.boot_id)
    lastBoot = (bytes, id)
    return id
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
    contexts.append(context())
  }

  private static func equal(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard known.count == bytes.count, let start = bytes.baseAddress else { return known.count == bytes.count }
    return memcmp(known, start, known.count) == 0
  }
}

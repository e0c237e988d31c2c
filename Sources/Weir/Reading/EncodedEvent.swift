// EncodedEvent: an event as its bytes in the log, decoded only where somebody asks.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Consecutive events of a log as an ``EventReader`` found them: their bytes in one array, and what they share once. A
/// block never changes.
///
/// An event costs no allocation and no decoding. One event keeps the memory of the whole block: of an event that waits
/// for long, keep ``EncodedEvent/stored``.
package final class EventBlock: Sendable {
  /// The place of an event's parts.
  struct Entry: Sendable {
    var offset: Offset
    var id: EventID
    var time: Int64
    /// `Int64.min` if the time is not known.
    var monotonic: Int64
    /// `nil` if the boot is not known.
    var boot: UUID?
    /// The payload's place in the bytes.
    var start: Int
    var count: Int
    var scopeCount: Int
    var definition: Int
    /// The index of the name of an event that carries its own name; -1 for the definition's name.
    var name: Int
    var context: Int
  }

  fileprivate let entries: [Entry]
  /// Memory of the block, so that its place stays the same.
  nonisolated(unsafe) fileprivate let bytes: UnsafeRawBufferPointer
  fileprivate let definitions: [StoredDefinition]
  fileprivate let names: [String]
  fileprivate let contexts: [EventContext]
  fileprivate let contextMarks: [ContextMarks]

  init(_ builder: EventBlockBuilder) {
    entries = builder.entries
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: builder.bytes.count, alignment: 8)
    bytes.copyBytes(from: builder.bytes)
    self.bytes = UnsafeRawBufferPointer(bytes)
    definitions = builder.definitions
    names = builder.names
    contexts = builder.contexts
    contextMarks = builder.contexts.map(ContextMarks.init)
  }

  deinit { bytes.deallocate() }

  /// The number of events, at least 1.
  package var count: Int { entries.count }

  package subscript(index: Int) -> EncodedEvent { EncodedEvent(block: self, index: index) }
}

/// What is asked of the context of every event.
private struct ContextMarks: Sendable {
  var isPlain: Bool
  var namesUserWithTraits: Bool
  var userHash: UInt64?

  init(_ context: EventContext) {
    isPlain = !context.needsRedaction
    namesUserWithTraits = context.user.map { !$0.id.isEmpty && !$0.traits.isEmpty } ?? false
    userHash = context.user.map { UInt64(bitPattern: Int64($0.id.hashValue)) }
  }
}

/// An event as its bytes in the log. Copies share the bytes.
package struct EncodedEvent: Sendable {
  fileprivate let block: EventBlock
  fileprivate let index: Int

  package var offset: Offset { block.entries[index].offset }
  package var id: EventID { block.entries[index].id }
  package var time: Timestamp { Timestamp(nanosecondsSince1970: block.entries[index].time) }
  package var definition: StoredDefinition { block.definitions[block.entries[index].definition] }
  package var context: EventContext { block.contexts[block.entries[index].context] }

  package var name: String {
    let own = block.entries[index].name
    return own < 0 ? definition.name : block.names[own]
  }

  /// Whether the event carries its own name, and its definition has none.
  package var hasOwnName: Bool { block.entries[index].name >= 0 }

  /// The size of the fields and the bound scope, in bytes.
  package var byteCount: Int { block.entries[index].count + block.entries[index].scopeCount }

  /// Whether the other event is known to have the same context: it is of the same block, and has its context from
  /// there.
  package func sharesContext(with other: EncodedEvent) -> Bool {
    block === other.block && block.entries[index].context == block.entries[other.index].context
  }

  /// Whether the context has a user with an id and traits.
  package var namesUserWithTraits: Bool { block.contextMarks[block.entries[index].context].namesUserWithTraits }

  /// A hash of the user's id in this process; `nil` without a user.
  package var userHash: UInt64? { block.contextMarks[block.entries[index].context].userHash }

  /// A hash of the name in this process.
  package var nameHash: UInt64 {
    let own = block.entries[index].name
    return own < 0 ? definition.nameHash : UInt64(bitPattern: Int64(block.names[own].hashValue))
  }

  /// Whether nothing of the event is sensitive, as far as its declaration and its context show. Only a payload that
  /// does not fit its definition is redacted then.
  package var isPlain: Bool {
    definition.isPlain && !isOfTheLog && block.contextMarks[block.entries[index].context].isPlain
  }

  /// Whether the log itself wrote the event: its name has the reserved prefix.
  package var isOfTheLog: Bool {
    let own = block.entries[index].name
    return own < 0 ? definition.isOfTheLog : block.names[own].hasPrefix(EventType.reservedPrefix)
  }

  /// The encoded fields, which are not trusted. Valid as long as the event or another event of its block is held: see
  /// `withExtendedLifetime`.
  package var payload: UnsafeRawBufferPointer {
    let entry = block.entries[index]
    return UnsafeRawBufferPointer(rebasing: block.bytes[entry.start..<entry.start + entry.count])
  }

  /// The event, decoded. Each access decodes the event again.
  package var stored: StoredEvent {
    let entry = block.entries[index]
    let definition = definition
    // Checksums cover the bytes, but the bytes may not fit the definition. In that case the bytes are returned as they
    // are.
    let fields = withExtendedLifetime(block) {
      (try? definition.fields(of: payload)) ?? [unreadField: .bytes(Array(payload))]
    }
    return StoredEvent(
      offset: entry.offset, id: entry.id, time: Timestamp(nanosecondsSince1970: entry.time), name: name, fields: fields,
      declaration: definition.declaration, context: context,
      monotonicNanoseconds: entry.monotonic == .min ? nil : entry.monotonic, bootID: entry.boot)
  }
}

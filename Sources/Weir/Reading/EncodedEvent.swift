// EncodedEvent: an event as its bytes in the log, decoded only where somebody asks.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Consecutive events of a log as an ``EventReader`` found them: their bytes in one piece of memory, and what they
/// share once. A block never changes.
///
/// An event costs no allocation and no decoding. One event keeps the memory of the whole block: of an event that waits
/// for long, keep ``EncodedEvent/stored``.
package final class EventBlock: Sendable {
  /// What is asked of every event.
  package struct Marks: OptionSet, Sendable {
    package let rawValue: UInt8

    @inlinable
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// See ``EncodedEvent/isPlain``.
    @inlinable package static var isPlain: Marks { Marks(rawValue: 1) }
    /// See ``EncodedEvent/isOfTheLog``.
    @inlinable package static var isOfTheLog: Marks { Marks(rawValue: 2) }
    /// See ``EncodedEvent/namesUserWithTraits``.
    @inlinable package static var namesUserWithTraits: Marks { Marks(rawValue: 4) }
  }

  /// Where events were captured.
  struct Origin: Sendable {
    var boot: UUID?
    var host: String?
  }

  /// The place of an event's parts.
  package struct Entry: Sendable {
    package var offset: Offset
    package var id: EventID
    package var time: Int64
    /// `Int64.min` if the time is not known.
    var monotonic: Int64
    /// The payload's place in the bytes.
    package var start: UInt32
    package var count: UInt32
    package var scopeCount: UInt32
    /// The index of the definition, the same for the next event that has the same definition.
    package var definition: UInt32
    /// The index of the name of an event that carries its own name; -1 for the definition's name.
    package var name: Int32
    /// The index of the context, the same for the next event that has the same context.
    package var context: UInt32
    /// The index of the boot and the host.
    var origin: UInt32
    package var marks: Marks

    /// The size of the fields and the bound scope, in bytes.
    @inlinable package var byteCount: Int { Int(count) + Int(scopeCount) }
  }

  /// Memory after the last byte of a payload that may be read, and means nothing: texts are copied in pieces.
  private static let slack = 16

  /// Memory of the block, so that its place stays the same.
  package nonisolated(unsafe) let entries: UnsafeBufferPointer<Entry>
  /// The payloads, which are not trusted. Valid as long as the block or an event of it is held: see
  /// `withExtendedLifetime`.
  package nonisolated(unsafe) let bytes: UnsafeRawBufferPointer
  package let definitions: [StoredDefinition]
  fileprivate let names: [String]
  fileprivate let contexts: [EventContext]
  fileprivate let origins: [Origin]
  fileprivate let userHashes: [UInt64?]

  init(_ builder: EventBlockBuilder) {
    let entries = UnsafeMutableBufferPointer<Entry>.allocate(capacity: builder.entries.count)
    _ = entries.initialize(from: builder.entries)
    self.entries = UnsafeBufferPointer(entries)
    let count = builder.bytes.count
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count + Self.slack, alignment: 8)
    bytes.copyBytes(from: builder.bytes)
    bytes[count...].initializeMemory(as: UInt8.self, repeating: 0)
    self.bytes = UnsafeRawBufferPointer(rebasing: bytes[..<count])
    definitions = builder.definitions
    names = builder.names
    contexts = builder.contexts
    origins = builder.origins
    userHashes = builder.contexts.map { context in
      context.user.map { UInt64(bitPattern: Int64($0.id.hashValue)) }
    }
  }

  deinit {
    entries.deallocate()
    bytes.deallocate()
  }

  /// The number of events, at least 1.
  @inlinable package var count: Int { entries.count }

  @inlinable
  package subscript(index: Int) -> EncodedEvent { EncodedEvent(block: self, index: index) }

  /// A hash of the user's id in this process, for an entry's context; `nil` without a user.
  package func userHash(_ entry: Entry) -> UInt64? { userHashes[Int(entry.context)] }

  /// A hash of the event's name in this process.
  package func nameHash(_ entry: Entry) -> UInt64 {
    entry.name < 0
      ? definitions[Int(entry.definition)].nameHash : UInt64(bitPattern: Int64(names[Int(entry.name)].hashValue))
  }

  /// The encoded fields of an event.
  @inlinable
  package func payload(_ entry: Entry) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[Int(entry.start)..<Int(entry.start) + Int(entry.count)])
  }
}

/// An event as its bytes in the log. Copies share the bytes.
package struct EncodedEvent: Sendable {
  package let block: EventBlock
  package let index: Int

  @inlinable
  package init(block: EventBlock, index: Int) {
    self.block = block
    self.index = index
  }

  @inlinable package var entry: EventBlock.Entry { block.entries[index] }

  @inlinable package var offset: Offset { entry.offset }
  @inlinable package var id: EventID { entry.id }
  package var time: Timestamp { Timestamp(nanosecondsSince1970: entry.time) }
  package var definition: StoredDefinition { block.definitions[Int(entry.definition)] }
  package var context: EventContext { block.contexts[Int(entry.context)] }

  package var name: String {
    let own = entry.name
    return own < 0 ? definition.name : block.names[Int(own)]
  }

  /// Whether the event carries its own name, and its definition has none.
  @inlinable package var hasOwnName: Bool { entry.name >= 0 }

  /// The size of the fields and the bound scope, in bytes.
  @inlinable package var byteCount: Int { entry.byteCount }

  /// Whether the context has a user with an id and traits.
  @inlinable package var namesUserWithTraits: Bool { entry.marks.contains(.namesUserWithTraits) }

  /// Whether nothing of the event is sensitive, as far as its declaration and its context show. Only a payload that
  /// does not fit its definition is redacted then.
  @inlinable package var isPlain: Bool { entry.marks.contains(.isPlain) }

  /// Whether the log itself wrote the event: its name has the reserved prefix.
  @inlinable package var isOfTheLog: Bool { entry.marks.contains(.isOfTheLog) }

  /// The encoded fields, which are not trusted. Valid as long as the event or another event of its block is held: see
  /// `withExtendedLifetime`.
  @inlinable package var payload: UnsafeRawBufferPointer { block.payload(entry) }

  /// The event, decoded. Each access decodes the event again.
  package var stored: StoredEvent {
    let entry = entry
    let definition = definition
    // Checksums cover the bytes, but the bytes may not fit the definition. In that case the bytes are returned as they
    // are.
    let fields = withExtendedLifetime(block) {
      (try? definition.fields(of: payload)) ?? [unreadField: .bytes(Array(payload))]
    }
    let origin = block.origins[Int(entry.origin)]
    return StoredEvent(
      offset: entry.offset, id: entry.id, time: Timestamp(nanosecondsSince1970: entry.time), name: name, fields: fields,
      declaration: definition.declaration, context: context,
      monotonicNanoseconds: entry.monotonic == .min ? nil : entry.monotonic, bootID: origin.boot, host: origin.host)
  }
}

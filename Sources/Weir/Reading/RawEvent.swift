// RawEvent: an event as its bytes are stored, before any value is built.

import CCapture
import CWeir

/// An event as its bytes are stored. Valid until the next call of its reader, which it must not outlive.
package struct RawEvent {
  /// The reader's: a copy of a structure of this size at each event took a third of an inspector's time.
  fileprivate let core: UnsafePointer<weir_event>

  fileprivate init(_ core: UnsafePointer<weir_event>) { self.core = core }

  package var offset: Offset { core.pointee.offset }

  package var id: EventID { EventID(opening: core.pointee.id.opening, sequence: core.pointee.id.sequence) }

  /// A key to cache by, within the reader: equal only for events with the same definition.
  package var definition: UInt64 { core.pointee.definition }

  /// Whether the event carries its own name, and ``definition`` tells nothing of it.
  package var isDynamic: Bool { core.pointee.type == LogHandle.dynamicType }

  /// The bytes of the fields.
  package var payload: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: core.pointee.payload, count: Int(core.pointee.payload_bytes))
  }
}

extension EventReader {
  /// Returns the next event without building its values, or `nil` if there is none at present.
  package func nextRaw() throws(WeirError) -> RawEvent? { try nextCore().map { RawEvent($0) } }

  /// Builds the event.
  package func event(_ raw: RawEvent) -> StoredEvent { stored(raw.core.pointee) }

  /// Returns the context of an event. The context of consecutive events that were captured in one place is built once.
  package func context(of raw: RawEvent) -> EventContext { context(of: raw.core.pointee) }

  /// Returns the name and the definition of an event.
  package func definition(
    of raw: RawEvent
  ) -> (name: String, declaration: EventType?, layout: StoredDefinition.Layout) {
    let definition = definition(of: raw.core.pointee)
    return (
      raw.isDynamic ? StoredDefinition.name(of: raw.core.pointee) : definition.name, definition.declaration,
      definition.layout
    )
  }
}

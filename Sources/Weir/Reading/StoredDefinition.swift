// StoredDefinition: the definition of an event, as a reader found it.

import CCapture
import CWeir

/// The definition of an event, as a reader found it. The bytes are not trusted.
package final class StoredDefinition: Sendable {
  /// The encoding of the payload.
  package enum Layout: Sendable {
    case packed([Field])
    case tagged
    /// The definition is lost or invalid.
    case unknown
  }

  package let name: String
  package let layout: Layout

  /// The declaration of the program that captured the event; `nil` if the program declared only a name.
  package let declaration: EventType?

  /// Whether the log itself writes such events: the name has the reserved prefix.
  package let isOfTheLog: Bool

  /// Whether the fields can be read, and none of them is declared to be sensitive.
  package let isPlain: Bool

  /// A hash of the name in this process.
  package let nameHash: UInt64

  init(_ event: weir_event) {
    name = Self.name(of: event)
    let bytes = UnsafeRawBufferPointer(start: event.attributes, count: Int(event.attributes_bytes))
    let attributes = bytes.isEmpty ? nil : FieldObject(taggedBytes: bytes)
    if event.type_tagged != 0 {
      layout = .tagged
      declaration = attributes.map { EventType(tagged: Self.name(of: event)).with($0) }
    } else if let fields = event.fields {
      let bytes = UnsafeRawBufferPointer(start: fields, count: Int(event.fields_bytes))
      var reader = DefinitionReader(bytes)
      let fields = try? reader.fields(count: Int(event.field_count))
      layout = fields.map { .packed($0) } ?? .unknown
      declaration = fields.map { EventType(Self.name(of: event), $0).with(attributes ?? [:]) }
    } else {
      layout = event.type == LogHandle.dynamicType ? .tagged : .unknown
      declaration = nil
    }
    isOfTheLog = event.type != LogHandle.dynamicType && name.hasPrefix(EventType.reservedPrefix)
    nameHash = UInt64(bitPattern: Int64(name.hashValue))
    isPlain = !isOfTheLog && !layout.isUnknown && !(declaration?.fields.contains(where: \.holdsSensitive) ?? false)
  }

  static func name(of event: weir_event) -> String {
    let bytes = UnsafeRawBufferPointer(start: event.name, count: Int(event.name_bytes))
    return bytes.isEmpty ? StoredEvent.undefinedName : String(decoding: bytes, as: UTF8.self)
  }

  func fields(of payload: UnsafeRawBufferPointer) throws(Malformed) -> FieldObject {
    var reader = PayloadReader(payload)
    switch layout {
    case .packed(let fields): return try reader.packed(fields)
    case .tagged: return try reader.tagged()
    case .unknown: throw Malformed()
    }
  }
}

extension StoredDefinition.Layout {
  fileprivate var isUnknown: Bool { if case .unknown = self { true } else { false } }
}

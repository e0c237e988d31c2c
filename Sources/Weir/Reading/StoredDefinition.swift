// StoredDefinition: the definition of an event, as a reader found it.

import CCapture
import CWeir

/// The definition of an event, as a reader found it. The bytes are not trusted.
struct StoredDefinition {
  /// The encoding of the payload.
  private enum Layout {
    case packed([Field])
    case tagged
    /// The definition is lost or invalid.
    case unknown
  }

  let name: String
  private let layout: Layout

  /// The declaration of the program that captured the event; `nil` if the program declared only a name.
  let declaration: EventType?

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

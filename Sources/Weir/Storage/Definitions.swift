// Definitions: event types in the form that the core takes them.

import CWeir

/// Event types, laid out for the core. Everything that a C structure points to lies in two buffers of this object.
final class Definitions {
  private var names: [[CChar]] = []
  private var fields: [[UInt8]] = []
  private let types: [EventType]

  init(_ types: [EventType]) throws(WeirError) {
    self.types = types
    for type in types {
      guard let encoded = type.encodedFields() else {
        throw WeirError(
          .limit,
          "the fields of \(type.name) can't be written down: a name is longer than 65,535 bytes, kinds are nested "
            + "deeper than \(maximumDepth), or an object has no fields or too many; declare fewer or shorter ones")
      }
      guard !type.name.utf8.contains(0) else {
        throw WeirError(.invalid, "the name of an event holds a zero byte; choose another")
      }
      fields.append(encoded)
      names.append(type.name.utf8CString.map { $0 })
    }
  }

  /// Calls `body` with the definitions, which are valid during the call.
  func withCore<Result>(_ body: (UnsafeBufferPointer<weir_definition>) -> Result) -> Result {
    let nameStorage = names.flatMap { $0 }
    let fieldStorage = fields.flatMap { $0 }
    return nameStorage.withUnsafeBufferPointer { nameBytes in
      fieldStorage.withUnsafeBufferPointer { fieldBytes in
        var definitions: [weir_definition] = []
        var nameAt = 0
        var fieldsAt = 0
        for (index, type) in types.enumerated() {
          var definition = weir_definition()
          definition.name = nameBytes.baseAddress?.advanced(by: nameAt)
          definition.encoded = fieldBytes.baseAddress?.advanced(by: fieldsAt)
          definition.encoded_bytes = UInt32(clamping: fields[index].count)
          definition.field_count = UInt32(clamping: type.fields.count)
          definition.tagged = type.isTagged ? 1 : 0
          definitions.append(definition)
          nameAt += names[index].count
          fieldsAt += fields[index].count
        }
        return definitions.withUnsafeBufferPointer(body)
      }
    }
  }
}

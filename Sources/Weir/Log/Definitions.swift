// Definitions: event types in the form that the core takes.

import CWeir

/// Event types, laid out for the core. The C structures point into three buffers of this object.
final class Definitions {
  private var names: [[CChar]] = []
  private var fields: [[UInt8]] = []
  private var attributes: [[UInt8]] = []
  private let types: [EventType]
  private let sampled: [Bool]

  /// `sampled` tells for each type whether a sampling rule applies.
  init(_ types: [EventType], sampled: [Bool]) throws(WeirError) {
    self.types = types
    self.sampled = sampled
    for type in types {
      // Events that carry the names of their fields declare marks of sensitive fields only, which are attributes.
      guard let encoded = type.isTagged ? [] : type.encodedFields() else {
        throw WeirError(
          .limit,
          "the fields of \(type.name) can't be encoded: a name is longer than 65,535 bytes, kinds are nested more than "
            + "\(maximumDepth) deep, or an object has no fields or too many; declare fewer or shorter fields")
      }
      guard !type.name.utf8.contains(0) else {
        throw WeirError(.invalid, "the name of an event contains a NUL; choose another name")
      }
      fields.append(encoded)
      names.append(type.name.utf8CString.map { $0 })
      let more = type.attributes
      // Attributes are texts and arrays of texts, so they are never nested too deep.
      attributes.append(more.isEmpty ? [] : more.taggedBytes() ?? [])
    }
  }

  /// Calls `body` with the definitions, which are valid during the call.
  func withCore<Result>(_ body: (UnsafeBufferPointer<weir_definition>) -> Result) -> Result {
    let nameStorage = names.flatMap { $0 }
    let fieldStorage = fields.flatMap { $0 }
    let attributeStorage = attributes.flatMap { $0 }
    return nameStorage.withUnsafeBufferPointer { nameBytes in
      fieldStorage.withUnsafeBufferPointer { fieldBytes in
        attributeStorage.withUnsafeBufferPointer { attributeBytes in
          let definitions = definitions(nameBytes.baseAddress, fieldBytes.baseAddress, attributeBytes.baseAddress)
          return definitions.withUnsafeBufferPointer(body)
        }
      }
    }
  }

  /// Returns the definitions whose parts lie one after another at each of the addresses.
  private func definitions(
    _ nameBytes: UnsafePointer<CChar>?, _ fieldBytes: UnsafePointer<UInt8>?, _ attributeBytes: UnsafePointer<UInt8>?
  ) -> [weir_definition] {
    var nameAt = 0
    var fieldsAt = 0
    var attributesAt = 0
    return types.indices.map { index in
      var definition = weir_definition()
      definition.name = nameBytes?.advanced(by: nameAt)
      definition.encoded = fieldBytes?.advanced(by: fieldsAt)
      definition.encoded_bytes = UInt32(clamping: fields[index].count)
      definition.field_count = types[index].isTagged ? 0 : UInt32(clamping: types[index].fields.count)
      definition.tagged = types[index].isTagged ? 1 : 0
      definition.sampled = sampled[index] ? 1 : 0
      if !attributes[index].isEmpty {
        definition.attributes = attributeBytes?.advanced(by: attributesAt)
        definition.attributes_bytes = UInt32(clamping: attributes[index].count)
      }
      nameAt += names[index].count
      fieldsAt += fields[index].count
      attributesAt += attributes[index].count
      return definition
    }
  }
}

// DeadLetterDeclaration: the declaration of an event's type, as its dead letter has it. What the type says is sensitive
// is so when the letter is shown, exported or sent again, too.

import Weir

extension EventType {
  /// The declaration as an object: the fields as a definition has them in a log, their number, whether events carry
  /// names and kinds themselves, and what it says besides. Nil if it can't be written down, as none is that was read
  /// from a log.
  var asLetterFields: FieldObject? {
    guard let bytes = encodedFields() else { return nil }
    var object: FieldObject = ["fields": .bytes(bytes), "count": .uint(UInt64(fields.count))]
    if isTagged { object["tagged"] = true }
    let more = attributes
    if !more.isEmpty { object["attributes"] = .object(more) }
    return object
  }

  /// The declaration of the event named so, from such an object; nil if it is none.
  init?(asLetterFields object: FieldObject, name: String) {
    guard case .bytes(let bytes)? = object["fields"], case .uint(let number)? = object["count"],
      let count = Int(exactly: number)
    else { return nil }
    let fields = bytes.withUnsafeBytes { bytes -> [Field]? in
      var reader = DefinitionReader(bytes)
      return try? reader.fields(count: count)
    }
    guard let fields else { return nil }
    let type = object["tagged"] == true ? EventType(tagged: name) : EventType(name, fields)
    guard case .object(let more)? = object["attributes"] else {
      self = type
      return
    }
    self = type.with(more)
  }
}

// DeadLetterDeclaration: the declaration of an event's type, as its dead letters keep the declaration. So values that
// the type marks as sensitive are also sensitive when the letter is shown, exported or sent again.

import Weir

extension EventType {
  /// The declaration as an object: the fields in the form of a definition in a log, their number, whether events carry
  /// names and kinds themselves, and the attributes. `nil` if the declaration can't be encoded, which never happens for
  /// a declaration that was read from a log.
  var asLetterFields: FieldObject? {
    guard let bytes = encodedFields() else { return nil }
    var object: FieldObject = ["fields": .bytes(bytes), "count": .uint(UInt64(fields.count))]
    if isTagged { object["tagged"] = true }
    let more = attributes
    if !more.isEmpty { object["attributes"] = .object(more) }
    return object
  }

  /// Reads the declaration of an event of this name from such an object. Returns `nil` if the object is not a
  /// declaration.
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

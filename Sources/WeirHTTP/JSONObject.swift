// JSONObject: writes one object of a vendor's format, member by member.

#if HTTP
  import WeirDelivery
  import Weir

  /// An object under construction. Its names come from a vendor's format, and each is added once.
  struct JSONObject {
    private let form: EventJSON
    private var text: [UInt8] = [UInt8(ascii: "{")]

    init(_ form: EventJSON) {
      self.form = form
      text.reserveCapacity(512)
    }

    mutating func add(_ name: String, _ value: FieldValue) {
      begin(name)
      form.append(value, to: &text)
    }

    mutating func add(_ name: String, _ value: String) {
      begin(name)
      form.append(value, to: &text)
    }

    /// Adds a value that is already JSON.
    mutating func add(_ name: String, json: [UInt8]) {
      begin(name)
      text += json
    }

    /// Adds members whose names are not used yet.
    mutating func add(members: FieldObject) {
      form.append(members: members, after: text.count > 1, to: &text)
    }

    consuming func bytes() -> [UInt8] {
      text.append(UInt8(ascii: "}"))
      return text
    }

    private mutating func begin(_ name: String) {
      if text.count > 1 { text.append(UInt8(ascii: ",")) }
      form.append(name, to: &text)
      text.append(UInt8(ascii: ":"))
    }
  }
#endif

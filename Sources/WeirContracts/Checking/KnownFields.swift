// KnownFields: leaves out the fields that a contract does not name.

package import Weir

extension CompiledContract {
  /// Returns the fields without those that the contract does not name, and the number of fields left out. The fields of
  /// an open event, and of an event that the contract does not name, are unchanged.
  ///
  /// - Parameters:
  ///   - fields: The event's own fields.
  ///   - event: The event's name.
  ///   - isKept: Whether a field of the event itself is kept in any case.
  package func knownFields(
    of event: String, _ fields: FieldObject, keeping isKept: (String) -> Bool
  ) -> (fields: FieldObject, omitted: Int) {
    guard let members = self.event(event)?.members, !members.isOpen else { return (fields, 0) }
    var omitted = 0
    let known = members.known(fields, &omitted, keeping: isKept)
    return omitted == 0 ? (fields, 0) : (known, omitted)
  }
}

extension CompiledMembers {
  fileprivate func known(
    _ object: FieldObject, _ omitted: inout Int, keeping isKept: (String) -> Bool = { _ in false }
  ) -> FieldObject {
    var known: [FieldObject.Member] = []
    known.reserveCapacity(object.count)
    for member in object {
      if isKept(member.name) {
        known.append(member)
      } else if let position = positions[member.name] {
        known.append(.init(name: member.name, value: fields[position].known(member.value, &omitted)))
      } else {
        omitted += 1
      }
    }
    return FieldObject(known)
  }
}

extension CompiledField {
  fileprivate func known(_ value: FieldValue, _ omitted: inout Int) -> FieldValue {
    switch value {
    case .object(let object):
      guard let members else { return value }
      return .object(members.known(object, &omitted))
    case .array(let values):
      guard let element else { return value }
      return .array(values.map { element.known($0, &omitted) })
    default: return value
    }
  }
}

// Checks: conflicts between the events of a type, and between the fields of an event.

#if Macros
  import SwiftSyntax

  /// Finds names and ids that are used twice.
  func check(_ declaration: EventDeclaration, _ faults: inout Faults) {
    checkReserved(declaration, &faults)
    for (index, event) in declaration.events.enumerated() {
      let earlier = declaration.events[..<index]
      checkEvent(event, earlier, &faults)
      checkRetired(event, declaration.retired, &faults)
      checkFields(event, &faults)
    }
  }

  private func checkReserved(_ declaration: EventDeclaration, _ faults: inout Faults) {
    let isEnum = declaration.form == .enumeration
    guard (isEnum ? declaration.name + "." : declaration.name).hasPrefix(reservedPrefix) else { return }
    faults.add(
      "reserved", at: declaration.namePosition,
      "names that begin with \(reservedPrefix) are the log's own; choose another\(isEnum ? " prefix" : " name")")
  }

  /// Notes at most one fault for each pair, the most specific fault.
  private func checkEvent(_ event: EventCase, _ earlier: ArraySlice<EventCase>, _ faults: inout Faults) {
    for other in earlier {
      let note = (node: other.position, text: "'\(other.code)' is here")
      if other.code == event.code {
        faults.add(
          "overloaded", at: event.position,
          "there are two cases '\(event.code)', which no switch can tell apart by labels alone; give one another name",
          seen: note)
      } else if other.name == event.name {
        faults.add(
          "duplicateName", at: event.namePosition, "two cases are stored as '\(event.name)'; give one another name",
          seen: note)
      } else if event.id == other.id, event.hasOwnID, other.hasOwnID {
        faults.add(
          "duplicateID", at: event.position, "'\(event.code)' and '\(other.code)' both have the id \(event.id)",
          seen: note)
      } else if let name = sharedName(event, other), !event.hasOwnID, !other.hasOwnID {
        faults.add(
          "nameTakenAgain", at: event.position,
          "'\(event.code)' and '\(other.code)' both are or were stored as '\(name)', so logs could not tell them "
            + "apart; give the newer one an id: @Case(id: …)", seen: note)
      } else if event.id == other.id {
        faults.add(
          "collision", at: event.position,
          "the ids of '\(event.code)' and '\(other.code)' happen to be equal (\(event.id)); give one an id of its own: "
            + "@Case(id: …)", seen: note)
      }
    }
  }

  private func sharedName(_ one: EventCase, _ other: EventCase) -> String? {
    ([one.name] + one.formerNames).first { $0 == other.name || other.formerNames.contains($0) }
  }

  private func checkRetired(_ event: EventCase, _ retired: [Retired], _ faults: inout Faults) {
    if let entry = retired.first(where: { $0.name == event.name }) {
      faults.add(
        "retiredName", at: event.namePosition,
        "\(entry.text) is retired: logs have events of that name that mean something else; choose another name")
    } else if let entry = retired.first(where: { $0.id == event.id }) {
      faults.add(
        "retiredID", at: event.position,
        "the id of '\(event.code)' is \(event.id), which is retired (\(entry.text)): logs have events of that id that "
          + "mean something else; choose another id")
    }
  }

  private func checkFields(_ event: EventCase, _ faults: inout Faults) {
    if event.fields.count > maximumFields {
      faults.add(
        "tooManyFields", at: event.position,
        "'\(event.code)' has \(event.fields.count) fields; a log takes \(maximumFields)")
    }
    var names: [String: EventField] = [:]
    for field in event.fields {
      if let other = names.updateValue(field, forKey: field.name) {
        faults.add(
          "duplicateField", at: field.position,
          "'\(other.label)' and '\(field.label)' are both stored as '\(field.name)'; give one another name")
      }
    }
    var formerly: [String: EventField] = [:]
    for field in event.fields {
      for former in field.formerNames {
        if names[former] == nil, let other = formerly[former], other.label == field.label {
          faults.add("listedTwice", at: field.position, "'\(former)' is listed twice as a former name; remove one")
          continue
        }
        guard let other = names[former] ?? formerly.updateValue(field, forKey: former) else { continue }
        let isItself = other.label == field.label
        faults.add(
          "fieldNameTakenAgain", at: field.position,
          isItself
            ? "'\(former)' is the name that the field has, not a former one"
            : "'\(field.label)' was stored as '\(former)', and so is or was '\(other.label)': older logs would be read "
              + "wrongly; store one under a name that is new")
      }
    }
  }

  /// The maximum number of fields of an event: the core's limit. A test compares the two.
  let maximumFields = 1024
#endif

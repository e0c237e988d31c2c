// Mappers of fields: which fields a provider gets, and in what structure.

public import Weir
import WeirJSON

extension EventMapper {
  /// Adds these fields to every event. A field that the event already has is not replaced.
  public static func adding(_ fields: FieldObject) -> EventMapper {
    EventMapper(.adding(fields)) { event, _ in
      for field in fields where event.fields[field.name] == nil { event.fields[field.name] = field.value }
      return true
    }
  }

  /// Adds a field whose value is computed from the event as the earlier mappers made it, with its context. If the
  /// closure returns `nil`, the event does not get the field. A field that the event already has is not replaced.
  ///
  /// Sensitive values are already replaced. To compute a field from their true values, use ``deriving(from:_:)``.
  public static func adding(
    _ name: String, _ value: @escaping @Sendable (PreparedEvent) -> FieldValue?
  ) -> EventMapper {
    EventMapper(.closure("adding(\(name), _:)")) { event, _ in
      if event.fields[name] == nil, let value = value(event) { event.fields[name] = value }
      return true
    }
  }

  /// Keeps only these of the event's own fields.
  public static func only(fields names: String...) -> EventMapper { only(fields: names) }

  static func only(fields names: [String]) -> EventMapper {
    let kept = Set(names)
    return EventMapper(.step("only", [("fields", .texts(names))])) { event, _ in
      event.fields = FieldObject(event.fields.filter { kept.contains($0.name) })
      return true
    }
  }

  /// Removes these fields from the event.
  public static func without(fields names: String...) -> EventMapper { without(fields: names) }

  static func without(fields names: [String]) -> EventMapper {
    let removed = Set(names)
    return EventMapper(.step("without", [("fields", .texts(names))])) { event, _ in
      event.fields = FieldObject(event.fields.filter { !removed.contains($0.name) })
      return true
    }
  }

  /// Moves the context's fields into the event's fields, for providers without contexts. The event's own fields take
  /// precedence over bound fields, and bound fields over global fields. The context keeps its user and view.
  public static func joiningContext() -> EventMapper {
    EventMapper(.step("joining_context")) { event, _ in
      var joined = event.fields
      for field in event.context.fields where joined[field.name] == nil { joined[field.name] = field.value }
      for field in event.context.globals where joined[field.name] == nil { joined[field.name] = field.value }
      event.fields = joined
      event.context.fields = [:]
      event.context.globals = [:]
      return true
    }
  }

  /// Replaces nested objects by their members, under names such as `price_amount`. Applies to the event and its
  /// context.
  ///
  /// Arrays are unchanged, including the objects in them. An empty object is unchanged.
  public static func flattening(separator: String = "_") -> EventMapper {
    EventMapper(.step("flattening", [("separator", separator == "_" ? nil : .text(separator))])) { event, counts in
      event.mapObjects { $0.flattened(separator, &counts) }
      return true
    }
  }
}

extension PreparedEvent {
  /// Changes the event's fields, and the fields and traits of its context.
  mutating func mapObjects(_ change: (FieldObject) -> FieldObject) {
    fields = change(fields)
    if !context.globals.isEmpty { context.globals = change(context.globals) }
    if !context.fields.isEmpty { context.fields = change(context.fields) }
    if let user = context.user, !user.traits.isEmpty { context.user?.traits = change(user.traits) }
  }
}

extension FieldObject {
  /// Returns the same fields with `change` applied to the objects in them, including objects in arrays. To change the
  /// innermost objects first, `change` must call this method.
  func mappingInner(_ change: (FieldObject) -> FieldObject) -> FieldObject {
    guard contains(where: { $0.value.holdsObject }) else { return self }
    return FieldObject(map { Member(name: $0.name, value: $0.value.mappingInner(change)) })
  }

  fileprivate func flattened(_ separator: String, _ counts: inout PreparedEvent.Counts) -> FieldObject {
    guard contains(where: { $0.value.isNested }) else { return self }
    var flat: [Member] = []
    var isFlattened: [Bool] = []
    for member in self { member.flatten(separator, prefix: "", into: &flat, &isFlattened) }
    return FieldObject(told: flat, apart: isFlattened, &counts)
  }
}

extension FieldObject.Member {
  fileprivate func flatten(
    _ separator: String, prefix: String, into flat: inout [FieldObject.Member], _ isFlattened: inout [Bool]
  ) {
    guard case .object(let object) = value, !object.isEmpty else {
      flat.append(FieldObject.Member(name: prefix + name, value: value))
      isFlattened.append(!prefix.isEmpty)
      return
    }
    for member in object {
      member.flatten(separator, prefix: prefix + name + separator, into: &flat, &isFlattened)
    }
  }
}

extension FieldValue {
  fileprivate var isNested: Bool {
    if case .object(let object) = self { return !object.isEmpty }
    return false
  }

  fileprivate var holdsObject: Bool {
    switch self {
    case .object: true
    case .array(let values): values.contains { $0.holdsObject }
    default: false
    }
  }

  fileprivate func mappingInner(_ change: (FieldObject) -> FieldObject) -> FieldValue {
    switch self {
    case .object(let object): .object(change(object))
    case .array(let values): .array(values.map { $0.mappingInner(change) })
    default: self
    }
  }
}

// Evolution: how a reader finds the events and fields of other versions of the program.

extension StoredEvent {
  /// Returns the index in `types` of this event's type, or `nil` if the event has none of these types.
  ///
  /// Implementations of ``Event/init(_:)`` use the index, so that old programs read new logs and new programs read old
  /// logs:
  ///
  /// ```swift
  /// init?(_ stored: StoredEvent) throws {
  ///   switch stored.index(in: Self.eventTypes) {
  ///   case 0: self = .started(cart: try stored["cart"])
  ///   case 1: self = .completed(order: try stored["order"], total: try stored["total"])
  ///   default: return nil
  ///   }
  /// }
  /// ```
  ///
  /// The rules are tried in this order, each over all of `types`:
  ///
  /// 1. **The wire id.** The event has the ``EventType/wireID`` of a type, and both names have the same prefix, up to
  ///    the last dot. This finds a renamed event (`checkout.completed`, now `checkout.paid`). Wire ids are unique only
  ///    within a prefix: `checkout.paid` and `profile.paid` may have the same id. An event whose prefix changed, or
  ///    whose new name has no dot, needs its former name as well.
  /// 2. **The name.**
  /// 3. **The reader's former names.** The event's name is in the ``EventType/formerNames`` of a type.
  /// 4. **The log's former names.** A type's name is among the former names in the event's ``declaration``.
  ///
  /// Rules 2 to 4 skip a type whose wire id differs from the event's: different ids mean different events, and a reused
  /// name must not be read as the old event.
  ///
  /// **Cost.** A few string comparisons for each type, paid by readers only.
  public func index(in types: [EventType]) -> Int? {
    let wireID = declaration?.wireID
    let prefixes = wireID == nil ? [] : (declaration?.prefixes ?? [])
    if let wireID,
      let index = types.firstIndex(where: { $0.wireID == wireID && !$0.prefixes.isDisjoint(with: prefixes) })
    {
      return index
    }
    func find(_ isSame: (EventType) -> Bool) -> Int? {
      types.firstIndex { type in
        (wireID == nil || type.wireID == nil || type.wireID == wireID) && isSame(type)
      }
    }
    return find { $0.name == name }
      ?? find { $0.formerNames.contains(name) }
      ?? declaration.flatMap { declaration in find { declaration.formerNames.contains($0.name) } }
  }

  /// Returns the value of a field that the reader declares. The field is found by its name, then by its
  /// ``Field/formerNames``, newest first, then by the former names in the log's declaration.
  ///
  /// Throws a ``FieldError`` if the field is missing, of another kind, or out of the type's range. For an optional
  /// type, a missing field is `nil`.
  public func value<T: EventValue>(_ field: Field) throws -> T {
    do {
      return try T(fieldValue: find(field) ?? .null)
    } catch let error as FieldError {
      throw error.inside(field.name)
    }
  }

  /// Returns the value of a field that the reader declares, or `value` if the event does not have the field.
  ///
  /// ```swift
  /// let currency = try stored.value(Field("currency", .string), default: "EUR")
  /// ```
  ///
  /// The default also replaces a missing optional, unless `T` itself is optional. An optional field can therefore
  /// become a required field. Throws a ``FieldError`` if the field is of another kind or out of the type's range.
  public func value<T: EventValue>(_ field: Field, default value: @autoclosure () -> T) throws -> T {
    guard let found = find(field) else { return value() }
    if found == .null { return (try? T(fieldValue: .null)) ?? value() }
    do {
      return try T(fieldValue: found)
    } catch let error as FieldError {
      throw error.inside(field.name)
    }
  }

  /// Returns the value under `name`, or under the new name that a later version of the program gave the field.
  func find(_ name: String) -> FieldValue? {
    if let value = fields[name] { return value }
    guard let renamed = declaration?.fields.first(where: { $0.formerNames.contains(name) }) else { return nil }
    return fields[renamed.name]
  }

  private func find(_ field: Field) -> FieldValue? {
    if let value = fields[field.name] { return value }
    for name in field.formerNames.reversed() {
      if let value = fields[name] { return value }
    }
    return find(field.name)
  }
}

// Evolution: how a reader of one version finds the events and fields of another version of the program.

extension StoredEvent {
  /// Which of `types` this event is, as an index, or nil if it is none of them.
  ///
  /// What reads events goes by this, so that old programs read new logs and new programs old ones:
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
  /// Tried in this order, each over all of `types`:
  ///
  /// 1. **The wire id.** The event has the ``EventType/wireID`` that a type has, and both names begin alike, up to the
  ///    last dot: that is a rename (`checkout.completed`, now `checkout.paid`). Wire ids are therefore unique among the
  ///    events of one prefix; those of two modules, such as `checkout.paid` and `profile.paid`, may be equal. A new
  ///    prefix, and a new name without a dot, need the former name beside the wire id.
  /// 2. **The name.**
  /// 3. **Former names that the reader knows:** the event's name is one of a type's ``EventType/formerNames``.
  /// 4. **Former names that the log knows:** a type's name is one of those that the event's ``declaration`` lists.
  ///
  /// In 2 to 4 a type whose wire id is another than the event's is passed over: two ids are two events, and a name that
  /// was used anew must not be read as what it once meant.
  ///
  /// Cost: a few comparisons of texts for each type; only reading pays it.
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

  /// The value of a field that the reader declares, as the type that is asked for: found by the field's name, then by
  /// its ``Field/formerNames``, the latest first, then by the former names that the log's declaration lists.
  ///
  /// Throws a ``FieldError`` if the field is missing, of another kind, or out of the type's range. An optional type
  /// takes a missing field as nil.
  public func value<T: EventValue>(_ field: Field) throws -> T {
    do {
      return try T(fieldValue: find(field) ?? .null)
    } catch let error as FieldError {
      throw error.inside(field.name)
    }
  }

  /// The same, with a value for events of programs that did not have the field, or that left it out.
  ///
  /// ```swift
  /// let currency = try stored.value(Field("currency", .string), default: "EUR")
  /// ```
  ///
  /// A missing optional is left out too, unless `T` is optional itself: so a field that was optional can become one
  /// that is not. Throws a ``FieldError`` if the field is of another kind, or out of the type's range.
  public func value<T: EventValue>(_ field: Field, default value: @autoclosure () -> T) throws -> T {
    guard let found = find(field) else { return value() }
    if found == .null { return (try? T(fieldValue: .null)) ?? value() }
    do {
      return try T(fieldValue: found)
    } catch let error as FieldError {
      throw error.inside(field.name)
    }
  }

  /// What the event has under a name, or under the one that a later version of the program gave to the field.
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

// Definition of event types in the log, before the first event of each type.

extension Tracker {
  /// Defines a type's events. Returns whether the events are defined; if not, notes the reason.
  func define<E: Event>(_ type: E.Type) -> Bool {
    let identity = ObjectIdentifier(type)
    guard refusals.withLock({ $0.undefinable.contains(identity) }) == false else { return false }
    let types = type.eventTypes
    do throws(WeirError) {
      try check(types, of: type)
      let sampled = types.map { sampler?.samples($0.name, of: identity) ?? false }
      try handle.define(grant(types, to: type), owner: Self.owner(type), sampled: sampled)
      return true
    } catch {
      refuse(identity, error)
      return false
    }
  }

  /// Defines an event that was found in a value of type `E`, under `key`. Returns the event's number, or `nil` on
  /// failure.
  func define<E: Event>(_ type: E.Type, _ event: EventType, key: String) -> UInt32? {
    do throws(WeirError) {
      try check([event], of: type)
      return try handle.define(grant([event], to: type)[0], owner: Self.owner(type), key: key)
    } catch {
      refuse(ObjectIdentifier(type), error, forGood: false)
      return nil
    }
  }

  /// Returns the declarations without the wire ids that other types own, and notes the collisions.
  private func grant<E: Event>(_ types: [EventType], to type: E.Type) -> [EventType] {
    let identity = ObjectIdentifier(type)
    // The name includes the module: types that collide may have the same simple name.
    let name = String(reflecting: type)
    guard let (granted, problems) = refusals.withLock({ $0.claims.grant(types, to: identity, name) }) else {
      return types
    }
    if !problems.isEmpty {
      note(identity, WeirError(.invalid, problems.joined(separator: "; "), path: directory))
    }
    return granted
  }

  /// Checks what the core can't check.
  private func check<E: Event>(_ types: [EventType], of type: E.Type) throws(WeirError) {
    func fail(_ message: String) -> WeirError {
      WeirError(.invalid, "events of \(type) are dropped: \(message)", path: directory)
    }
    if types.isEmpty { throw fail("eventTypes is empty; declare the events that encode(into:) writes") }
    for event in types where event.name.hasPrefix(EventType.reservedPrefix) {
      throw fail("\(event.name) starts with weir., which is reserved for the log; choose another name")
    }
  }

  /// Notes a failed definition. A closed log is not the type's fault: captures return `closed` by themselves.
  private func refuse(_ type: ObjectIdentifier, _ error: WeirError, forGood: Bool = true) {
    guard error.code != .closed else { return }
    if forGood { _ = refusals.withLock { $0.undefinable.insert(type).inserted } }
    note(type, error)
  }
}

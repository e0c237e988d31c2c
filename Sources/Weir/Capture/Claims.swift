// Claims: which type owns which wire id and which name in a tracker's log.

/// The wire ids and names that types have claimed, so that two modules that know nothing of each other don't collide.
///
/// The first type to claim a wire id keeps the wire id. The second type's event is defined without a wire id, and is
/// found by name. Two types may share a name, because the log tells the events apart by their declarations. A reader
/// that looks events up by name gets the events of both types.
struct Claims {
  private struct Claim {
    var type: ObjectIdentifier
    var typeName: String
    var event: EventType
  }

  /// The scope in which a wire id is unique: the events whose names have the same prefix.
  private struct Place: Hashable {
    var prefix: Substring
    var wireID: UInt32
  }

  private var wireIDs: [Place: Claim] = [:]
  private var names: [String: Claim] = [:]

  /// The types that claimed a wire id or a name of another type.
  private(set) var colliding: Set<ObjectIdentifier> = []

  /// Returns the declarations to define, and a message for each collision. Repeated calls return the same result.
  mutating func grant(_ events: [EventType], to type: ObjectIdentifier, _ typeName: String) -> ([EventType], [String]) {
    var granted = events
    var problems: [String] = []
    for (index, event) in events.enumerated() {
      let claim = Claim(type: type, typeName: typeName, event: event)
      if let problem = collision(of: claim) { problems.append(problem) }
      guard let wireID = event.wireID else { continue }
      // Without a prefix, the names must be equal too: otherwise one event could be read as the other.
      let places = event.prefixes.map { Place(prefix: $0, wireID: wireID) }
      let known = places.compactMap { wireIDs[$0] }
      if let first = known.first(where: { $0.type != type || $0.event.name != event.name }) {
        granted[index].wireID = nil
        problems.append(
          "\(event.name) of \(typeName) has the wire id \(wireID) of \(first.event.name) of \(first.typeName); "
            + "\(event.name) is defined without a wire id, give it another")
      } else {
        for place in places { wireIDs[place] = claim }
      }
    }
    if !problems.isEmpty { colliding.insert(type) }
    return (granted, problems)
  }

  /// Claims the name. Types with equal declarations may share a name. Tagged events have no declarations to compare.
  private mutating func collision(of claim: Claim) -> String? {
    guard let first = names[claim.event.name] else {
      names[claim.event.name] = claim
      return nil
    }
    guard first.type != claim.type, first.event.fields != claim.event.fields || claim.event.isTagged else { return nil }
    return "the name \(claim.event.name) of \(claim.typeName) is also the name of an event of \(first.typeName); "
      + "readers that look events up by name get both, rename one"
  }
}

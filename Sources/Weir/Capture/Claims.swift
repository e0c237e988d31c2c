// Claims: which type has which wire id and which name in a tracker's log.

/// The wire ids and names that types have taken, so that two modules that know nothing of each other are told apart.
///
/// A wire id is the first one's: the other type's event is defined without it, and is found by its name. A name may be
/// had twice, because both events are told apart by their declarations, but whoever reads by name gets both.
struct Claims {
  private struct Claim {
    var type: ObjectIdentifier
    var typeName: String
    var event: EventType
  }

  /// Where a wire id is unique: among the events whose names begin alike.
  private struct Place: Hashable {
    var prefix: Substring
    var wireID: UInt32
  }

  private var wireIDs: [Place: Claim] = [:]
  private var names: [String: Claim] = [:]

  /// The types that claimed what another one has.
  private(set) var colliding: Set<ObjectIdentifier> = []

  /// The declarations as they may be defined, and what to tell of those that collide. Asking again answers the same.
  mutating func grant(_ events: [EventType], to type: ObjectIdentifier, _ typeName: String) -> ([EventType], [String]) {
    var granted = events
    var problems: [String] = []
    for (index, event) in events.enumerated() {
      let claim = Claim(type: type, typeName: typeName, event: event)
      if let problem = collision(of: claim) { problems.append(problem) }
      guard let wireID = event.wireID else { continue }
      // Without a prefix the name has to agree, too, so nobody can be taken for another.
      let places = event.prefixes.map { Place(prefix: $0, wireID: wireID) }
      let known = places.compactMap { wireIDs[$0] }
      if let first = known.first(where: { $0.type != type || $0.event.name != event.name }) {
        granted[index].wireID = nil
        problems.append(
          "the wire id \(wireID) of \(event.name), of \(typeName), is that of \(first.event.name), of "
            + "\(first.typeName); \(event.name) is defined without one, give it another")
      } else {
        for place in places { wireIDs[place] = claim }
      }
    }
    if !problems.isEmpty { colliding.insert(type) }
    return (granted, problems)
  }

  /// Claims the name. Types that declare one event alike agree on it; those of tagged events declare nothing to
  /// compare.
  private mutating func collision(of claim: Claim) -> String? {
    guard let first = names[claim.event.name] else {
      names[claim.event.name] = claim
      return nil
    }
    guard first.type != claim.type, first.event.fields != claim.event.fields || claim.event.isTagged else { return nil }
    return "the name \(claim.event.name), of \(claim.typeName), is also that of an event of \(first.typeName); whoever "
      + "reads by name gets both, rename one"
  }
}

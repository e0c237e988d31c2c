// Marker: makes the mark of an event.

import Weir

/// Makes the marks of one side's events. One for each thread.
struct Marker {
  private var fieldRules: FieldRules
  private var names: TextNumbers.Reader
  private var outcomes: TextNumbers.Reader

  init(_ rules: ComparisonRules, names: TextNumbers, outcomes: TextNumbers) {
    fieldRules = FieldRules(rules)
    self.names = TextNumbers.Reader(names)
    self.outcomes = TextNumbers.Reader(outcomes)
  }

  /// The mark of an event at a place of its side.
  mutating func mark(_ event: ComparedEvent, place: UInt64) -> EventMark {
    var key = WordHash(11)
    key.add(event.name)
    key.add(event.user ?? "")
    let keyFields = fieldRules.rules.keyFields
    var keyValues = [UInt64](repeating: 0, count: keyFields.count)
    // A sum, so that the order of fields does not matter.
    var content: UInt64 = 0
    if let user = event.user, let compared = fieldRules.compared(.string(user), at: ComparisonRules.userPath) {
      content &+= ValueHash.of(ComparisonRules.userPath, compared)
    }
    FieldPaths.forEach(event.fields) { path, value in
      guard let compared = fieldRules.compared(value, at: path) else { return }
      content &+= ValueHash.of(path, compared)
      if let index = keyFields.firstIndex(of: path) { keyValues[index] = ValueHash.of(compared) }
    }
    for value in keyValues { key.add(value) }
    var all = WordHash(12)
    all.add(event.name)
    all.add(content)
    var mark = EventMark()
    if let id = event.id { mark.id = Self.hash(of: id) }
    if let foreignID = event.foreignID {
      var hash = WordHash(13)
      hash.add(foreignID)
      mark.foreignID = hash.identity
    }
    mark.key = key.identity
    mark.content = all.value
    mark.sequence = sequence(of: event)
    mark.time = event.time
    mark.place = place
    if let arrival = event.arrival, event.time != .min {
      mark.delay = Int32(clamping: (arrival &- event.time) / 1_000_000)
    }
    mark.name = names.number(of: event.name)
    if let outcome = event.outcome { mark.outcome = outcomes.number(of: outcome) }
    return mark
  }

  static func hash(of id: EventID) -> UInt64 {
    var hash = WordHash(14)
    hash.add(id.opening)
    hash.add(id.sequence)
    return hash.identity
  }

  /// The order of a user's events is compared across lanes. The order of events without a user is compared within each
  /// lane.
  private func sequence(of event: ComparedEvent) -> UInt64 {
    var hash = WordHash(15)
    if let user = event.user {
      hash.add(user)
    } else if let id = event.id {
      hash.add(id.opening)
      hash.add(id.sequence >> 48)
    }
    return hash.identity
  }
}

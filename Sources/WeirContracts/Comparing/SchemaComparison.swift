// SchemaComparison: what differs between the events of two schemas. FieldComparison does the same for their fields.
//
// Which event is which follows StoredEvent.index(in:), by which readers find them, in both directions: whatever a
// reader of one schema would take an event of the other for is what it is compared with.

import Weir

extension Schema {
  /// What differs from here, the old schema, to another, the new one: event by event in the order of the old, then what
  /// the new one has besides. Empty if and only if each says of the same events the same.
  ///
  /// Of an event with several forms the last of each schema are compared. The earlier ones that only one of the schemas
  /// has count too, but only for what readers of the other's last form can't read of them.
  ///
  /// A declaration is what readers ask for: a field that is not optional counts as one that they can't do without,
  /// though a reader may have a default for it (``StoredEvent/value(_:default:)``). Where the fields are inferred
  /// (``EventVersion/isInferred``), readers are taken to ask for what was seen, and integers of all kinds for one.
  ///
  /// An event that is not in a log may still be in the program: take logs in which every event occurs, or the
  /// declarations (``init(of:)-([EventType])``).
  public func changes(to new: Schema) -> [SchemaChange] {
    SchemaComparison(old: self, new: new).changes()
  }
}

/// The forms of one event in one schema, in the order in which they came.
private struct EventHistory {
  private(set) var versions: [Schema.EventVersion]

  var last: Schema.EventVersion { versions[versions.count - 1] }
  var earlier: ArraySlice<Schema.EventVersion> { versions.dropLast() }

  /// Whether the form is in both schemas: then what it breaks it broke before.
  func has(_ version: Schema.EventVersion) -> Bool {
    versions.contains { $0.type == version.type && $0.isInferred == version.isInferred }
  }

  /// The events of a schema: what a reader would take for an earlier form is a later form of the same event. A program
  /// declares each event just once, so there every form is an event.
  static func all(of schema: Schema) -> [EventHistory] {
    var events: [EventHistory] = []
    for version in schema.events {
      if version.count > 0, let index = find(version.type, in: events) {
        events[index].versions.append(version)
      } else {
        events.append(EventHistory(versions: [version]))
      }
    }
    return events
  }

  /// Which of `events` readers take an event of this type for.
  static func find(_ type: EventType, in events: [EventHistory]) -> Int? {
    type.index(in: events.map(\.last.type))
  }
}

private struct SchemaComparison {
  private let old: [EventHistory]
  private let new: [EventHistory]
  private var found: [SchemaChange] = []

  init(old: Schema, new: Schema) {
    self.old = EventHistory.all(of: old)
    self.new = EventHistory.all(of: new)
  }

  consuming func changes() -> [SchemaChange] {
    var gone: [EventHistory] = []
    var matched: Set<Int> = []
    for event in old {
      guard let index = EventHistory.find(event.last.type, in: new) else {
        gone.append(event)
        continue
      }
      matched.insert(index)
      compare(event, new[index])
    }
    var come = new.indices.filter { !matched.contains($0) }.map { new[$0] }
    for event in gone { reportGone(event, &come) }
    for event in come { reportCome(event) }
    return found
  }

  // MARK: Events in both

  private mutating func compare(_ old: EventHistory, _ new: EventHistory) {
    let (a, b) = (old.last.type, new.last.type)
    guard !isReused(a, b) else { return }
    if a.name != b.name { reportRenamed(a, b) }
    if a.wireID != b.wireID {
      let why = a.wireID == nil ? "has the wire id \(text(b)) now" : "has \(text(b)) in place of the wire id \(text(a))"
      found.append(SchemaChange(.wireIDChanged, a.name, why: "\(why); readers find it by its name"))
    }
    if a.kind != b.kind {
      let why = "was \(a.kind?.rawValue ?? "of no kind"), is \(b.kind?.rawValue ?? "of no kind"); readers are told so"
      found.append(SchemaChange(.eventKindChanged, a.name, why: why))
    }
    report(old.last, new.last, as: a.name)
    for version in old.earlier where !new.has(version) { report(version, new.last, as: a.name, only: .newReaders) }
    for version in new.earlier where !old.has(version) { report(old.last, version, as: a.name, only: .oldReaders) }
  }

  /// Reports what differs in the fields; of forms that others followed, only what fails those readers.
  private mutating func report(
    _ old: Schema.EventVersion, _ new: Schema.EventVersion, as event: String, only: SchemaChange.Broken? = nil
  ) {
    var comparison = FieldComparison(event: event, isInferred: old.isInferred || new.isInferred)
    comparison.compare(old.type.fields, new.type.fields)
    for var change in comparison.found {
      if let only {
        guard change.breaks.contains(only) else { continue }
        change.breaks = [only]
        // The last forms' own difference says it already.
        if found.contains(where: { $0.isSamePlace(as: change) && $0.breaks.contains(only) }) { continue }
      }
      found.append(change)
    }
  }

  private mutating func reportRenamed(_ a: EventType, _ b: EventType) {
    let back = b.index(in: old.map(\.last.type)).map { old[$0].last.type.name }
    if let back, back != a.name {
      found.append(
        SchemaChange(
          .eventRenamed, a.name, breaks: [.oldReaders],
          why: "is \(b.name) now, as is \(back): old readers take every \(b.name) for \(back)"))
    } else {
      let by = a.wireID != nil && a.wireID == b.wireID ? "the wire id \(text(a))" : "the former name"
      found.append(SchemaChange(.eventRenamed, a.name, why: "is \(b.name) now; readers find it by \(by)"))
    }
  }

  /// Reports a wire id that was one event's and is another's: both names are still those of events.
  private mutating func isReused(_ a: EventType, _ b: EventType) -> Bool {
    guard a.name != b.name, let id = a.wireID, id == b.wireID else { return false }
    guard new.contains(where: { $0.last.type.name == a.name }) || old.contains(where: { $0.last.type.name == b.name })
    else { return false }
    found.append(
      SchemaChange(
        .wireIDReused, a.name, breaks: [.newReaders, .oldReaders],
        why: "the wire id \(id) is \(b.name)'s now: new readers take old events \(a.name) for \(b.name), and old "
          + "readers new events \(b.name) for \(a.name)"))
    return true
  }

  // MARK: Events in one

  private mutating func reportGone(_ event: EventHistory, _ come: inout [EventHistory]) {
    let a = event.last.type
    if let index = come.firstIndex(where: { $0.last.type.name == a.name }) {
      let b = come.remove(at: index).last.type
      found.append(
        SchemaChange(
          .wireIDChanged, a.name, breaks: [.newReaders, .oldReaders],
          why: "has the wire id \(text(b)) in place of \(text(a)): to readers these are two events of one name"))
    } else if let index = come.firstIndex(where: { looksLike(event, $0) }) {
      let b = come.remove(at: index).last.type
      found.append(
        SchemaChange(
          .eventRenamed, a.name, breaks: [.newReaders, .oldReaders],
          why: "\(b.name) has the same fields, and no former name and no wire id that says it is the same event: if it "
            + "is, neither readers find the other's; if it is another one, give both a wire id"))
    } else {
      found.append(
        SchemaChange(.eventRetired, a.name, why: "is not there any more: new readers pass over old events of the name"))
    }
  }

  private mutating func reportCome(_ event: EventHistory) {
    let b = event.last.type
    guard let index = EventHistory.find(b, in: old) else {
      found.append(SchemaChange(.eventAdded, b.name, why: "is new: old readers pass over it"))
      return
    }
    let taken = old[index].last.type.name
    found.append(
      SchemaChange(
        .nameReused, b.name, breaks: [.oldReaders], why: "is another event: old readers take it for \(taken)"))
  }

  /// Whether an event that is gone and one that came are probably one: what they declare is the same but for the name,
  /// and no wire ids tell them apart. Without a declaration, or without fields, it would be a guess.
  private func looksLike(_ gone: EventHistory, _ come: EventHistory) -> Bool {
    let (a, b) = (gone.last, come.last)
    guard !a.isInferred, !b.isInferred, !a.type.fields.isEmpty else { return false }
    guard a.type.wireID == nil || b.type.wireID == nil else { return false }
    return a.type.fields == b.type.fields
  }

  private func text(_ type: EventType) -> String { type.wireID.map { "\($0)" } ?? "none" }
}

extension SchemaChange {
  fileprivate func isSamePlace(as other: SchemaChange) -> Bool {
    what == other.what && event == other.event && field == other.field
  }
}

extension EventType {
  /// Which of `types` readers who declare these take an event of this type for.
  fileprivate func index(in types: [EventType]) -> Int? {
    let event = StoredEvent(
      offset: 0, id: EventID(opening: 0, sequence: 0), time: Timestamp(nanosecondsSince1970: 0), name: name,
      fields: [:], declaration: self)
    return event.index(in: types)
  }
}

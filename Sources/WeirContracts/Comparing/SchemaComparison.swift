// SchemaComparison: finds the differences between the events of two schemas. FieldComparison does the same for fields.
//
// Events are matched by the rules of StoredEvent.index(in:), by which readers find events, in both directions. An event
// is compared with the event that a reader of the other schema would read it as.

import Weir

extension Schema {
  /// Returns the differences between this schema, the old one, and a new one: first those of the old schema's events,
  /// in its order, then what the new schema adds. The result is empty if and only if both schemas declare the same
  /// events alike.
  ///
  /// If an event has several forms, the last form of each schema is compared. An earlier form that only one of the
  /// schemas has is compared too, but only for what readers of the other schema's last form can't read.
  ///
  /// A declaration stands for what readers request. A field that is not optional counts as required, although a reader
  /// may have a default for it (`StoredEvent.value(_:default:)`). If the fields are inferred
  /// (``EventVersion/isInferred``), readers are assumed to request the fields that were seen, and all kinds of integers
  /// count as the same.
  ///
  /// An event that is not in a log may still be in the program. Compare logs in which every event occurs, or the
  /// declarations (``init(of:)-([EventType])``).
  public func changes(to new: Schema) -> [SchemaChange] {
    SchemaComparison(old: self, new: new).changes()
  }
}

/// The forms of one event in one schema, oldest first.
private struct EventHistory {
  private(set) var versions: [Schema.EventVersion]

  var last: Schema.EventVersion { versions[versions.count - 1] }
  var earlier: ArraySlice<Schema.EventVersion> { versions.dropLast() }

  /// Returns whether both schemas have the form. If so, it breaks nothing that was not broken before.
  func has(_ version: Schema.EventVersion) -> Bool {
    versions.contains { $0.type == version.type && $0.isInferred == version.isInferred }
  }

  /// Returns the events of a schema. A form that a reader would read as an earlier form is a later form of the same
  /// event. A program declares each event once, so each form of a program's schema is an event.
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

  /// Returns the index in `events` of the event that readers read this type as.
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
      let why = a.wireID == nil ? "has the wire id \(text(b)) now" : "has \(text(b)) instead of the wire id \(text(a))"
      found.append(SchemaChange(.wireIDChanged, a.name, why: "\(why); readers find it by its name"))
    }
    if a.kind != b.kind {
      let why = "was \(a.kind?.rawValue ?? "of no kind"), is \(b.kind?.rawValue ?? "of no kind"); reading is the same"
      found.append(SchemaChange(.eventKindChanged, a.name, why: why))
    }
    report(old.last, new.last, as: a.name)
    for version in old.earlier where !new.has(version) { report(version, new.last, as: a.name, only: .newReaders) }
    for version in new.earlier where !old.has(version) { report(old.last, version, as: a.name, only: .oldReaders) }
  }

  /// Reports the differences of the fields. With `only`, reports only what breaks these readers, for forms that have
  /// successors.
  private mutating func report(
    _ old: Schema.EventVersion, _ new: Schema.EventVersion, as event: String, only: SchemaChange.Broken? = nil
  ) {
    var comparison = FieldComparison(event: event, isInferred: old.isInferred || new.isInferred)
    comparison.compare(old.type.fields, new.type.fields)
    for var change in comparison.found {
      if let only {
        guard change.breaks.contains(only) else { continue }
        change.breaks = [only]
        // The difference between the last forms already says so.
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
          why: "is \(b.name) now, as is \(back): old readers read every \(b.name) as \(back)"))
    } else {
      let by = a.wireID != nil && a.wireID == b.wireID ? "the wire id \(text(a))" : "the former name"
      found.append(SchemaChange(.eventRenamed, a.name, why: "is \(b.name) now; readers find it by \(by)"))
    }
  }

  /// Reports a wire id that moved from one event to another while both names are still in use.
  private mutating func isReused(_ a: EventType, _ b: EventType) -> Bool {
    guard a.name != b.name, let id = a.wireID, id == b.wireID else { return false }
    guard new.contains(where: { $0.last.type.name == a.name }) || old.contains(where: { $0.last.type.name == b.name })
    else { return false }
    found.append(
      SchemaChange(
        .wireIDReused, a.name, breaks: [.newReaders, .oldReaders],
        why: "the wire id \(id) is now \(b.name)'s: new readers read old events \(a.name) as \(b.name), and old "
          + "readers read new events \(b.name) as \(a.name)"))
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
          why: "has the wire id \(text(b)) instead of \(text(a)): readers treat these as two events with one name"))
    } else if let index = come.firstIndex(where: { looksLike(event, $0) }) {
      let b = come.remove(at: index).last.type
      found.append(
        SchemaChange(
          .eventRenamed, a.name, breaks: [.newReaders, .oldReaders],
          why: "\(b.name) has the same fields, but no former name and no wire id that makes it the same event: if it "
            + "is the same, readers don't find each other's events; if it is a different event, give both a wire id"))
    } else {
      found.append(
        SchemaChange(.eventRetired, a.name, why: "no longer exists: new readers skip old events of this name"))
    }
  }

  private mutating func reportCome(_ event: EventHistory) {
    let b = event.last.type
    guard let index = EventHistory.find(b, in: old) else {
      found.append(SchemaChange(.eventAdded, b.name, why: "is new: old readers skip it"))
      return
    }
    let taken = old[index].last.type.name
    found.append(
      SchemaChange(
        .nameReused, b.name, breaks: [.oldReaders], why: "is a different event: old readers read it as \(taken)"))
  }

  /// Returns whether a removed event and an added event are probably the same: their declarations differ only in the
  /// name, and no wire ids tell them apart. Without a declaration or without fields, that would be a guess.
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
  /// Returns the index in `types` of the type that readers read an event of this type as.
  fileprivate func index(in types: [EventType]) -> Int? {
    let event = StoredEvent(
      offset: 0, id: EventID(opening: 0, sequence: 0), time: Timestamp(nanosecondsSince1970: 0), name: name,
      fields: [:], declaration: self)
    return event.index(in: types)
  }
}

// SchemaBuilder: builds a log's schema event by event, in limited memory.

import Weir

/// Builds a schema from events in order of offset.
struct SchemaBuilder {
  private var versions: [GrowingVersion] = []
  private var byName: [String: [Int]] = [:]
  private var others: UInt64 = 0
  private var undefined: UInt64 = 0
  private let maximumVersions: Int
  private let maximumInferredFields: Int
  private let budget: SchemaBudget

  /// The limits are parameters only for tests.
  init(
    maximumVersions: Int = Schema.maximumVersions, maximumInferredFields: Int = Schema.maximumInferredFields,
    maximumBytes: Int = Schema.maximumBytes
  ) {
    self.maximumVersions = maximumVersions
    self.maximumInferredFields = maximumInferredFields
    budget = SchemaBudget(bytes: maximumBytes)
  }

  mutating func add(_ event: StoredEvent) {
    guard !event.name.hasPrefix(EventType.reservedPrefix) else {
      if event.name == StoredEvent.undefinedName { undefined += 1 }
      return
    }
    guard let index = index(of: event) else {
      others += 1
      return
    }
    versions[index].add(event)
  }

  func schema() -> Schema {
    Schema(events: versions.map { $0.version() }, others: others, undefined: undefined)
  }

  /// Returns the index in `versions` of the event's form, or `nil` if there is no room for the form.
  private mutating func index(of event: StoredEvent) -> Int? {
    let known = byName[event.name] ?? []
    // Events of one definition share the storage of its declaration, which makes this comparison fast.
    if let index = known.last(where: { versions[$0].declaration == event.declaration }) { return index }
    let declaration = event.declaration ?? EventType(tagged: event.name)
    guard versions.count < maximumVersions, budget.take(declaration.bytesInSchema) else { return nil }
    let fields = declaration.isTagged ? InferredObject(budget, SchemaBudget(bytes: maximumInferredFields)) : nil
    versions.append(GrowingVersion(declaration: event.declaration, type: declaration, inferred: fields))
    byName[event.name, default: []].append(versions.count - 1)
    return versions.count - 1
  }
}

/// The remainder of a limit, shared by all users of the limit.
final class SchemaBudget {
  private var left: Int

  init(bytes: Int) { left = bytes }

  func take(_ amount: Int) -> Bool {
    guard amount <= left else { return false }
    left -= amount
    return true
  }
}

/// One form of an event, and the events seen so far.
private struct GrowingVersion {
  /// The declaration as stored in the log.
  let declaration: EventType?
  let type: EventType
  /// The inferred fields, if no fields are declared.
  let inferred: InferredObject?
  private var count: UInt64 = 0
  private var firstOffset: Offset?
  private var lastOffset: Offset?

  init(declaration: EventType?, type: EventType, inferred: InferredObject?) {
    self.declaration = declaration
    self.type = type
    self.inferred = inferred
  }

  mutating func add(_ event: StoredEvent) {
    count += 1
    if firstOffset == nil { firstOffset = event.offset }
    lastOffset = event.offset
    inferred?.add(event.fields)
  }

  func version() -> Schema.EventVersion {
    var shown = EventType(
      type.name, inferred?.fields() ?? type.fields, wireID: type.wireID, kind: type.kind, formerNames: type.formerNames)
    // Events that carry the names of their fields declare at most which are sensitive.
    if type.isTagged { shown = shown.with(type.attributes) }
    return Schema.EventVersion(
      shown, isInferred: inferred != nil, isPartial: inferred?.isPartial ?? false, count: count,
      firstOffset: firstOffset, lastOffset: lastOffset)
  }
}

extension EventType {
  /// The approximate memory of the declaration, in bytes.
  fileprivate var bytesInSchema: Int {
    let own = 256 + name.utf8.count + formerNames.reduce(0) { $0 + 32 + $1.utf8.count }
    return own + fields.reduce(0) { $0 + $1.bytesInSchema }
  }
}

extension Field {
  fileprivate var bytesInSchema: Int {
    let nested = kind.fields?.reduce(0) { $0 + $1.bytesInSchema } ?? 0
    return InferredObject.bytes(ofName: name) + formerNames.reduce(0) { $0 + 32 + $1.utf8.count } + nested
  }
}

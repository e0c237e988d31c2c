// SchemaCoding: encodes a schema as JSON, or in another coder's format. `weir schema --format json` prints it, and
// `weir schema diff` reads it.
//
// Encoding writes every key, so that programs find the keys they look for. Decoding accepts schemas with most keys
// missing, so that a schema can be written by hand. The keys are an interface. EventVersion in JSON is {"event",
// "wire_id", "kind", "formerly", "inferred", "partial", "fields", "count", "first_offset", "last_offset"}; a field is
// {"name", "kind", "optional", "sensitive", "formerly", "fields"}, where "fields" is for objects only.

import Weir

extension Schema: Codable {
  private enum CodingKeys: String, CodingKey {
    case events, others, undefined
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      events: try container.decode([EventVersion].self, forKey: .events),
      others: try container.decodeIfPresent(UInt64.self, forKey: .others) ?? 0,
      undefined: try container.decodeIfPresent(UInt64.self, forKey: .undefined) ?? 0)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(events, forKey: .events)
    try container.encode(others, forKey: .others)
    try container.encode(undefined, forKey: .undefined)
  }
}

extension Schema.EventVersion: Codable {
  private enum CodingKeys: String, CodingKey {
    case event, kind, formerly, inferred, partial, fields, count
    case wireID = "wire_id"
    case firstOffset = "first_offset"
    case lastOffset = "last_offset"
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    var kind: EventKind?
    if let text = try container.decodeIfPresent(String.self, forKey: .kind) {
      kind = EventKind(rawValue: text)
      if kind == nil {
        throw DecodingError.dataCorruptedError(
          forKey: .kind, in: container, debugDescription: "there is no kind of events \(text.debugDescription)")
      }
    }
    let type = EventType(
      try container.decode(String.self, forKey: .event),
      try container.decodeIfPresent([CodedField].self, forKey: .fields)?.map(\.field) ?? [],
      wireID: try container.decodeIfPresent(UInt32.self, forKey: .wireID), kind: kind,
      formerNames: try container.decodeIfPresent([String].self, forKey: .formerly) ?? [])
    self.init(
      type, isInferred: try container.decodeIfPresent(Bool.self, forKey: .inferred) ?? false,
      isPartial: try container.decodeIfPresent(Bool.self, forKey: .partial) ?? false,
      count: try container.decodeIfPresent(UInt64.self, forKey: .count) ?? 0,
      firstOffset: try container.decodeIfPresent(Offset.self, forKey: .firstOffset),
      lastOffset: try container.decodeIfPresent(Offset.self, forKey: .lastOffset))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(type.name, forKey: .event)
    try container.encode(type.wireID, forKey: .wireID)
    try container.encode(type.kind?.rawValue, forKey: .kind)
    try container.encode(type.formerNames, forKey: .formerly)
    try container.encode(isInferred, forKey: .inferred)
    try container.encode(isPartial, forKey: .partial)
    try container.encode(type.fields.map { CodedField(field: $0) }, forKey: .fields)
    try container.encode(count, forKey: .count)
    try container.encode(firstOffset, forKey: .firstOffset)
    try container.encode(lastOffset, forKey: .lastOffset)
  }
}

/// A field in its encoded form.
private struct CodedField: Codable {
  private enum CodingKeys: String, CodingKey {
    case name, kind, optional, sensitive, formerly, fields
  }

  let field: Field

  init(field: Field) { self.field = field }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let text = try container.decode(String.self, forKey: .kind)
    let fields = try container.decodeIfPresent([CodedField].self, forKey: .fields)?.map(\.field) ?? []
    guard let inner = FieldKind(text: text, fields: fields) else {
      throw DecodingError.dataCorruptedError(
        forKey: .kind, in: container,
        debugDescription: "there is no kind of fields \(text.debugDescription), or none with fields of its own")
    }
    let isOptional = try container.decodeIfPresent(Bool.self, forKey: .optional) ?? false
    field = Field(
      try container.decode(String.self, forKey: .name), isOptional ? .optional(inner) : inner,
      sensitive: try container.decodeIfPresent(Bool.self, forKey: .sensitive) ?? false,
      formerNames: try container.decodeIfPresent([String].self, forKey: .formerly) ?? [])
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(field.name, forKey: .name)
    if case .optional(let inner) = field.kind {
      try container.encode(inner.text, forKey: .kind)
      try container.encode(true, forKey: .optional)
    } else {
      try container.encode(field.kind.text, forKey: .kind)
      try container.encode(false, forKey: .optional)
    }
    try container.encode(field.isSensitive, forKey: .sensitive)
    try container.encode(field.formerNames, forKey: .formerly)
    guard let nested = field.kind.fields else { return }
    try container.encode(nested.map { CodedField(field: $0) }, forKey: .fields)
  }
}

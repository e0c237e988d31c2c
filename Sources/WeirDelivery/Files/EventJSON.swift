// EventJSON: an event as JSON, the one form for files, HTTP and exports.

public import Weir
import WeirJSON

/// The JSON form of events and of their fields.
///
/// ```swift
/// var body = Array(#"{"batch":["#.utf8)
/// for (index, event) in events.enumerated() {
///   if index > 0 { body.append(UInt8(ascii: ",")) }
///   EventJSON().append(event, to: &body)
/// }
/// ```
///
/// An event is one object on one line, with exactly these keys, in this order:
///
/// | key | value |
/// |---|---|
/// | `id` | the `EventID`: 32 hexadecimal digits |
/// | `offset` | the `Offset` in the log |
/// | `time` | when it was captured: RFC 3339 in UTC, with nanoseconds |
/// | `name` | the name to deliver it under |
/// | `fields` | the fields, in their order |
/// | `context` | of `globals`, `user` (`id`, `traits`), `view` (`id`, `name`, `parent`) and `fields` those that hold something; `globals_lost` is true where damage took the global part |
/// | `flags` | of `violating` (true), `defaulted` (names of fields) and `duplicate_of` (ids) those that apply |
///
/// Values keep all they have: integers every digit, also beyond 2⁵³; floating-point numbers the shortest digits that
/// read back as the same; bytes are base64, UUIDs and dates text (RFC 3339 with nanoseconds; outside the years 0 to
/// 9999 a date is its seconds since 2001). Not-a-number and the infinities, which JSON has no numbers for, are `"NaN"`,
/// `"Infinity"` and `"-Infinity"`. All is valid UTF-8: a text that is not, which only a C program can capture, is read
/// from the log as bytes, and so written as base64. Equal events have equal bytes.
///
/// Nothing is redacted here: give it events that are, as providers get them.
///
/// The options are for providers that can't take all of this. Costs about a microsecond an event, and no allocation
/// but what the bytes grow by. Any thread may use it.
public struct EventJSON: Hashable, Sendable {
  /// Integers beyond ±2⁵³ as text, for readers that take every number for a double and would change them. False.
  public var hasLargeIntegersAsText: Bool {
    get { form.hasLargeIntegersAsText }
    set { form.hasLargeIntegersAsText = newValue }
  }

  /// Not-a-number and the infinities as `null`, for providers that want a number or nothing. False.
  public var hasNonFiniteAsNull: Bool {
    get { form.hasNonFiniteAsNull }
    set { form.hasNonFiniteAsNull = newValue }
  }

  /// Of several fields with one name, which only events captured by name can have, the last alone, for providers
  /// that refuse an object with a name twice. False: all of them are there.
  public var hasEachNameOnce: Bool {
    get { form.hasEachNameOnce }
    set { form.hasEachNameOnce = newValue }
  }

  private var form = JSONForm()

  /// The exact form.
  public init() {}

  /// Appends an event, without a line's end.
  public func append(_ event: PreparedEvent, to bytes: inout [UInt8]) {
    appendHead(event.stored, name: event.name, fields: event.fields, to: &bytes)
    JSONText.append(literal: ",\"context\":", to: &bytes)
    append(event.context, to: &bytes)
    JSONText.append(literal: ",\"flags\":", to: &bytes)
    append(event.flags, to: &bytes)
    bytes.append(UInt8(ascii: "}"))
  }

  /// Appends an event as it is in the log, in the same form.
  package func append(_ event: StoredEvent, to bytes: inout [UInt8]) {
    appendHead(event, name: event.name, fields: event.fields, to: &bytes)
    JSONText.append(literal: ",\"context\":", to: &bytes)
    append(event.context, to: &bytes)
    JSONText.append(literal: ",\"flags\":{}}", to: &bytes)
  }

  /// Appends an object of fields.
  public func append(_ fields: FieldObject, to bytes: inout [UInt8]) {
    JSONText.append(fields, as: form, to: &bytes)
  }

  /// Appends fields without the braces around them, for an object that has others too; with a comma before them if
  /// `others` come before. Answers whether there are others or fields now.
  @discardableResult
  package func append(members fields: FieldObject, after others: Bool, to bytes: inout [UInt8]) -> Bool {
    JSONText.append(membersOf: fields, as: form, after: others, to: &bytes)
  }

  /// Appends a value.
  package func append(_ value: FieldValue, to bytes: inout [UInt8]) {
    JSONText.append(value, as: form, to: &bytes)
  }

  /// Appends a string with its quotation marks.
  package func append(_ text: String, to bytes: inout [UInt8]) {
    JSONText.append(text, to: &bytes)
  }

  /// An event in the exact form, without a line's end.
  package static func object(_ event: PreparedEvent) -> [UInt8] {
    var bytes: [UInt8] = []
    EventJSON().append(event, to: &bytes)
    return bytes
  }

  /// An object of fields in the exact form.
  package static func object(_ fields: FieldObject) -> [UInt8] {
    var bytes: [UInt8] = []
    EventJSON().append(fields, to: &bytes)
    return bytes
  }
}

// MARK: Parts of an event

extension EventJSON {
  private func appendHead(_ stored: StoredEvent, name: String, fields: FieldObject, to bytes: inout [UInt8]) {
    JSONText.append(literal: "{\"id\":", to: &bytes)
    JSONText.append(stored.id, to: &bytes)
    JSONText.append(literal: ",\"offset\":", to: &bytes)
    JSONText.append(stored.offset, to: &bytes)
    JSONText.append(literal: ",\"time\":\"", to: &bytes)
    stored.time.append(to: &bytes)
    JSONText.append(literal: "\",\"name\":", to: &bytes)
    JSONText.append(name, to: &bytes)
    JSONText.append(literal: ",\"fields\":", to: &bytes)
    JSONText.append(fields, as: form, to: &bytes)
  }

  /// Appends who and what an event was captured for: an object of what there is.
  package func append(_ context: EventContext, to bytes: inout [UInt8]) {
    var object = PartialObject(&bytes)
    if !context.globals.isEmpty {
      object.key("globals", in: &bytes)
      append(context.globals, to: &bytes)
    }
    if let user = context.user {
      object.key("user", in: &bytes)
      JSONText.append(literal: "{\"id\":", to: &bytes)
      append(user.id, to: &bytes)
      JSONText.append(literal: ",\"traits\":", to: &bytes)
      append(user.traits, to: &bytes)
      bytes.append(UInt8(ascii: "}"))
    }
    if let view = context.view {
      object.key("view", in: &bytes)
      JSONText.append(literal: "{\"id\":", to: &bytes)
      append(view.id, to: &bytes)
      JSONText.append(literal: ",\"name\":", to: &bytes)
      append(view.name, to: &bytes)
      JSONText.append(literal: ",\"parent\":", to: &bytes)
      append(view.parent.map { FieldValue.string($0) } ?? .null, to: &bytes)
      bytes.append(UInt8(ascii: "}"))
    }
    if !context.fields.isEmpty {
      object.key("fields", in: &bytes)
      append(context.fields, to: &bytes)
    }
    if context.isGlobalPartLost {
      object.key("globals_lost", in: &bytes)
      JSONText.append(literal: "true", to: &bytes)
    }
    bytes.append(UInt8(ascii: "}"))
  }

  /// Appends what was noticed about an event: an object of what there is.
  private func append(_ flags: Set<PreparedEvent.Flag>, to bytes: inout [UInt8]) {
    guard !flags.isEmpty else { return JSONText.append(literal: "{}", to: &bytes) }
    // A set has no order; the bytes of an event must.
    var defaulted: [String] = []
    var originals: [String] = []
    for flag in flags {
      switch flag {
      case .defaulted(let field): defaulted.append(field)
      case .duplicate(let id): originals.append(id.description)
      case .violating: continue
      }
    }
    var object = PartialObject(&bytes)
    if flags.contains(.violating) {
      object.key("violating", in: &bytes)
      JSONText.append(literal: "true", to: &bytes)
    }
    for (key, texts) in [("defaulted", defaulted), ("duplicate_of", originals)] where !texts.isEmpty {
      object.key(key, in: &bytes)
      append(.array(texts.sorted().map { .string($0) }), to: &bytes)
    }
    bytes.append(UInt8(ascii: "}"))
  }

  /// Opens an object, and puts commas between its members.
  private struct PartialObject {
    private var isEmpty = true

    init(_ bytes: inout [UInt8]) {
      bytes.append(UInt8(ascii: "{"))
    }

    mutating func key(_ key: String, in bytes: inout [UInt8]) {
      if !isEmpty { bytes.append(UInt8(ascii: ",")) }
      isEmpty = false
      JSONText.append(key, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
    }
  }
}

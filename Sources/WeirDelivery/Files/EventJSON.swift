// EventJSON: the JSON form of events for files, HTTP and exports.

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
/// An event is one object on one line, with these keys, in this order. Only `host`, `monotonic`, `boot` and `kind` may
/// be missing:
///
/// | key | value |
/// |---|---|
/// | `id` | the `EventID`: 32 hexadecimal digits |
/// | `offset` | the `Offset` in the log |
/// | `time` | the time of capture: RFC 3339 in UTC, with nanoseconds |
/// | `host` | the host that captured the event, if the log was collected from other hosts |
/// | `monotonic`, `boot` | for providers that ask: see ``DeliveryOptions/Annotations/monotonic`` |
/// | `name` | the name under which the event is delivered |
/// | `kind` | the event's kind (`page_view`, `page_action` or `system_action`), if it has one |
/// | `fields` | the fields, in their order |
/// | `context` | the nonempty parts among `globals`, `user` (`id`, `traits`), `view` (`id`, `name`, `parent`) and `fields`; `globals_lost` is true if damage destroyed the global part |
/// | `flags` | those that apply among `violations` (fields and rules), `defaulted` (fields), `duplicate_of` (ids) |
///
/// Values are exact. Integers have all their digits, also beyond 2⁵³. Floating-point numbers have the shortest digits
/// that read back as the same number. Bytes are base64. UUIDs and dates are text: dates are RFC 3339 with nanoseconds,
/// and outside the years 0 to 9999 a date is the number of seconds since 2001. NaN and the infinities, which JSON can't
/// represent as numbers, are `"NaN"`, `"Infinity"` and `"-Infinity"`. The output is valid UTF-8. A text that is not
/// valid UTF-8, which only a C program can capture, is read from the log as bytes, and therefore written as base64.
/// Equal events have equal bytes.
///
/// Nothing is redacted here. Pass events that are already redacted, such as the events that providers get.
///
/// The options are for providers that don't accept this exact form. Encoding an event takes about half a microsecond,
/// and allocates memory only for the bytes. Any thread may use it.
public struct EventJSON: Hashable, Sendable {
  /// Whether integers beyond ±2⁵³ are written as text, for readers that read every number as a double and would change
  /// the integers. Default `false`.
  public var hasLargeIntegersAsText: Bool {
    get { form.hasLargeIntegersAsText }
    set { form.hasLargeIntegersAsText = newValue }
  }

  /// Whether NaN and the infinities are written as `null`, for providers that require a number or nothing. Default
  /// `false`.
  public var hasNonFiniteAsNull: Bool {
    get { form.hasNonFiniteAsNull }
    set { form.hasNonFiniteAsNull = newValue }
  }

  /// Whether only the last of several fields with the same name is written, for providers that refuse duplicate names.
  /// Only events captured by name can have such fields. Default `false`: all fields are written.
  public var hasEachNameOnce: Bool {
    get { form.hasEachNameOnce }
    set { form.hasEachNameOnce = newValue }
  }

  private(set) var form = JSONForm()

  /// Creates the exact form.
  public init() {}

  /// Appends an event, without a line break.
  public func append(_ event: PreparedEvent, to bytes: inout [UInt8]) {
    // Decoded once, and not for each part.
    let event = event.decoded
    appendHead(
      event.stored, clock: event.annotatedClock, name: event.name, kind: event.annotatedKind, fields: event.fields,
      to: &bytes)
    JSONText.append(literal: ",\"context\":", to: &bytes)
    append(event.context, to: &bytes)
    JSONText.append(literal: ",\"flags\":", to: &bytes)
    append(event.flagTexts(event.annotations), to: &bytes)
    bytes.append(UInt8(ascii: "}"))
  }

  /// Appends an event as it is in the log, in the same form.
  package func append(_ event: StoredEvent, to bytes: inout [UInt8]) {
    appendHead(event, clock: nil, name: event.name, kind: event.kind, fields: event.fields, to: &bytes)
    appendTail(event.context, to: &bytes)
  }

  /// Appends what follows the fields of an event without flags.
  func appendTail(_ context: EventContext, to bytes: inout [UInt8]) {
    JSONText.append(literal: ",\"context\":", to: &bytes)
    append(context, to: &bytes)
    JSONText.append(literal: ",\"flags\":{}}", to: &bytes)
  }

  /// Appends fields as an object.
  public func append(_ fields: FieldObject, to bytes: inout [UInt8]) {
    JSONText.append(fields, as: form, to: &bytes)
  }

  /// Appends fields without the surrounding braces, for an object that has other members too. Appends a comma first if
  /// `others` is `true` and there are fields. Returns whether the object has members now.
  @discardableResult
  package func append(members fields: FieldObject, after others: Bool, to bytes: inout [UInt8]) -> Bool {
    JSONText.append(membersOf: fields, as: form, after: others, to: &bytes)
  }

  /// Appends a value.
  package func append(_ value: FieldValue, to bytes: inout [UInt8]) {
    JSONText.append(value, as: form, to: &bytes)
  }

  /// Appends a string with quotation marks.
  package func append(_ text: String, to bytes: inout [UInt8]) {
    JSONText.append(text, to: &bytes)
  }

  /// Returns an event in the exact form, without a line break.
  package static func object(_ event: PreparedEvent) -> [UInt8] {
    var bytes: [UInt8] = []
    EventJSON().append(event, to: &bytes)
    return bytes
  }

  /// Returns fields as an object in the exact form.
  package static func object(_ fields: FieldObject) -> [UInt8] {
    var bytes: [UInt8] = []
    EventJSON().append(fields, to: &bytes)
    return bytes
  }
}

// MARK: Parts of an event

extension EventJSON {
  private func appendHead(
    _ stored: StoredEvent, clock: (nanoseconds: Int64, boot: String)?, name: String, kind: EventKind?,
    fields: FieldObject, to bytes: inout [UInt8]
  ) {
    JSONText.append(literal: "{\"id\":", to: &bytes)
    JSONText.append(stored.id, to: &bytes)
    JSONText.append(literal: ",\"offset\":", to: &bytes)
    JSONText.append(stored.offset, to: &bytes)
    JSONText.append(literal: ",\"time\":\"", to: &bytes)
    stored.time.append(to: &bytes)
    JSONText.append(literal: "\"", to: &bytes)
    if let host = stored.host {
      JSONText.append(literal: ",\"host\":", to: &bytes)
      JSONText.append(host, to: &bytes)
    }
    if let clock {
      JSONText.append(literal: ",\"monotonic\":", to: &bytes)
      append(.int(clock.nanoseconds), to: &bytes)
      JSONText.append(literal: ",\"boot\":", to: &bytes)
      append(clock.boot, to: &bytes)
    }
    JSONText.append(literal: ",\"name\":", to: &bytes)
    JSONText.append(name, to: &bytes)
    if let kind {
      JSONText.append(literal: ",\"kind\":", to: &bytes)
      JSONText.append(kind.rawValue, to: &bytes)
    }
    JSONText.append(literal: ",\"fields\":", to: &bytes)
    JSONText.append(fields, as: form, to: &bytes)
  }

  /// Appends the context of an event: an object with the nonempty parts.
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

  /// Opens an object, and writes commas between its members.
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

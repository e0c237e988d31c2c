// ControlForm: how the lines of a control's export are read.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The form of a line of JSON in a control's file.
public enum ControlForm: String, Hashable, Sendable, CaseIterable {
  /// `weir cat`, `weir export`, and files of JSON Lines that deliveries write.
  case weir
  /// Calls as Segment stores them.
  case segment
  /// The raw export API of Mixpanel.
  case mixpanel
  /// The export API of Amplitude.
  case amplitude
  /// PostHog's batch export of events, and its API.
  case posthog
  /// A row of ClickHouse, as JSONEachRow, of a table as `weir deliver` fills it.
  case clickhouse
  /// A name, perhaps a time and a user, and the rest as fields.
  case plain

  /// Properties that only Mixpanel's raw export has. An event has at least one of them; an event may lack the user.
  private static let mixpanelKeys = ["distinct_id", "$insert_id", "mp_processing_time_ms"]

  /// The form that an object's keys tell.
  static func of(_ object: FieldObject) -> ControlForm {
    if object["event_type"] != nil { return .amplitude }
    if object["messageId"] != nil { return .segment }
    if object["distinct_id"] != nil { return .posthog }
    if case .object(let properties)? = object["properties"], mixpanelKeys.contains(where: { properties[$0] != nil }) {
      return .mixpanel
    }
    if case .object? = object["fields"] { return .weir }
    if case .string? = object["fields"] { return .clickhouse }
    // A table with a column for each field.
    if object["offset"] != nil, object["id"] != nil, object["user_id"] != nil { return .clickhouse }
    return .plain
  }

  /// The event of a line; `nil` if the line has no name.
  func event(of object: FieldObject) -> ComparedEvent? {
    switch self {
    case .weir: Self.weir(object)
    case .segment: Self.segment(object)
    case .mixpanel: Self.mixpanel(object)
    case .amplitude: Self.amplitude(object)
    case .posthog: Self.posthog(object)
    case .clickhouse: Self.clickhouse(object)
    case .plain: Self.plain(object)
    }
  }

  private static func weir(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("name", "event") else { return nil }
    return event(
      name, user: contextUser(object) ?? object.text("user"), time: object.stated("time"),
      arrival: object.stated("inserted_at"), id: object.text("id"), fields: object.object("fields") ?? [:],
      outcome: object.text("outcome"))
  }

  private static func segment(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("event", "name", "type") else { return nil }
    return event(
      name, user: userOfVendor(object.text("userId", "anonymousId")),
      time: object.stated("timestamp", "originalTimestamp"), arrival: object.stated("receivedAt"),
      id: object.text("messageId"), fields: object.object("properties") ?? object.object("traits") ?? [:])
  }

  private static func mixpanel(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("event") else { return nil }
    let properties = object.object("properties") ?? [:]
    var event = Self.event(
      name, user: userOfVendor(properties.text("distinct_id")), time: properties.stated("time"),
      arrival: properties.stated("$mp_api_timestamp_ms", "mp_processing_time_ms"), id: properties.text("$insert_id"),
      fields: properties.without { ["time", "distinct_id", "token"].contains($0) || $0.isOfVendor("mp_") })
    // Older projects count the seconds of their own zone.
    event.isZoneless = true
    return event
  }

  private static func amplitude(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("event_type") else { return nil }
    return event(
      name, user: userOfVendor(object.text("user_id", "device_id")),
      time: object.stated("event_time", "client_event_time", "time"),
      arrival: object.stated("server_received_time", "server_upload_time"),
      id: object.text("insert_id", "$insert_id"), fields: object.object("event_properties") ?? [:])
  }

  private static func posthog(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("event") else { return nil }
    let properties = object.object("properties") ?? [:]
    return event(
      name, user: userOfVendor(object.text("distinct_id")), time: object.stated("timestamp"),
      arrival: object.stated("created_at", "inserted_at", "_inserted_at"), id: object.text("uuid", "id"),
      fields: properties.without { ["distinct_id", "token"].contains($0) || $0.isOfVendor("$") })
  }

  private static let clickhouseKeys = ["id", "offset", "time", "event", "user_id", "inserted_at"]

  private static func clickhouse(_ object: FieldObject) -> ComparedEvent? {
    guard object["fields"] == nil else {
      var event = weir(object)
      if event?.user == nil { event?.user = object.text("user_id") }
      return event
    }
    // A field may have the name `name` here.
    guard let name = object.text("event", "name") else { return nil }
    return event(
      name, user: object.text("user_id", "user"), time: object.stated("time"), arrival: object.stated("inserted_at"),
      id: object.text("id"), fields: object.without { clickhouseKeys.contains($0) })
  }

  private static let plainKeys = [
    "event", "name", "time", "timestamp", "user", "user_id", "userId", "id", "outcome",
  ]

  private static func plain(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("event", "name") else { return nil }
    return event(
      name, user: object.text("user", "user_id", "userId"), time: object.stated("time", "timestamp"),
      id: object.text("id"), fields: object.object("properties") ?? object.without { plainKeys.contains($0) },
      outcome: object.text("outcome"))
  }

  /// The user as Weir writes it. An empty user is a user there.
  private static func contextUser(_ object: FieldObject) -> String? {
    object.object("context")?.object("user")?.anyText("id")
  }

  /// The user whom a vendor has. A vendor that asks for one gets `weir-` and the opening from Weir if there is none.
  private static func userOfVendor(_ user: String?) -> String? {
    guard let user, user.hasPrefix("weir-"), user.utf8.count == 21 else { return user }
    return UInt64(user.dropFirst(5), radix: 16) == nil ? user : nil
  }

  /// What Weir adds to an event on the way to a vendor.
  private static let annotations = [
    "weir_kind", "weir_violations", "weir_defaulted", "weir_duplicate_of", "weir_monotonic", "weir_boot",
  ]

  private static func event(
    _ name: String, user: String?, time: FieldValue?, arrival: FieldValue? = nil, id: String?, fields: FieldObject,
    outcome: String? = nil
  ) -> ComparedEvent {
    var event = ComparedEvent(
      name: name, user: user, time: time.flatMap(ControlTime.nanoseconds) ?? .min,
      arrival: arrival.flatMap(ControlTime.nanoseconds), fields: fields)
    event.isZoneless = time.map(ControlTime.isZoneless) ?? false
    event.takeCarried()
    if event.fields.contains(where: { annotations.contains($0.name) }) {
      event.fields = event.fields.without { annotations.contains($0) }
    }
    event.outcome = event.outcome ?? outcome
    // A vendor that got Weir's events has Weir's ids in the place of its own.
    if event.id == nil, let id { event.id = EventID(id) ?? UUID(uuidString: id).flatMap { EventID($0) } }
    event.foreignID = event.id == nil ? id : nil
    return event
  }
}

extension FieldObject {
  /// A member that is a text or a number, as text.
  fileprivate func anyText(_ name: String) -> String? {
    switch self[name] {
    case .string(let text)?: text
    case .int?, .uint?, .double?: self[name].map(ValueHash.plainText)
    default: nil
    }
  }

  /// The first of these members that is a text or a number, as text. An empty text says nothing: all events with an
  /// empty id would be one.
  fileprivate func text(_ names: String...) -> String? {
    for name in names {
      if let text = anyText(name), !text.isEmpty { return text }
    }
    return nil
  }

  /// The first of these members that is not null.
  fileprivate func stated(_ names: String...) -> FieldValue? {
    for name in names {
      if let value = self[name], value != .null { return value }
    }
    return nil
  }

  /// A member that is an object, or the text of one, as tables have it.
  fileprivate func object(_ name: String) -> FieldObject? {
    switch self[name] {
    case .object(let object)?: object
    case .string(let text)?: text.utf8.first == UInt8(ascii: "{") ? JSONObject.read(text) : nil
    default: nil
    }
  }

  fileprivate func without(_ isLeftOut: (String) -> Bool) -> FieldObject {
    FieldObject(filter { !isLeftOut($0.name) })
  }
}

extension String {
  /// Whether a vendor added the property: its name begins with `$`, or as the vendor's own do.
  fileprivate func isOfVendor(_ prefix: String) -> Bool { hasPrefix("$") || hasPrefix(prefix) }
}

// ControlForm: how the lines of a control's export are read.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The form of a line of JSON in a control's file.
package enum ControlForm: String, Hashable, Sendable, CaseIterable {
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

  /// The form that an object's keys tell.
  static func of(_ object: FieldObject) -> ControlForm {
    if object["event_type"] != nil { return .amplitude }
    if object["messageId"] != nil { return .segment }
    if case .object(let properties)? = object["properties"], object["distinct_id"] == nil,
      properties["distinct_id"] != nil
    {
      return .mixpanel
    }
    if object["distinct_id"] != nil { return .posthog }
    if case .object? = object["fields"] { return .weir }
    if case .string? = object["fields"] { return .clickhouse }
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
    let context = object.object("context")
    return event(
      name, user: context.object("user").text("id") ?? object.text("user"), time: object["time"],
      id: object.text("id"), fields: object.object("fields"), outcome: object.text("outcome"))
  }

  private static func segment(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("event", "name", "type") else { return nil }
    return event(
      name, user: object.text("userId", "anonymousId"), time: object["timestamp"] ?? object["originalTimestamp"],
      arrival: object["receivedAt"], id: object.text("messageId"), fields: object.object("properties"))
  }

  private static func mixpanel(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("event") else { return nil }
    let properties = object.object("properties")
    return event(
      name, user: properties.text("distinct_id"), time: properties["time"],
      arrival: properties["mp_processing_time_ms"],
      id: properties.text("$insert_id"),
      fields: properties.without { ["time", "distinct_id", "token"].contains($0) || $0.isOfVendor("mp_") })
  }

  private static func amplitude(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("event_type") else { return nil }
    return event(
      name, user: object.text("user_id", "device_id"), time: object["event_time"] ?? object["time"],
      arrival: object["server_received_time"] ?? object["server_upload_time"],
      id: object.text("insert_id", "$insert_id"), fields: object.object("event_properties"))
  }

  private static func posthog(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("event") else { return nil }
    var properties = object.object("properties")
    // The batch export has the properties as a text.
    if case .string(let text)? = object["properties"] { properties = JSONObject.read(text) }
    return event(
      name, user: object.text("distinct_id"), time: object["timestamp"],
      arrival: object["inserted_at"] ?? object["created_at"], id: object.text("uuid"),
      fields: properties.without { $0.isOfVendor("$") })
  }

  private static func clickhouse(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("name", "event") else { return nil }
    var fields = object.object("fields")
    if case .string(let text)? = object["fields"] { fields = JSONObject.read(text) }
    return event(
      name, user: object.text("user", "user_id"), time: object["time"], arrival: object["inserted_at"],
      id: object.text("id"), fields: fields)
  }

  private static let plainKeys = [
    "event", "name", "time", "timestamp", "user", "user_id", "userId", "id", "outcome",
  ]

  private static func plain(_ object: FieldObject) -> ComparedEvent? {
    guard let name = object.text("event", "name") else { return nil }
    let properties = object.object("properties")
    return event(
      name, user: object.text("user", "user_id", "userId"), time: object["time"] ?? object["timestamp"],
      id: object.text("id"), fields: properties.isEmpty ? object.without { plainKeys.contains($0) } : properties,
      outcome: object.text("outcome"))
  }

  private static func event(
    _ name: String, user: String?, time: FieldValue?, arrival: FieldValue? = nil, id: String?, fields: FieldObject,
    outcome: String? = nil
  ) -> ComparedEvent {
    var event = ComparedEvent(
      name: name, user: user, time: time.flatMap(ControlTime.nanoseconds) ?? .min,
      arrival: arrival.flatMap(ControlTime.nanoseconds), fields: fields)
    event.takeCarried()
    event.outcome = event.outcome ?? outcome
    // A vendor that got Weir's events has Weir's ids in the place of its own.
    if event.id == nil, let id { event.id = EventID(id) ?? UUID(uuidString: id).flatMap { EventID($0) } }
    event.foreignID = event.id == nil ? id : nil
    return event
  }
}

extension FieldObject {
  /// The first of these members that is a text or a number, as text.
  fileprivate func text(_ names: String...) -> String? {
    for name in names {
      switch self[name] {
      case .string(let text)?: return text
      case .int?, .uint?, .double?: return self[name].map(ValueHash.plainText)
      default: continue
      }
    }
    return nil
  }

  fileprivate func object(_ name: String) -> FieldObject {
    if case .object(let object)? = self[name] { object } else { FieldObject([FieldObject.Member]()) }
  }

  fileprivate func without(_ isLeftOut: (String) -> Bool) -> FieldObject {
    FieldObject(filter { !isLeftOut($0.name) })
  }
}

extension String {
  /// Whether a vendor added the property: its name begins with `$`, or as the vendor's own do.
  fileprivate func isOfVendor(_ prefix: String) -> Bool { hasPrefix("$") || hasPrefix(prefix) }
}

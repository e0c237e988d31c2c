// Google Analytics 4: /mp/collect and /debug/mp/collect, by the documentation of the Measurement Protocol.
//
// A request has at most 25 events. A request has less than 130 kB. An event has at most 25 parameters. /mp/collect
// returns 204 for every request, and drops events that break these rules. /debug/mp/collect names the broken rules, and
// keeps no event.

#if Collector
  import Weir

  struct GA4: Vendor {
    static let batchBytes = 130_000
    static let batchEvents = 25
    static let parameters = 25
    private static let reserved: Set<String> = [
      "ad_activeview", "ad_click", "ad_exposure", "ad_query", "ad_reward", "adunit_exposure", "app_clear_data",
      "app_exception", "app_install", "app_remove", "app_store_refund", "app_update", "app_upgrade",
      "dynamic_link_app_open", "dynamic_link_app_update", "dynamic_link_first_open", "error", "firebase_campaign",
      "firebase_in_app_message_action", "firebase_in_app_message_dismiss", "firebase_in_app_message_impression",
      "first_open", "first_visit", "notification_dismiss", "notification_foreground", "notification_open",
      "notification_receive", "notification_send", "os_update", "session_start", "user_engagement",
    ]
    private static let reservedProperties: Set<String> = [
      "first_open_time", "first_visit_time", "last_deep_link_referrer", "user_id", "first_open_after_install",
    ]
    private static let prefixes = ["_", "ga_", "google_", "firebase_", "gtag."]
    private static let lengths = ["page_title": 300, "page_referrer": 420, "page_location": 1_000]

    let name = "ga4"
    let namesFailures = false
    /// It is the validation server, which keeps nothing.
    var isDebug = false

    /// What is wrong with a part of a request, as the validation server says it.
    private struct Wrong: Error {
      var code: String
      var path: String
      var reason: String
    }

    func read(_ request: VendorRequest) throws(Refusal) -> Batch {
      guard request.body.count < Self.batchBytes else { throw refusal(413, "the body has 130 kB or more") }
      guard case .object(let body) = try json(request.body) else { throw refusal(400, "the body is no object") }
      let client: String
      do throws(Wrong) {
        client = try Self.client(body, request.query)
        try Self.checkProperties(body)
      } catch {
        throw refused(error)
      }
      guard let values = body.array("events") else {
        throw refused(Wrong(code: "VALUE_REQUIRED", path: "events", reason: "events is missing, or no array"))
      }
      guard (1...Self.batchEvents).contains(values.count) else {
        let reason = "the request has \(values.count) events; it may have \(Self.batchEvents)"
        throw refused(Wrong(code: "EXCEEDED_MAX_ENTITIES", path: "events", reason: reason))
      }
      var batch = Batch()
      for (index, value) in values.enumerated() {
        do throws(Wrong) {
          let event = try event(value, of: body, client)
          if !isDebug { batch.events.append(Incoming(index: index, event: event)) }
        } catch {
          var id: String?
          if case .object(let event) = value { id = event.object("params")?.identity("weir_id") }
          batch.failures.append(
            Failure(
              index: index, id: id, field: error.path, kind: .invalid, reason: "\(error.code): \(error.reason)",
              value: value))
        }
      }
      return batch
    }

    private static func client(_ body: FieldObject, _ query: [String: String]) throws(Wrong) -> String {
      if query["measurement_id"] != nil {
        guard let id = body.text("client_id") else {
          throw Wrong(code: "VALUE_REQUIRED", path: "client_id", reason: "client_id is missing")
        }
        let parts = id.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ UInt64($0) ?? 0 > 0 }) else {
          throw Wrong(code: "VALUE_INVALID", path: "client_id", reason: "client_id is not two positive numbers")
        }
        return id
      }
      guard query["firebase_app_id"] != nil else {
        throw Wrong(code: "VALUE_REQUIRED", path: "measurement_id", reason: "the query has no measurement_id")
      }
      guard let id = body.identity("app_instance_id") else {
        throw Wrong(code: "VALUE_REQUIRED", path: "app_instance_id", reason: "app_instance_id is missing")
      }
      return id
    }

    private static func checkProperties(_ body: FieldObject) throws(Wrong) {
      guard let properties = body.object("user_properties") else { return }
      guard properties.count <= parameters else {
        throw Wrong(code: "EXCEEDED_MAX_ENTITIES", path: "user_properties", reason: "more than 25 user properties")
      }
      for property in properties {
        let path = "user_properties.\(property.name)"
        try checkName(property.name, 24, path, reservedProperties)
        guard case .object(let object) = property.value, let value = object["value"] else {
          throw Wrong(code: "VALUE_REQUIRED", path: path, reason: "\(property.name) has no value")
        }
        try checkValue(value, 36, path)
      }
    }

    private static func checkName(
      _ name: String, _ length: Int, _ path: String, _ reserved: Set<String>
    ) throws(Wrong) {
      guard !reserved.contains(name), !prefixes.contains(where: name.hasPrefix) else {
        throw Wrong(code: "NAME_RESERVED", path: path, reason: "the name [\(name.cut(to: 100))] is reserved")
      }
      let isPlain = name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
      guard isPlain, name.first?.isLetter == true, name.utf8.count <= length else {
        throw Wrong(code: "NAME_INVALID", path: path, reason: "the name [\(name.cut(to: 100))] is invalid")
      }
    }

    private static func checkValue(_ value: FieldValue, _ length: Int, _ path: String) throws(Wrong) {
      switch value {
      case .string(let text):
        guard text.unicodeScalars.count <= length else {
          throw Wrong(code: "VALUE_OUT_OF_BOUNDS", path: path, reason: "the value has more than \(length) characters")
        }
      case .int, .uint, .double: return
      default: throw Wrong(code: "VALUE_INVALID", path: path, reason: "the value is neither text nor number")
      }
    }

    private func event(_ value: FieldValue, of body: FieldObject, _ client: String) throws(Wrong) -> CollectedEvent {
      guard case .object(let event) = value, let name = event.text("name") else {
        throw Wrong(code: "VALUE_REQUIRED", path: "events", reason: "the event has no name")
      }
      try Self.checkName(name, 40, "events", Self.reserved)
      let parameters = event.object("params") ?? [:]
      guard parameters.count <= Self.parameters else {
        throw Wrong(code: "EXCEEDED_MAX_ENTITIES", path: "events.params", reason: "more than 25 parameters")
      }
      for parameter in parameters {
        let path = "events.params.\(parameter.name)"
        try Self.checkName(parameter.name, 40, path, [])
        if parameter.name == "items", case .array = parameter.value { continue }
        try Self.checkValue(parameter.value, Self.lengths[parameter.name] ?? 100, path)
      }
      let time = event["timestamp_micros"] ?? body["timestamp_micros"]
      return CollectedEvent(
        vendor: self.name, id: parameters.identity("weir_id"), time: time.flatMap(TimeText.timestamp), name: name,
        user: body.identity("user_id") ?? client, properties: parameters.without(["weir_id"]),
        context: body.without(["events", "user_id", "timestamp_micros"]))
    }

    func answer(to batch: Batch, taken: Int) -> Answer {
      guard isDebug else { return Answer(204) }
      return messages(
        batch.failures.map { failure in
          let parts = failure.reason.split(separator: ": ", maxSplits: 1)
          return [
            "fieldPath": .string(failure.field),
            "description": .string("Event at index: [\(failure.index)]: \(parts.last ?? "")"),
            "validationCode": .string(String(parts.first ?? "")),
          ]
        })
    }

    func answer(_ status: Int, _ message: String) -> Answer {
      // A request that came gets a success, whatever is in it.
      if !isDebug, [400, 413].contains(status) { return Answer(204) }
      return .text(status, message)
    }

    private func refused(_ wrong: Wrong) -> Refusal {
      let message: FieldObject = [
        "fieldPath": .string(wrong.path), "description": .string(wrong.reason), "validationCode": .string(wrong.code),
      ]
      return Refusal(answer: isDebug ? messages([message]) : Answer(204), reason: wrong.reason)
    }

    private func messages(_ messages: [FieldObject]) -> Answer {
      .json(200, ["validationMessages": .array(messages.map { .object($0) })])
    }
  }
#endif

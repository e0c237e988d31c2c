// OTLP: /v1/logs, logs of OpenTelemetry over HTTP as JSON. Records that the log can't hold are a partial success, which
// says how many and not which; a body that is no request of logs is refused with a status of google.rpc.

#if Collector
  import Foundation
  import Weir

  struct OTLP: Vendor {
    let name = "otlp"
    let namesFailures = true

    func read(_ request: VendorRequest) throws(Refusal) -> Batch {
      guard !request.contentType.contains("protobuf") else {
        throw refusal(415, "Protobuf is not known here; send JSON")
      }
      guard case .object(let body) = try json(request.body) else { throw refusal(400, "the body is no object") }
      var batch = Batch()
      var index = 0
      for resource in try objects(body, "resourceLogs") {
        let about = attributes(resource.object("resource"))
        for scope in try objects(resource, "scopeLogs") {
          let records = try objects(scope, "logRecords")
          try checkCount(index + records.count)
          for record in records {
            batch.events.append(
              Incoming(index: index, event: event(record, resource: about, scope: scope.object("scope"))))
            index += 1
          }
        }
      }
      return batch
    }

    private func objects(_ object: FieldObject, _ name: String) throws(Refusal) -> [FieldObject] {
      switch object[name] {
      case nil, .null?: return []
      case .array(let values)?:
        var objects: [FieldObject] = []
        for value in values {
          guard case .object(let object) = value else {
            throw refusal(400, "\(name) has something in it that is no object")
          }
          objects.append(object)
        }
        return objects
      default: throw refusal(400, "\(name) is no array")
      }
    }

    private func event(_ record: FieldObject, resource: FieldObject, scope: FieldObject?) -> CollectedEvent {
      var fields = attributes(record)
      let id = first(["log.record.uid", "event.id", "weir.id", "id"], in: fields)
      let user = first(["user.id", "enduser.id"], in: fields)
      var name = record.text("eventName").flatMap { $0.isEmpty ? nil : $0 }
      if name == nil, let attribute = fields.text("event.name") {
        name = attribute
        fields["event.name"] = nil
      }
      if let id { fields[id.name] = nil }
      if let user { fields[user.name] = nil }
      var context = FieldObject()
      for name in ["weir.offset", "weir.time"] {
        context[name] = fields[name]
        fields[name] = nil
      }
      if !resource.isEmpty { context["resource"] = .object(resource) }
      if let scope, !scope.isEmpty { context["scope"] = .object(scope) }
      if let body = record.object("body") { context["body"] = value(body) }
      for name in ["severityText", "severityNumber", "traceId", "spanId"] { context[name] = record[name] }
      let time = record["timeUnixNano"].flatMap(nanoseconds) ?? record["observedTimeUnixNano"].flatMap(nanoseconds)
      return CollectedEvent(
        vendor: self.name, id: id?.value, time: time, name: name ?? "log", user: user?.value, properties: fields,
        context: context)
    }

    private func first(_ names: [String], in fields: FieldObject) -> (name: String, value: String)? {
      for name in names { if let value = fields.identity(name) { return (name, value) } }
      return nil
    }

    /// A wide number is a text in Protobuf's JSON.
    private func nanoseconds(_ value: FieldValue) -> Timestamp? {
      let number: Int64? =
        switch value {
        case .string(let text): Int64(text)
        case .int(let number): number
        default: nil
        }
      return number.flatMap { $0 > 0 ? Timestamp(nanosecondsSince1970: $0) : nil }
    }

    private func attributes(_ owner: FieldObject?) -> FieldObject {
      FieldObject(
        (owner?.array("attributes") ?? []).compactMap { attribute in
          guard case .object(let pair) = attribute, let key = pair.text("key") else { return nil }
          return FieldObject.Member(name: key, value: pair.object("value").map { value($0) } ?? .null)
        })
    }

    /// What an AnyValue holds.
    private func value(_ any: FieldObject) -> FieldValue {
      guard let member = any.first else { return .null }
      switch (member.name, member.value) {
      case ("stringValue", .string), ("boolValue", .bool), ("intValue", .int), ("doubleValue", .double):
        return member.value
      case ("doubleValue", .int(let number)): return .double(Double(number))
      case ("doubleValue", .string(let text)): return Double(text).map { .double($0) } ?? member.value
      case ("intValue", .string(let text)):
        return Int64(text).map { .int($0) } ?? UInt64(text).map { .uint($0) } ?? member.value
      case ("bytesValue", .string(let text)):
        return Data(base64Encoded: text).map { .bytes(Array($0)) } ?? member.value
      case ("arrayValue", .object(let array)):
        return .array(
          (array.array("values") ?? []).map { item in
            if case .object(let item) = item { value(item) } else { .null }
          })
      case ("kvlistValue", .object(let list)):
        return .object(attributes(FieldObject([("attributes", list["values"] ?? .array([]))])))
      default: return member.value
      }
    }

    func answer(to batch: Batch, taken: Int) -> Answer {
      guard let failure = batch.failures.first else { return .json(200, ["partialSuccess": [:]]) }
      return .json(
        200,
        [
          "partialSuccess": [
            "rejectedLogRecords": .string(String(batch.failures.count)), "errorMessage": .string(failure.reason),
          ]
        ])
    }

    func answer(_ status: Int, _ message: String) -> Answer {
      // The codes of google.rpc: invalid argument, unavailable, internal.
      let code: Int64 =
        switch status {
        case 429, 503: 14
        case 500...: 13
        default: 3
        }
      return .json(status, ["code": .int(code), "message": .string(message)])
    }
  }
#endif

// Amplitude: /2/httpapi and /batch. As its HTTP V2 API is documented: 2,000 events a request, 1 MB there and 20 MB
// here; a 400 lists the events that are not as they should be by field, and then nothing of the request is taken.

#if Collector
  import Foundation
  import Weir

  struct Amplitude: Vendor {
    static let batchEvents = 2_000
    /// Shorter names of users and devices are left out, unless the request says otherwise.
    private static let idLength = 5

    let name = "amplitude"
    let namesFailures = true
    let limitBytes: Int

    func takesGoodOnes(of batch: Batch) -> Bool { batch.failures.isEmpty }

    func read(_ request: VendorRequest) throws(Refusal) -> Batch {
      guard request.body.count <= limitBytes else { throw refusal(413, "Payload too large") }
      guard case .object(let envelope) = try json(request.body) else { throw refusal(400, "Invalid JSON request body") }
      guard let events = envelope.array("events") else {
        var answer = FieldObject([("code", .int(400)), ("error", "Request missing required field")])
        answer["missing_field"] = "events"
        throw Refusal(answer: .json(400, answer), reason: "events is missing, or no array")
      }
      guard events.count <= Self.batchEvents else { throw refusal(413, "Payload too large") }
      let least: Int
      if case .int(let number)? = envelope.object("options")?["min_id_length"] {
        least = Int(clamping: number)
      } else {
        least = Self.idLength
      }
      var batch = Batch()
      for (index, value) in events.enumerated() { read(value, index, idLength: least, into: &batch) }
      return batch
    }

    private func read(_ value: FieldValue, _ index: Int, idLength: Int, into batch: inout Batch) {
      var id: String?
      func fail(_ field: String, _ kind: Failure.Kind, _ reason: String) {
        batch.failures.append(
          Failure(index: index, id: id, field: field, kind: kind, reason: reason, value: value))
      }
      guard case .object(let event) = value else { return fail("event", .invalid, "the event is no object") }
      id = event.identity("insert_id")
      guard let type = event["event_type"] else { return fail("event_type", .missing, "event_type is missing") }
      guard case .string(let name) = type, !name.isEmpty else {
        return fail("event_type", .invalid, "event_type is no text, or empty")
      }
      let ids = [event.identity("user_id"), event.identity("device_id")].compactMap { $0 }
      guard !ids.isEmpty else { return fail("user_id", .missing, "user_id and device_id are missing") }
      guard let user = ids.first(where: { $0.count >= idLength }) else {
        return fail("user_id", .invalid, "user_id and device_id have fewer than \(idLength) characters")
      }
      var time: Timestamp?
      if let given = event["time"], given != .null {
        guard case .int(let milliseconds) = given, milliseconds >= 0 else {
          return fail("time", .invalid, "time is no number of milliseconds")
        }
        time = TimeText.timestamp(given)
      }
      for object in ["event_properties", "user_properties"] {
        switch event[object] {
        case nil, .null?, .object?: continue
        default: return fail(object, .invalid, "\(object) is no object")
        }
      }
      let own: Set<String> = ["user_id", "device_id", "event_type", "time", "insert_id", "event_properties"]
      batch.events.append(
        Incoming(
          index: index,
          event: CollectedEvent(
            vendor: self.name, id: id, time: time, name: name, user: user,
            properties: event.object("event_properties") ?? [:], context: event.without(own))))
    }

    func answer(to batch: Batch, taken: Int) -> Answer {
      guard !batch.failures.isEmpty else {
        return .json(
          200,
          [
            "code": 200, "events_ingested": .int(Int64(taken)), "payload_size_bytes": .int(Int64(batch.bytes)),
            "server_upload_time": .int(Int64(Date().timeIntervalSince1970 * 1_000)),
          ])
      }
      return .json(
        400,
        [
          "code": 400, "error": "Some events have missing or invalid fields",
          "events_with_missing_fields": .object(indices(batch, .missing)),
          "events_with_invalid_fields": .object(indices(batch, .invalid)),
        ])
    }

    /// The indices of the events at fault, by the name of the field.
    private func indices(_ batch: Batch, _ kind: Failure.Kind) -> FieldObject {
      var fields: [(String, FieldValue)] = []
      for failure in batch.failures where failure.kind == kind {
        let field = failure.field.isEmpty ? "event" : failure.field
        let index = FieldValue.int(Int64(failure.index))
        if let place = fields.firstIndex(where: { $0.0 == field }), case .array(let indices) = fields[place].1 {
          fields[place].1 = .array(indices + [index])
        } else {
          fields.append((field, .array([index])))
        }
      }
      return FieldObject(fields)
    }

    func answer(_ status: Int, _ message: String) -> Answer {
      .json(status, ["code": .int(Int64(status)), "error": .string(message)])
    }
  }
#endif

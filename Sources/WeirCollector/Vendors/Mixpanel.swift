// Mixpanel: /import. As its import API is documented: 2,000 events and 10 MB a request, 1 MB an event; with strict=1 a
// 400 names the events that are not as they should be, and the others are taken; without it they are left out silently.

#if Collector
  import Weir

  struct Mixpanel: Vendor {
    static let batchBytes = 10 << 20
    static let batchEvents = 2_000
    static let eventBytes = 1 << 20
    static let eventProperties = 255
    static let nesting = 3
    private static let ownProperties: Set<String> = ["time", "distinct_id", "$insert_id", "token"]
    /// Names that stand for nobody.
    private static let nobody: Set<String> = [
      "00000000-0000-0000-0000-000000000000", "anon", "anonymous", "nil", "none", "null", "n/a", "na", "undefined",
      "unknown", "empty", "0", "-1", "true", "false", "[]", "{}",
    ]

    let name = "mixpanel"
    let namesFailures = true

    func read(_ request: VendorRequest) throws(Refusal) -> Batch {
      try checkSize(request, Self.batchBytes)
      let values: [FieldValue]
      if request.contentType.contains("ndjson") {
        values = try lines(request.body)
      } else if case .array(let events) = try json(request.body) {
        values = events
      } else {
        throw refusal(400, "the body is no array of events")
      }
      guard values.count <= Self.batchEvents else {
        throw refusal(400, "request contains \(values.count) events; it may contain \(Self.batchEvents)")
      }
      var batch = Batch()
      batch.isStrict = request.query["strict"] != "0"
      for (index, value) in values.enumerated() {
        switch event(value, index) {
        case .success(let event): batch.events.append(Incoming(index: index, event: event))
        case .failure(let wrong):
          batch.failures.append(
            Failure(
              index: index, id: wrong.id, field: wrong.field, kind: .invalid, reason: wrong.reason, value: value))
        }
      }
      return batch
    }

    private func lines(_ body: [UInt8]) throws(Refusal) -> [FieldValue] {
      var values: [FieldValue] = []
      for line in body.split(separator: UInt8(ascii: "\n")) where line.contains(where: { $0 > 0x20 }) {
        values.append(try json(Array(line)))
      }
      return values
    }

    private struct Wrong: Error {
      var field: String
      var reason: String
      var id: String?
    }

    private func event(_ value: FieldValue, _ index: Int) -> Result<CollectedEvent, Wrong> {
      guard case .object(let event) = value else {
        return .failure(Wrong(field: "", reason: "the event is not a JSON object"))
      }
      guard let properties = event.object("properties") else {
        return .failure(Wrong(field: "properties", reason: "'properties' is missing or no object"))
      }
      let id = properties.identity("$insert_id")
      func wrong(_ field: String, _ reason: String) -> Result<CollectedEvent, Wrong> {
        .failure(Wrong(field: field, reason: "'\(field)' is invalid: \(reason)", id: id))
      }
      guard let name = event.text("event"), !name.isEmpty else { return wrong("event", "must be a non-empty string") }
      guard name.utf8.count <= 255 else { return wrong("event", "must be at most 255 bytes") }
      let earliest = Int64(31_536_000) * 1_000_000_000
      guard let time = properties["time"].flatMap(TimeText.timestamp), time.nanosecondsSince1970 >= earliest else {
        return wrong("properties.time", "must be specified as seconds since epoch")
      }
      guard let user = properties["distinct_id"] else { return wrong("properties.distinct_id", "is missing") }
      if case .string(let user) = user, Self.nobody.contains(user.lowercased()) {
        return wrong("properties.distinct_id", "stands for nobody")
      }
      guard let id else { return wrong("properties.$insert_id", "is missing") }
      guard id.utf8.count <= 36, id.utf8.allSatisfy(Self.isInID) else {
        return wrong("properties.$insert_id", "must be at most 36 letters, digits and -")
      }
      guard properties.count < Self.eventProperties else { return wrong("properties", "must be fewer than 255") }
      let deepest = properties.lazy.map(\.value.depth).max() ?? 0
      guard deepest <= Self.nesting else { return wrong("properties", "may nest \(Self.nesting) deep") }
      guard value.jsonBytes < Self.eventBytes else { return wrong("event", "must be smaller than 1 MB") }
      return .success(
        CollectedEvent(
          vendor: self.name, id: id, time: time, name: name, user: properties.identity("distinct_id"),
          properties: properties.without(Self.ownProperties)))
    }

    private static func isInID(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
        true
      default: false
      }
    }

    func answer(to batch: Batch, taken: Int) -> Answer {
      let imported = FieldValue.int(Int64(taken))
      guard batch.isStrict, !batch.failures.isEmpty else {
        return .json(200, ["code": 200, "num_records_imported": imported, "status": "OK"])
      }
      let records = batch.failures.map { failure in
        FieldValue.object([
          "index": .int(Int64(failure.index)), "insert_id": .string(failure.id ?? ""), "field": .string(failure.field),
          "message": .string(failure.reason),
        ])
      }
      return .json(
        400,
        [
          "code": 400, "error": "some data points in the request failed validation", "failed_records": .array(records),
          "num_records_imported": imported, "status": "Bad Request",
        ])
    }

    func answer(_ status: Int, _ message: String) -> Answer {
      .json(
        status,
        ["code": .int(Int64(status)), "error": .string(message), "status": .string(Answer.words(status))])
    }
  }

  /// /engage: what is known about users, as events named `$identify`.
  struct MixpanelProfiles: Vendor {
    let name = "mixpanel"
    let namesFailures = false

    func read(_ request: VendorRequest) throws(Refusal) -> Batch {
      try checkSize(request, Mixpanel.batchBytes)
      var values = [try json(request.body)]
      if case .array(let updates) = values[0] { values = updates }
      try checkCount(values.count)
      var batch = Batch()
      for (index, value) in values.enumerated() {
        guard case .object(let update) = value, let user = update.identity("$distinct_id") else {
          let reason = "$distinct_id is missing"
          throw refusal(
            400, reason,
            [Failure(index: index, id: nil, field: "$distinct_id", kind: .missing, reason: reason, value: value)])
        }
        batch.events.append(
          Incoming(
            index: index,
            event: CollectedEvent(
              vendor: name, id: update.identity("$insert_id"), time: update["$time"].flatMap(TimeText.timestamp),
              name: "$identify", type: "identify", user: user, properties: update.object("$set") ?? [:])))
      }
      return batch
    }

    func answer(to batch: Batch, taken: Int) -> Answer {
      .json(200, ["status": 1, "error": .null])
    }

    func answer(_ status: Int, _ message: String) -> Answer {
      .json(status, ["status": 0, "error": .string(message)])
    }
  }
#endif

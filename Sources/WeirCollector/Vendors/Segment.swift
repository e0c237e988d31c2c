// Segment: /v1/batch, and the single calls. As Segment's HTTP API is documented: 500 KB and 2,500 events a batch, 32 KB
// an event, 400 beyond that and for what is no JSON; otherwise 200, also for events that it then does not take: those
// without a name or without anybody they are about.

#if Collector
  import Weir

  struct Segment: Vendor {
    static let batchBytes = 500 << 10
    static let eventBytes = 32 << 10
    static let batchEvents = 2_500
    private static let calls: Set<String> = ["track", "identify", "page", "screen", "group", "alias"]

    let name = "segment"
    let namesFailures = false
    /// The call that a body is one of; nil for a batch of them.
    var call: String?

    func read(_ request: VendorRequest) throws(Refusal) -> Batch {
      try checkSize(request, call == nil ? Self.batchBytes : Self.eventBytes, status: 400)
      guard case .object(let envelope) = try json(request.body) else { throw refusal(400, "the body is no object") }
      if let call {
        var batch = Batch()
        read(.object(envelope), index: 0, type: call, context: [:], into: &batch)
        return batch
      }
      guard let events = envelope.array("batch") else { throw refusal(400, "batch is missing, or no array") }
      guard events.count <= Self.batchEvents else {
        throw refusal(400, "the batch has \(events.count) events; it may have \(Self.batchEvents)")
      }
      // A batch that is no larger than an event may be has none that is.
      if request.body.count > Self.eventBytes {
        for (index, event) in events.enumerated() where event.jsonBytes > Self.eventBytes {
          let reason = "the event takes more than \(Self.eventBytes) bytes"
          throw refusal(400, reason, [failure(event, index, "", .invalid, reason)])
        }
      }
      var batch = Batch()
      let context = envelope.object("context") ?? [:]
      for (index, event) in events.enumerated() { read(event, index: index, type: nil, context: context, into: &batch) }
      return batch
    }

    private func read(
      _ value: FieldValue, index: Int, type given: String?, context: FieldObject, into batch: inout Batch
    ) {
      func fail(_ field: String, _ kind: Failure.Kind, _ reason: String) {
        batch.failures.append(failure(value, index, field, kind, reason))
      }
      guard case .object(let event) = value else { return fail("", .invalid, "the event is no object") }
      guard let type = given ?? event.text("type") else { return fail("type", .missing, "type is missing") }
      guard Self.calls.contains(type) else { return fail("type", .invalid, "\(type) is no type of event") }
      var name = type
      if type == "track" {
        guard let title = event.text("event"), !title.isEmpty else {
          return fail("event", .missing, "event is missing")
        }
        name = title
      } else if let title = event.text("name"), !title.isEmpty {
        name = title
      }
      let user = event.identity("userId") ?? event.identity("anonymousId")
      guard user != nil else { return fail("userId", .missing, "userId and anonymousId are missing") }
      let time = event["timestamp"] ?? event["sentAt"]
      batch.events.append(
        Incoming(
          index: index,
          event: CollectedEvent(
            vendor: self.name, id: event.identity("messageId"), time: time.flatMap(TimeText.timestamp), name: name,
            type: type, user: user, properties: event.object("properties") ?? event.object("traits") ?? [:],
            context: event.object("context") ?? context)))
    }

    private func failure(
      _ value: FieldValue, _ index: Int, _ field: String, _ kind: Failure.Kind, _ reason: String
    ) -> Failure {
      var id: String?
      if case .object(let event) = value { id = event.identity("messageId") }
      return Failure(index: index, id: id, field: field, kind: kind, reason: reason, value: value)
    }

    func answer(to batch: Batch, taken: Int) -> Answer {
      .json(200, ["success": true])
    }

    func answer(_ status: Int, _ message: String) -> Answer {
      .json(status, ["success": false, "message": .string(message)])
    }
  }
#endif

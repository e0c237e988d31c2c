// PostHog: /batch and /capture. As its capture API is documented: 20 MB a request, any number of events, each with a
// name and with somebody that it is about; one without is the whole request's fault, and nothing of it is taken.

#if Collector
  import Weir

  struct PostHog: Vendor {
    static let batchBytes = 20 << 20

    let name = "posthog"
    let namesFailures = false

    func read(_ request: VendorRequest) throws(Refusal) -> Batch {
      try checkSize(request, Self.batchBytes)
      let values: [FieldValue]
      switch try json(request.body) {
      case .array(let events): values = events
      case .object(let envelope):
        if envelope["batch"] == nil {
          values = [.object(envelope)]
        } else if let events = envelope.array("batch") {
          values = events
        } else {
          throw refusal(400, "batch is no array")
        }
      default: throw refusal(400, "the body is no object")
      }
      try checkCount(values.count)
      guard !values.isEmpty else { throw refusal(400, "request holds no event") }
      var batch = Batch()
      for (index, value) in values.enumerated() {
        batch.events.append(Incoming(index: index, event: try event(value, index)))
      }
      return batch
    }

    private func event(_ value: FieldValue, _ index: Int) throws(Refusal) -> CollectedEvent {
      guard case .object(let event) = value else {
        throw refusal(value, index, nil, "", "the event is no object")
      }
      let id = event.identity("uuid")
      guard let name = event.text("event"), !name.isEmpty else {
        throw refusal(value, index, id, "event", "event submitted with an empty event name")
      }
      let properties = event.object("properties") ?? [:]
      guard let user = event.identity("distinct_id") ?? properties.identity("distinct_id") else {
        throw refusal(value, index, id, "distinct_id", "event submitted without a distinct_id")
      }
      var context = FieldObject()
      for name in ["$set", "$set_once"] { context[name] = event[name] }
      return CollectedEvent(
        vendor: self.name, id: id, time: event["timestamp"].flatMap(TimeText.timestamp), name: name,
        type: name == "$identify" ? "identify" : nil, user: user,
        properties: properties.without(["distinct_id", "token"]), context: context)
    }

    private func refusal(
      _ value: FieldValue, _ index: Int, _ id: String?, _ field: String, _ reason: String
    ) -> Refusal {
      let failure = Failure(index: index, id: id, field: field, kind: .missing, reason: reason, value: value)
      return refusal(400, reason, [failure])
    }

    func answer(to batch: Batch, taken: Int) -> Answer {
      .json(200, ["status": 1])
    }

    /// PostHog says what is wrong in plain words.
    func answer(_ status: Int, _ message: String) -> Answer {
      .text(status, message)
    }
  }
#endif

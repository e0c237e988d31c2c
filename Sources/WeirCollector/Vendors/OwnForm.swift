// OwnForm: /events, events as Weir itself writes them as JSON: an array, or one on a line. Its answer has the index and
// the reason of every event that it does not take.

#if Collector
  import WeirJSON
  import Weir

  struct OwnForm: Vendor {
    let name = "weir"
    let namesFailures = true

    func read(_ request: VendorRequest) throws(Refusal) -> Batch {
      var batch = Batch()
      if request.body.first(where: { $0 > 0x20 }) == UInt8(ascii: "[") {
        guard case .array(let values) = try json(request.body) else { throw refusal(400, "the body is no array") }
        try checkCount(values.count)
        for (index, value) in values.enumerated() { read(value, index, into: &batch) }
        return batch
      }
      // A line that can't be read is the fault of that line: the others are separate texts.
      let lines = request.body.split(separator: UInt8(ascii: "\n")).filter { $0.contains { $0 > 0x20 } }
      try checkCount(lines.count)
      for (index, line) in lines.enumerated() {
        do throws(JSONProblem) {
          read(try JSONReader.read(Array(line).span, limits: VendorLimits.json), index, into: &batch)
        } catch {
          let text = String(decoding: line.prefix(RejectedEvent.textBytes), as: UTF8.self)
          batch.failures.append(
            Failure(
              index: index, id: nil, field: "", kind: .invalid, reason: "the line is no JSON: \(error)",
              value: .string(text)))
        }
      }
      if batch.events.isEmpty, let failure = batch.failures.first {
        throw refusal(400, failure.reason, batch.failures)
      }
      return batch
    }

    private func read(_ value: FieldValue, _ index: Int, into batch: inout Batch) {
      var id: String?
      func fail(_ field: String, _ kind: Failure.Kind, _ reason: String) {
        batch.failures.append(
          Failure(index: index, id: id, field: field, kind: kind, reason: reason, value: value))
      }
      guard case .object(let event) = value else { return fail("", .invalid, "the event is no object") }
      id = event.identity("id")
      guard id != nil else { return fail("id", .missing, "id is missing") }
      guard let name = event.text("name"), !name.isEmpty else { return fail("name", .missing, "name is missing") }
      var time: Timestamp?
      if let given = event["time"] {
        time = TimeText.timestamp(given)
        guard time != nil else { return fail("time", .invalid, "time is no moment") }
      }
      let fields: FieldObject
      switch event["fields"] {
      case nil, .null?: fields = [:]
      case .object(let object)?: fields = object
      default: return fail("fields", .invalid, "fields is no object")
      }
      let user = event.object("context")?.object("user")?.identity("id")
      var context = event.object("context") ?? [:]
      if let flags = event.object("flags"), !flags.isEmpty { context["flags"] = .object(flags) }
      if let kind = event.text("kind") { context["kind"] = .string(kind) }
      batch.events.append(
        Incoming(
          index: index,
          event: CollectedEvent(
            vendor: self.name, id: id, time: time, name: name, user: user, properties: fields, context: context)))
    }

    func answer(to batch: Batch, taken: Int) -> Answer {
      let rejected = batch.failures.map { failure in
        FieldValue.object([
          "index": .int(Int64(failure.index)), "id": failure.id.map { .string($0) } ?? .null,
          "reason": .string(failure.reason),
        ])
      }
      return .json(200, ["accepted": .int(Int64(taken)), "rejected": .array(rejected)])
    }

    func answer(_ status: Int, _ message: String) -> Answer {
      .json(status, ["error": .string(message)])
    }
  }
#endif

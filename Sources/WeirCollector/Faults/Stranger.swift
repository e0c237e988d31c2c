// Stranger: an answer that tells of events which were not in the request.

#if Collector
  import WeirJSON
  import Weir

  enum Stranger {
    /// An index that no request has an event at.
    private static let index = 1_000_000

    /// The answer with one event more than there were: counted where the vendor counts, named where it names.
    static func answer(_ answer: Answer) -> Answer {
      guard case .object(var body)? = try? JSONReader.read(answer.body.span, limits: VendorLimits.json) else {
        return answer
      }
      for count in ["num_records_imported", "events_ingested", "accepted"] {
        if case .int(let number)? = body[count] { body[count] = .int(number + 1) }
      }
      for list in ["failed_records", "rejected"] {
        if case .array(let records)? = body[list] { body[list] = .array(records + [record]) }
      }
      if body["partialSuccess"] != nil {
        body["partialSuccess"] = ["rejectedLogRecords": .string(String(index)), "errorMessage": "a fault"]
      }
      if body["success"] != nil || body["status"] == .int(1) { body["accepted_ids"] = .array([id]) }
      var changed = answer
      changed.body = []
      JSONText.append(body, to: &changed.body)
      return changed
    }

    private static let id: FieldValue = "ffffffffffffffffffffffffffffffff"

    private static let record = FieldValue.object([
      "index": .int(Int64(index)), "id": id, "insert_id": id, "field": "", "message": "a fault", "reason": "a fault",
    ])
  }
#endif

// ClickHouse: POST /?query=INSERT INTO … FORMAT JSONEachRow. Rows are objects in a row, on lines or not; a row that is
// none is the whole insert's fault. Any table has any columns here: there is none.

#if Collector
  import WeirJSON
  import Weir

  struct ClickHouse: Vendor {
    /// Where an event's parts are looked for among the columns, in this order.
    private static let idColumns = ["id", "message_id", "event_id", "insert_id"]
    private static let nameColumns = ["name", "event", "event_name"]
    private static let timeColumns = ["time", "timestamp", "event_time"]
    private static let userColumns = ["user", "user_id"]
    private static let propertyColumns = ["fields", "properties"]

    let name = "clickhouse"
    let namesFailures = false

    func read(_ request: VendorRequest) throws(Refusal) -> Batch {
      var body = request.body[...]
      var query = request.query["query"] ?? ""
      if query.isEmpty {
        // The query may come in the body, up to the end of its line.
        let end = body.firstIndex(of: UInt8(ascii: "\n")) ?? body.endIndex
        query = String(decoding: body[..<end], as: UTF8.self)
        body = body[end...]
      }
      let words = query.split { $0 == " " || $0 == "\n" || $0 == "\t" || $0 == ";" }.map(String.init)
      switch words.first?.uppercased() {
      // What clients ask to see whether the server is there, and to make their table.
      case "CREATE", "SELECT", "SET": return Batch()
      case "INSERT": break
      default: throw exception(62, "Syntax error. (SYNTAX_ERROR)")
      }
      guard let format = words.firstIndex(where: { $0.uppercased() == "FORMAT" }), format + 1 < words.count,
        ["JSONEACHROW", "JSONLINES", "NDJSON"].contains(words[format + 1].uppercased())
      else { throw exception(73, "Unknown format. (UNKNOWN_FORMAT)") }
      let table = words.dropFirst().first { $0.uppercased() != "INTO" } ?? "events"
      var batch = Batch()
      for (index, row) in try rows(Array(body)).enumerated() {
        guard case .object(let columns) = row else {
          throw unreadable(index, "a row is no object", row)
        }
        batch.events.append(Incoming(index: index, event: event(columns, table: table)))
      }
      return batch
    }

    /// The rows of a body: objects on lines, or in one array.
    private func rows(_ body: [UInt8]) throws(Refusal) -> [FieldValue] {
      if body.first(where: { $0 > 0x20 }) == UInt8(ascii: "[") {
        var read: [FieldValue]?
        do throws(JSONProblem) {
          if case .array(let rows) = try JSONReader.read(body.span, limits: VendorLimits.json) { read = rows }
        } catch {
          throw unreadable(0, "\(error)", .string(text(body)))
        }
        if let read {
          try checkCount(read.count)
          return read
        }
      }
      var rows: [FieldValue] = []
      let lines = body.split(separator: UInt8(ascii: "\n")).filter { $0.contains { $0 > 0x20 } }
      try checkCount(lines.count)
      for line in lines {
        var line = Array(line)
        if line.last == UInt8(ascii: ",") { line.removeLast() }
        do throws(JSONProblem) {
          rows.append(try JSONReader.read(line.span, limits: VendorLimits.json))
        } catch {
          throw unreadable(rows.count, "\(error)", .string(text(line)))
        }
      }
      return rows
    }

    private func text(_ bytes: [UInt8]) -> String {
      String(decoding: bytes.prefix(RejectedEvent.textBytes), as: UTF8.self)
    }

    private func unreadable(_ index: Int, _ reason: String, _ value: FieldValue) -> Refusal {
      let failure = Failure(index: index, id: nil, field: "", kind: .invalid, reason: reason, value: value)
      return exception(
        27, "Cannot parse input: \(reason): (at row \(index + 1)). (CANNOT_PARSE_INPUT_ASSERTION_FAILED)", [failure])
    }

    /// What the server itself says of a query; the status is the same for all that is the client's fault.
    private func exception(_ code: Int, _ message: String, _ failures: [Failure] = []) -> Refusal {
      let text = "Code: \(code). DB::Exception: \(message)"
      var answer = Answer.text(400, text + "\n")
      answer.headers.append(("X-ClickHouse-Exception-Code", String(code)))
      return Refusal(answer: answer, reason: text, failures: failures)
    }

    private func event(_ columns: FieldObject, table: String) -> CollectedEvent {
      func first<Value>(_ names: [String], _ read: (String) -> Value?) -> (name: String, value: Value)? {
        for name in names { if let value = read(name) { return (name, value) } }
        return nil
      }
      let id = first(Self.idColumns, columns.identity)
      let name = first(Self.nameColumns, columns.text)
      let time = first(Self.timeColumns) { columns[$0].flatMap(TimeText.timestamp) }
      let user = first(Self.userColumns, columns.identity)
      let properties = first(Self.propertyColumns) { object(columns[$0]) }
      let own = Set([id?.name, name?.name, time?.name, user?.name, properties?.name].compactMap { $0 })
      let others = columns.without(own)
      return CollectedEvent(
        vendor: self.name, id: id?.value, time: time?.value, name: name?.value ?? table,
        user: user?.value ?? others.object("context")?.object("user")?.identity("id"),
        properties: properties?.value ?? others, context: properties == nil ? [:] : others)
    }

    /// An object, also one that is the text of a column.
    private func object(_ value: FieldValue?) -> FieldObject? {
      switch value {
      case .object(let object)?: return object
      case .string(let text)?:
        let read = try? JSONReader.read(Array(text.utf8).span, limits: VendorLimits.json)
        if case .object(let object)? = read { return object }
        return nil
      default: return nil
      }
    }

    func answer(to batch: Batch, taken: Int) -> Answer {
      guard batch.failures.isEmpty else {
        let failure = batch.failures[0]
        return unreadable(failure.index, failure.reason, .null).answer
      }
      return Answer(
        200,
        [("X-ClickHouse-Summary", "{\"written_rows\":\"\(taken)\",\"written_bytes\":\"\(batch.bytes)\"}")])
    }

    func takesGoodOnes(of batch: Batch) -> Bool { batch.failures.isEmpty }

    /// Other statuses are those of whatever stands before the server, which knows no exceptions.
    func answer(_ status: Int, _ message: String) -> Answer {
      guard status == 400 else { return .text(status, message + "\n") }
      return exception(27, "Cannot parse input: \(message). (CANNOT_PARSE_INPUT_ASSERTION_FAILED)").answer
    }
  }
#endif

// ClickHousePreset: rows into a table of ClickHouse, over its HTTP interface.

#if HTTP
  public import WeirDelivery
  import Weir

  /// Rows into a table of ClickHouse: `INSERT INTO … FORMAT JSONEachRow` over its HTTP interface.
  ///
  /// ```sql
  /// CREATE TABLE events (
  ///   id FixedString(32), offset UInt64, time DateTime64(9), name LowCardinality(String),
  ///   fields String, context String, flags String
  /// ) ENGINE = ReplicatedMergeTree ORDER BY (name, time)
  /// ```
  ///
  /// That is the table for ``Row/event``: a row is the event in the form of ``EventJSON``; `JSON` in place of `String`
  /// makes fields columns. ``Row/fields`` has the event's fields as columns beside `id`, `offset`, `time` and `event`.
  ///
  /// A batch is inserted whole or not at all, and has a token, made of its events' ids, by which ClickHouse drops it if
  /// it comes again: with replicated tables as they are, with others if `non_replicated_deduplication_window` is set. A
  /// batch that is cut in another way when it comes again is a different one; `id` tells such rows apart, or a
  /// `ReplacingMergeTree` ordered by it.
  ///
  /// What an error means is told by ClickHouse's own code, also where it comes with status 200 or 500: an unknown table,
  /// column, user or setting stops delivery; what passes by itself, such as a lack of memory, of a replica or of room for
  /// parts, is to be retried; all else is the data's and refuses the batch, so that the row that is at fault is found,
  /// and so that a batch of too many partitions is halved.
  public struct ClickHousePreset: HTTPPreset {
    /// What a row is.
    public enum Row: Hashable, Sendable {
      /// The event in the form of ``EventJSON``.
      case event
      /// The fields of the event, of its context and of its view by themselves, beside `id`, `offset`, `time`, `event`
      /// and `user_id`.
      case fields
    }

    public let providerName = "clickhouse"
    public let endpoint: String
    public let limits: HTTPLimits

    private let table: String
    private let user: String
    private let password: Secret
    private let row: Row

    /// A table.
    ///
    /// - Parameters:
    ///   - table: Its name; `database.table` for one in another database than the user's default.
    ///   - endpoint: The server, such as `https://clickhouse.example.com:8443`.
    ///   - user: Who inserts.
    ///   - password: The user's password.
    ///   - row: What a row is.
    ///   - limits: ClickHouse has none to speak of, and likes large inserts.
    public init(
      table: String, endpoint: String = "http://127.0.0.1:8123", user: String = "default",
      password: Secret = Secret(""),
      row: Row = .event, limits: HTTPLimits = HTTPLimits(events: 100_000, bytes: 32 << 20)
    ) {
      self.table = table
      self.endpoint = endpoint
      self.user = user
      self.password = password
      self.row = row
      self.limits = limits
    }

    public var secrets: [Secret] { password.isEmpty ? [] : [password] }

    public func encode(_ event: PreparedEvent) throws -> [UInt8] {
      var form = EventJSON()
      // ClickHouse refuses a row that has a name twice.
      form.hasEachNameOnce = true
      switch row {
      case .event:
        var unique = event
        unique.fields = event.fields.withUniqueNames
        var bytes: [UInt8] = []
        form.append(unique, to: &bytes)
        return bytes
      case .fields:
        var object = JSONObject(form)
        object.add("id", event.stored.id.description)
        object.add("offset", .uint(event.stored.offset))
        object.add("time", event.stored.time.description)
        object.add("event", event.name)
        object.add("user_id", event.userID.map { .string($0) } ?? .null)
        object.add(members: event.properties(reserved: ["id", "offset", "time", "event", "user_id"]))
        return object.bytes()
      }
    }

    public func post(_ batch: HTTPBatch) -> HTTPPost {
      var headers = [HTTPHeader.content("application/x-ndjson"), HTTPHeader("x-clickhouse-user", user)]
      if !password.isEmpty { headers.append(HTTPHeader("x-clickhouse-key", secret: password)) }
      return HTTPPost(
        query: [
          ("query", "INSERT INTO \(quotedTable) FORMAT JSONEachRow"),
          ("insert_deduplication_token", batch.idempotencyKey),
          ("date_time_input_format", "best_effort"),
          // Or else 200 may only mean that the server holds the rows in memory.
          ("wait_for_async_insert", "1"),
          // Or else an error may come after the 200.
          ("wait_end_of_query", "1"),
        ],
        headers: headers, body: batch.body(separator: "\n", close: "\n"))
    }

    /// Each part of the name in back-quotes, so that none can be anything but a name.
    private var quotedTable: String {
      table.split(separator: ".", omittingEmptySubsequences: false).map { part in
        "`" + part.flatMap { $0 == "`" || $0 == "\\" ? ["\\", $0] : [$0] } + "`"
      }.joined(separator: ".")
    }

    public func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      guard let code = exceptionCode(of: answer) else {
        // An insert has nothing to say. `Ok.` is the answer to a request whose query got lost on the way.
        if (200...299).contains(answer.status), !answer.body.isEmpty { throw answer.notTheVendors }
        return try answer.standardReading(of: batch)
      }
      // Of one code with an insert that must wait, and told apart by its words alone.
      if code == Self.tooManyParts, answer.text.contains("Too many partitions for single INSERT block") {
        throw BatchRefused(answer.summary)
      }
      switch ClickHouseMeaning(code: code, status: answer.status) {
      case .refused: throw BatchRefused(answer.summary)
      case .stops: throw DeliveryStopped("ClickHouse refuses (\(answer.summary)); mend that")
      case .passes: return try answer.toBeRetried(batch)
      }
    }

    private static let tooManyParts = 252

    /// The code of ClickHouse's exception: from the header, else from a body such as `Code: 27. DB::Exception: …`.
    private func exceptionCode(of answer: HTTPAnswer) -> Int? {
      if let code = answer["x-clickhouse-exception-code"].flatMap({ Int($0) }), code != 0 { return code }
      guard let start = answer.text.firstRange(of: "Code: "), answer.text.contains("DB::Exception") else { return nil }
      return Int(answer.text[start.upperBound...].prefix { $0.isNumber })
    }
  }
#endif

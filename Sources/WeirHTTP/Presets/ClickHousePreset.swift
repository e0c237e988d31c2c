// ClickHousePreset: rows of a ClickHouse table, over its HTTP interface.

#if HTTP
  public import WeirDelivery
  import Weir

  /// Inserts rows into a ClickHouse table: `INSERT INTO … FORMAT JSONEachRow` over the HTTP interface.
  ///
  /// ```sql
  /// CREATE TABLE events (
  ///   id FixedString(32), offset UInt64, time DateTime64(9), name LowCardinality(String), kind LowCardinality(String),
  ///   fields String, context String, flags String
  /// ) ENGINE = ReplicatedMergeTree ORDER BY (name, time)
  /// ```
  ///
  /// This table is for ``Row/event``: a row is the event in the form of `EventJSON`. With `JSON` instead of `String`,
  /// fields become columns. With ``Row/fields``, the event's fields are columns beside `id`, `offset`, `time` and
  /// `event`, and the annotations are `weir_kind String` and `weir_violations`, `weir_defaulted` and
  /// `weir_duplicate_of` of the type `Array(String)`.
  ///
  /// A batch is inserted completely or not at all. Each batch has a token, made of its events' ids, by which ClickHouse
  /// drops a repeated batch. Replicated tables do so by default, and other tables if
  /// `non_replicated_deduplication_window` is set. A batch that is cut differently when it is repeated is a different
  /// batch. Such rows can be recognised by `id`, or merged by a `ReplacingMergeTree` ordered by `id`.
  ///
  /// ClickHouse's own code tells the meaning of an error, also if the status is 200 or 500. An unknown table, column,
  /// user or setting stops delivery. A temporary problem, such as a lack of memory, of a replica or of room for parts,
  /// is retried. Any other error is the data's, and refuses the batch, so that the faulty row is found, and a batch of
  /// too many partitions is halved.
  public struct ClickHousePreset: HTTPPreset {
    /// The contents of a row.
    public enum Row: Hashable, Sendable {
      /// The event in the form of `EventJSON`.
      case event
      /// The fields of the event, its context and its view as separate columns, beside `id`, `offset`, `time`, `event`
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
    private let traitsColumn: String?

    /// Creates a preset for a table.
    ///
    /// - Parameters:
    ///   - table: The table's name, or `database.table` if it is not in the user's default database.
    ///   - endpoint: The server, such as `https://clickhouse.example.com:8443`.
    ///   - user: The user who inserts.
    ///   - password: The user's password.
    ///   - row: The contents of a row.
    ///   - traitsColumn: The column of ``Row/fields`` for the traits of the event's user; `nil` for none. A row of
    ///     ``Row/event`` has the traits in its context.
    ///   - limits: The limits of a request. ClickHouse has no relevant limits, and prefers large inserts.
    public init(
      table: String, endpoint: String = "http://127.0.0.1:8123", user: String = "default",
      password: Secret = Secret(""),
      row: Row = .event, traitsColumn: String? = nil, limits: HTTPLimits = HTTPLimits(events: 100_000, bytes: 32 << 20)
    ) {
      self.table = table
      self.endpoint = endpoint
      self.user = user
      self.password = password
      self.row = row
      self.traitsColumn = traitsColumn
      self.limits = limits
    }

    public var secrets: [Secret] { password.isEmpty ? [] : [password] }

    public func encode(_ event: PreparedEvent) throws -> [UInt8] {
      var form = EventJSON()
      // ClickHouse refuses a row with a repeated name.
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
        var reserved = ["id", "offset", "time", "event", "user_id"]
        if let traitsColumn {
          object.add(traitsColumn, .object(event.context.user?.traits.withUniqueNames ?? [:]))
          reserved.append(traitsColumn)
        }
        object.add(members: event.properties(reserved: reserved))
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
          // Without this, a 200 may only mean that the server holds the rows in memory.
          ("wait_for_async_insert", "1"),
          // Without this, an error may follow the 200.
          ("wait_end_of_query", "1"),
        ],
        headers: headers, body: batch.body(separator: "\n", close: "\n"))
    }

    /// The table's name with each part in back-quotes, so that no part can be anything but a name.
    private var quotedTable: String {
      table.split(separator: ".", omittingEmptySubsequences: false).map { part in
        "`" + part.flatMap { $0 == "`" || $0 == "\\" ? ["\\", $0] : [$0] } + "`"
      }.joined(separator: ".")
    }

    public func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      guard let code = exceptionCode(of: answer) else {
        // The answer to an insert is empty. `Ok.` answers a request whose query was lost on the way.
        if (200...299).contains(answer.status), !answer.body.isEmpty { throw answer.notTheVendors }
        return try answer.standardReading(of: batch)
      }
      // This error has the same code as an insert that must wait. Only the text differs.
      if code == Self.tooManyParts, answer.text.contains("Too many partitions for single INSERT block") {
        throw BatchRefused(answer.summary)
      }
      switch ClickHouseMeaning(code: code, status: answer.status) {
      case .refused: throw BatchRefused(answer.summary)
      case .stops: throw DeliveryStopped("ClickHouse refuses the insert (\(answer.summary)); fix the cause")
      case .passes: return try answer.toBeRetried(batch)
      }
    }

    private static let tooManyParts = 252

    /// Returns the code of ClickHouse's exception, from the header, or else from a body such as `Code: 27.
    /// DB::Exception: …`.
    private func exceptionCode(of answer: HTTPAnswer) -> Int? {
      if let code = answer["x-clickhouse-exception-code"].flatMap({ Int($0) }), code != 0 { return code }
      guard let start = answer.text.firstRange(of: "Code: "), answer.text.contains("DB::Exception") else { return nil }
      return Int(answer.text[start.upperBound...].prefix { $0.isNumber })
    }
  }
#endif

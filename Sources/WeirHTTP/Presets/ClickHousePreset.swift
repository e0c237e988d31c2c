// ClickHousePreset: rows into a table of ClickHouse, over its HTTP interface.

#if HTTP
  public import Weir

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
  /// What an error means is told by ClickHouse's own code, also where it comes with status 200 or 500: data that fits
  /// no column refuses the batch, so that the row that is at fault is found; an unknown table, column, user or setting
  /// stops delivery; all else is to be retried.
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
      if Self.dataCodes.contains(code) { throw BatchRefused(answer.summary) }
      if Self.stoppingCodes.contains(code) {
        throw DeliveryStopped("ClickHouse refuses (\(answer.summary)); mend that")
      }
      return try answer.toBeRetried(batch)
    }

    /// The code of ClickHouse's exception: from the header, else from a body such as `Code: 27. DB::Exception: …`.
    private func exceptionCode(of answer: HTTPAnswer) -> Int? {
      if let code = answer["x-clickhouse-exception-code"].flatMap({ Int($0) }), code != 0 { return code }
      guard let start = answer.text.firstRange(of: "Code: "), answer.text.contains("DB::Exception") else { return nil }
      return Int(answer.text[start.upperBound...].prefix { $0.isNumber })
    }

    /// Data that fits no column: CANNOT_PARSE_… (6, 25, 26, 27, 38, 41, 72, 376, 467, 675, 676), what is cut off (33),
    /// TYPE_MISMATCH (53), ARGUMENT_OUT_OF_BOUND (69), CANNOT_CONVERT_TYPE (70), INCORRECT_DATA (117),
    /// TOO_LARGE_ARRAY_SIZE (128), TOO_LARGE_STRING_SIZE (131), QUERY_IS_TOO_LARGE (191),
    /// VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE (321), CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN (349), DECIMAL_OVERFLOW (407),
    /// VIOLATED_CONSTRAINT (469), UNKNOWN_ELEMENT_OF_ENUM (691).
    private static let dataCodes: Set<Int> = [
      6, 25, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 128, 131, 191, 321, 349, 376, 407, 467, 469, 675, 676, 691,
    ]

    /// What somebody must mend: NO_SUCH_COLUMN_IN_TABLE (16), UNKNOWN_IDENTIFIER (47), UNKNOWN_TABLE (60), SYNTAX_ERROR
    /// (62), UNKNOWN_FORMAT (73), UNKNOWN_DATABASE (81), UNKNOWN_SETTING (115), READONLY (164), UNKNOWN_USER (192),
    /// WRONG_PASSWORD (193), REQUIRED_PASSWORD (194), IP_ADDRESS_NOT_ALLOWED (195), ACCESS_DENIED (497),
    /// SET_NON_GRANTED_ROLE (512), AUTHENTICATION_FAILED (516).
    private static let stoppingCodes: Set<Int> = [16, 47, 60, 62, 73, 81, 115, 164, 192, 193, 194, 195, 497, 512, 516]
  }
#endif

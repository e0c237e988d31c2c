// ClickHouse: what a row is, what an insert is, and what every exception means.

#if HTTP
  import Testing
  import Weir

  @testable import WeirHTTP

  @Suite struct ClickHousePresetTests {
    private let preset = ClickHousePreset(table: "db.events", user: "robot", password: Secret("pass-12345"))

    @Test func aRowIsTheEvent() throws {
      let event = sampleEvent(5, FieldObject([("a", .uint(.max)), ("a", 2)]))
      let expected = #"""
        {"id":"0123456789abcdef0000000000000005","offset":5,"time":"2025-11-21T00:00:00.123456789Z",
         "name":"checkout.completed","fields":{"a":18446744073709551615,"a_2":2},
         "context":{"user":{"id":"u1","traits":{}}},"flags":{}}
        """#
      #expect(json(try preset.encode(event)) == json(expected))
    }

    @Test func aRowOfFieldsHasThemAsColumns() throws {
      let flat = ClickHousePreset(table: "t", row: .fields)
      let event = sampleEvent(5, ["order": 7, "id": "mine"], user: nil)
      let expected = #"""
        {"id":"0123456789abcdef0000000000000005","offset":5,"time":"2025-11-21T00:00:00.123456789Z",
         "event":"checkout.completed","user_id":null,"order":7,"id_2":"mine"}
        """#
      #expect(json(try flat.encode(event)) == json(expected))
    }

    @Test func theRequestIsAnInsertWithAToken() throws {
      let batch = try sampleBatch(2, for: preset)
      let post = preset.post(batch)
      let query = Dictionary(uniqueKeysWithValues: post.query.map { ($0.name, $0.value) })
      #expect(query["query"] == "INSERT INTO `db`.`events` FORMAT JSONEachRow")
      #expect(query["insert_deduplication_token"] == batch.idempotencyKey)
      #expect(query["date_time_input_format"] == "best_effort")
      #expect(query["wait_for_async_insert"] == "1" && query["wait_end_of_query"] == "1")
      let headers = Dictionary(uniqueKeysWithValues: post.headers.map { ($0.name, $0.value.withValue { $0 }) })
      #expect(headers["x-clickhouse-user"] == "robot" && headers["x-clickhouse-key"] == "pass-12345")
      #expect(String(decoding: post.body, as: UTF8.self).split(separator: "\n").count == 2)
      #expect(!"\(post.query)".contains("pass-12345"))
    }

    @Test func aTableIsNeverMoreThanAName() throws {
      let preset = ClickHousePreset(table: #"t` (x) VALUES (1); DROP TABLE `a\"#)
      let query = preset.post(try sampleBatch(1, for: preset)).query[0].value
      #expect(query == #"INSERT INTO `t\` (x) VALUES (1); DROP TABLE \`a\\` FORMAT JSONEachRow"#)
    }

    private static func exception(_ status: Int, _ code: Int) -> HTTPAnswer {
      answer(status, "Code: \(code). DB::Exception: words. (NAME)", ("X-ClickHouse-Exception-Code", "\(code)"))
    }

    @Test(arguments: [
      (answer(200), Outcome.accepted), (exception(400, 27), .refused), (exception(500, 27), .refused),
      (exception(500, 117), .refused), (exception(500, 349), .refused), (exception(413, 191), .refused),
      (exception(404, 60), .stopped), (exception(404, 81), .stopped), (exception(400, 62), .stopped),
      (exception(403, 516), .stopped), (exception(401, 194), .stopped), (exception(500, 497), .stopped),
      (exception(500, 16), .stopped), (exception(500, 241), .failed), (exception(500, 252), .failed),
      (exception(408, 159), .failed), (exception(503, 209), .failed), (exception(400, 99_999), .failed),
      // An error after the status was sent.
      (answer(200, "Code: 27. DB::Exception: Cannot parse input"), .refused),
      (answer(200, "Code: 241. DB::Exception: Memory limit exceeded"), .failed),
      (answer(200, "", ("X-ClickHouse-Exception-Code", "60")), .stopped),
      (answer(200, "Ok."), .failed), (answer(200, "Code: DB::Exception"), .failed), (answer(200, "<html>"), .failed),
      (answer(401), .stopped), (answer(502), .failed), (answer(400), .refused),
      (answer(503, "", ("Retry-After", "6")), .retry(6)),
    ])
    func verdicts(_ answer: HTTPAnswer, _ expected: Outcome) throws {
      #expect(try Outcome(preset, answer) == expected)
    }

    @Test func thereIsNoAssociation() {
      #expect(preset.identify(EventUser(id: "u1"))?.body == nil)
    }
  }
#endif

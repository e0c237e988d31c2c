// ClickHouse: what a row is, what an insert is, and what every exception means.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  import WeirHTTP

  @Suite struct ClickHousePresetTests {
    private let preset = ClickHousePreset(table: "db.events", user: "robot", password: Secret("pass-12345"))

    @Test func `a row is the event`() throws {
      let event = sampleEvent(5, FieldObject([("a", .uint(.max)), ("a", 2)]))
      let expected = #"""
        {"id":"0123456789abcdef0000000000000005","offset":5,"time":"2025-11-21T00:00:00.123456789Z",
         "name":"checkout.completed","fields":{"a":18446744073709551615,"a_2":2},
         "context":{"user":{"id":"u1","traits":{}}},"flags":{}}
        """#
      #expect(json(try preset.encode(event)) == json(expected))
    }

    @Test func `a row of fields has them as columns`() throws {
      let flat = ClickHousePreset(table: "t", row: .fields)
      let event = sampleEvent(5, ["order": 7, "id": "mine"], user: nil)
      let expected = #"""
        {"id":"0123456789abcdef0000000000000005","offset":5,"time":"2025-11-21T00:00:00.123456789Z",
         "event":"checkout.completed","user_id":null,"order":7,"id_2":"mine"}
        """#
      #expect(json(try flat.encode(event)) == json(expected))
    }

    @Test func `the request is an insert with a token`() throws {
      let batch = try sampleBatch(2, for: preset)
      let post = preset.post(batch)
      let query = Dictionary(uniqueKeysWithValues: post.query.map { ($0.name, $0.value) })
      #expect(query["query"] == "INSERT INTO `db`.`events` FORMAT JSONEachRow")
      #expect(query["insert_deduplication_token"] == batch.idempotencyKey)
      #expect(query["date_time_input_format"] == "best_effort")
      #expect(query["wait_for_async_insert"] == "1")
      #expect(query["wait_end_of_query"] == "1")
      let headers = Dictionary(uniqueKeysWithValues: post.headers.map { ($0.name, $0.value.withValue { $0 }) })
      #expect(headers["x-clickhouse-user"] == "robot")
      #expect(headers["x-clickhouse-key"] == "pass-12345")
      #expect(String(decoding: post.body, as: UTF8.self).split(separator: "\n").count == 2)
      #expect(!"\(post.query)".contains("pass-12345"))
    }

    @Test func `a table is never more than a name`() throws {
      let preset = ClickHousePreset(table: #"t` (x) VALUES (1); DROP TABLE `a\"#)
      let query = preset.post(try sampleBatch(1, for: preset)).query[0].value
      #expect(query == #"INSERT INTO `t\` (x) VALUES (1); DROP TABLE \`a\\` FORMAT JSONEachRow"#)
    }

    private static func exception(_ status: Int, _ code: Int) -> HTTPAnswer {
      answer(status, "Code: \(code). DB::Exception: words. (NAME)", ("X-ClickHouse-Exception-Code", "\(code)"))
    }

    @Test(arguments: [
      (answer(200), Outcome.accepted), (exception(400, 27), .refused), (exception(500, 27), .refused),
      (exception(500, 117), .refused), (exception(500, 349), .refused), (exception(413, 229), .refused),
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
    func `an answer gives the events their verdicts`(_ answer: HTTPAnswer, _ expected: Outcome) throws {
      #expect(try Outcome(preset, answer) == expected)
    }

    /// What values come to, also in a default, a materialized column or a view, and limits that a half may keep.
    @Test(arguments: [
      6, 9, 13, 19, 25, 26, 27, 32, 33, 36, 38, 41, 43, 44, 53, 69, 70, 72, 117, 120, 127, 128, 130, 131, 135, 153,
      158, 169, 170, 190, 191, 229, 248, 306, 307, 321, 346, 349, 353, 366, 376, 386, 395, 396, 407, 427, 441,
      467, 469, 490, 503, 563, 621, 632, 645, 675, 676, 691, 718, 728, 754, 760,
    ])
    func `an exception that only the data decides refuses the batch`(_ code: Int) throws {
      for status in [200, 400, 500] { #expect(try Outcome(preset, Self.exception(status, code)) == .refused) }
    }

    @Test(arguments: [
      3, 23, 24, 40, 49, 74, 75, 76, 95, 96, 107, 156, 159, 160, 173, 198, 201, 202, 203, 204, 209, 210, 218, 225, 236,
      241, 242, 243, 244, 246, 252, 254, 265, 271, 279, 285, 286, 289, 297, 319, 341, 364, 373, 384, 389, 394, 410, 412,
      415, 416, 425, 439, 473, 499, 500, 517, 529, 571, 574, 593, 618, 649, 660, 677, 692, 693, 695, 700, 710, 733, 734,
      735, 745, 749, 762, 776, 777, 778, 900, 905, 999, 1_000, 1_001, 1_002, 1_017, 1_019, 2_345,
    ])
    func `an exception that the server decides is tried again`(_ code: Int) throws {
      for status in [200, 400, 500] { #expect(try Outcome(preset, Self.exception(status, code)) == .failed) }
    }

    @Test(arguments: [
      8, 16, 34, 35, 42, 46, 47, 48, 50, 60, 62, 63, 73, 78, 81, 89, 115, 164, 180, 192, 193, 194, 195, 291, 392, 446,
      452, 472, 495, 497, 511, 512, 516, 620, 720, 764, 767, 774, 779,
    ])
    func `an exception that somebody must mend stops delivery`(_ code: Int) throws {
      for status in [200, 400, 500] { #expect(try Outcome(preset, Self.exception(status, code)) == .stopped) }
    }

    /// A code of a later version: the data, unless the status says that it will pass.
    @Test func `an exception that is not known refuses the batch unless its status passes`() throws {
      for status in [200, 400, 413, 422, 500] {
        #expect(try Outcome(preset, Self.exception(status, 899)) == .refused, "\(status)")
      }
      for status in [408, 429, 502, 503, 504] {
        #expect(try Outcome(preset, Self.exception(status, 899)) == .failed, "\(status)")
      }
    }

    @Test func `too many partitions are fewer in a half, and too many parts are merged`() throws {
      func outcome(_ words: String, _ header: [(String, String)] = [("X-ClickHouse-Exception-Code", "252")]) throws
        -> Outcome
      {
        let body = Array("Code: 252. DB::Exception: \(words) (TOO_MANY_PARTS)".utf8)
        return try Outcome(preset, HTTPAnswer(status: 500, headers: header, body: body))
      }
      let partitions = "Too many partitions for single INSERT block (more than 100). The limit is controlled by"
      #expect(try outcome(partitions) == .refused)
      #expect(try outcome(partitions, []) == .refused)
      #expect(try outcome("Too many parts (300 with average size of 1.00 KiB) in table 'd.t'.") == .failed)
    }

    @Test func `a row of fields has the user's traits if a column is named for them`() throws {
      let user = EventUser(id: "u1", traits: ["plan": "pro"])
      let preset = ClickHousePreset(table: "t", row: .fields, traitsColumn: "traits")
      let row = String(decoding: try preset.encode(sampleEvent(1, ["traits": 1], user: user)), as: UTF8.self)
      #expect(row.contains(#""traits":{"plan":"pro"}"#))
      #expect(row.contains(#""traits_2":1"#))
    }
  }
#endif

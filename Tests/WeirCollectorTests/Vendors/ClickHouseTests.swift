// ClickHouseTests: inserts of rows, whatever their columns are; a row that can't be read is the whole insert's fault.

#if Collector
  import Testing
  import Weir

  @testable import WeirCollector

  struct ClickHouseTests {
    private let insert = ["query": "INSERT INTO `shop`.`events` FORMAT JSONEachRow"]

    @Test func `rows are read from lines and from an array`() throws {
      let rows = [
        #"{"id":"r-1","time":"2026-11-21 00:00:00.25","name":"paid","fields":{"n":1},"offset":4}"#,
        #"{"event_id":"r-2","event":"seen","properties":"{\"n\":2}","user_id":"ada"}"#, #"{"n":3}"#,
      ]
      for body in [
        rows.joined(separator: "\n"), rows.joined(separator: "\r\n") + "\n", rows.joined(separator: ",\n"),
        "[" + rows.joined(separator: ",") + "]",
      ] {
        let read = Read(ClickHouse(), body, query: insert)
        #expect(read.events.map(\.id) == ["r-1", "r-2", nil])
        #expect(read.events.map(\.name) == ["paid", "seen", "`shop`.`events`"])
        #expect(read.events.map(\.properties) == [["n": 1], ["n": 2], ["n": 3]])
        #expect(read.events[0].time?.description == "2026-11-21T00:00:00.250000000Z")
        #expect(read.events[0].context == ["offset": 4])
        #expect(read.events[1].user == "ada")
        let answer = read.answer(by: ClickHouse())
        #expect(answer.status == 200)
        #expect(answer.text.isEmpty)
      }
    }

    @Test(arguments: ["{\"a\":1}\n{\"a\":", "{\"a\":1}\n7", "{\"a\":1}\n\"\u{1}\"", "[{\"a\":1},7]"])
    func `a row that cannot be read is the insert's fault`(body: String) {
      let read = Read(ClickHouse(), body, query: insert)
      #expect(read.status == 400)
      #expect(read.failures.map(\.index) == [1])
      guard case .refused(let refusal) = read else { return }
      let text = read.answer(by: ClickHouse()).text
      #expect(text.hasPrefix("Code: 27. DB::Exception: "))
      #expect(text.contains("(at row 2)"))
      #expect(refusal.answer.headers.contains { $0.name == "X-ClickHouse-Exception-Code" && $0.value == "27" })
    }

    @Test func `a query that is no insert is answered, or refused with its code`() {
      for query in ["CREATE TABLE t (a Int64) ENGINE = Memory", "SELECT 1", "SET x = 1"] {
        #expect(Read(ClickHouse(), "", query: ["query": query]).status == 0)
      }
      #expect(
        Read(ClickHouse(), "", query: ["query": "DROP TABLE t"]).answer(by: ClickHouse()).text.contains("Code: 62"))
      #expect(
        Read(ClickHouse(), "{}", query: ["query": "INSERT INTO t FORMAT CSV"]).answer(by: ClickHouse()).text
          .contains("Code: 73"))
      #expect(Read(ClickHouse(), "").status == 400)
    }

    @Test func `the query may stand in the body`() {
      let read = Read(ClickHouse(), "INSERT INTO t FORMAT JSONEachRow\n{\"id\":\"1\"}\n{\"id\":\"2\"}\n")
      #expect(read.events.map(\.id) == ["1", "2"])
    }

    /// What stands before a server fails without an exception: a client must not take it for a bad row.
    @Test func `other failures have no exception code`() {
      #expect(ClickHouse().answer(503, "busy").headers.allSatisfy { $0.name == "Content-Type" })
      #expect(ClickHouse().answer(400, "bad").headers.contains { $0.name == "X-ClickHouse-Exception-Code" })
    }
  }
#endif

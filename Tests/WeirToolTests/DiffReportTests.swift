// DiffReportTests: the keys of the differences of contracts and of schemas, and their text.

#if Tool
  import Foundation
  import Testing
  import Weir
  import WeirContracts

  @testable import WeirTool

  struct DiffReportTests {
    private let schemaChanges = Schema(events: [.init(EventType("e", [Field("a", .int32)]))])
      .changes(to: Schema(events: [.init(EventType("e", [Field("a", .int64)]))]))

    private func contractChanges() throws -> [ContractChange] {
      func compiled(_ version: String) throws -> CompiledContract {
        try Contract(json: Data("{\"contract\":\"c\",\"version\":\"\(version)\",\"events\":{}}".utf8)).compiled()
      }
      return try compiled("1").changes(to: compiled("2"))
    }

    private func object(_ report: DiffReport) throws -> [String: Any] {
      try #require(try JSONSerialization.jsonObject(with: JSONEncoder().encode(report)) as? [String: Any])
    }

    @Test func `a change of a schema says whom it breaks`() throws {
      let object = try object(DiffReport(schemaChanges))
      #expect(Set(object.keys) == ["breaking", "changes"])
      #expect(object["breaking"] as? Int == 1)
      let changes = try #require(object["changes"] as? [[String: Any]])
      #expect(Set(changes[0].keys) == ["what", "event", "field", "breaking", "breaks", "why"])
      #expect(changes[0]["what"] as? String == "field_kind_changed")
    }

    @Test func `a change of a contract has no readers`() throws {
      let object = try object(DiffReport(contractChanges()))
      #expect(object["breaking"] as? Int == 0)
      let changes = try #require(object["changes"] as? [[String: Any]])
      #expect(Set(changes[0].keys) == ["what", "event", "field", "breaking", "why"])
      #expect(changes[0]["what"] as? String == "version_changed")
    }

    @Test func `the text ends with the sums`() throws {
      #expect(DiffReport([SchemaChange]()).text == "no difference\n")
      #expect(DiffReport(schemaChanges).text.hasSuffix("\n1 difference, 1 breaking\n"))
      #expect(try DiffReport(contractChanges()).text.hasSuffix("\n1 difference, 0 breaking\n"))
    }
  }
#endif

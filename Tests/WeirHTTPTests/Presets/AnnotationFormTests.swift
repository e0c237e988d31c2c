// What is told of an event beside its content, in the form of each vendor: the same names everywhere.

#if HTTP
  import Foundation
  import Testing
  import Weir
  import WeirContracts
  import WeirDelivery
  import WeirHTTP

  struct AnnotationFormTests {
    private static let vendors: [HTTPPresetName] = [.segment, .mixpanel, .amplitude, .posthog, .otlp]

    private func flagged(_ fields: FieldObject = ["order": 7], kind: EventKind? = .pageAction) -> PreparedEvent {
      var event = sampleEvent(0, fields, kind: kind)
      event.flags = [.violating, .defaulted(field: "currency"), .duplicate(of: EventID(opening: 1, sequence: 2))]
      event.violations = [Violation(event: "e", field: "total", rule: "mandatory", value: nil)]
      return event
    }

    /// The properties of an event as a vendor gets them, with OpenTelemetry's values without their types.
    private func properties(_ preset: any HTTPPreset, _ event: PreparedEvent) throws -> [String: Any] {
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(try preset.encode(event))) as? [String: Any])
      if let attributes = object["attributes"] as? [[String: Any]] {
        func plain(_ value: Any?) -> Any? {
          let value = value as? [String: Any]
          let list = (value?["arrayValue"] as? [String: Any])?["values"] as? [Any]
          return list.map { $0.compactMap(plain) } ?? value?.values.first
        }
        return Dictionary(
          attributes.compactMap { item in
            (item["key"] as? String).flatMap { key in plain(item["value"]).map { (key, $0) } }
          }
        ) { first, _ in first }
      }
      return object["properties"] as? [String: Any] ?? object["event_properties"] as? [String: Any] ?? object
    }

    private func check(_ found: [String: Any], _ vendor: String) {
      #expect(found["weir_kind"] as? String == "page_action", "\(vendor)")
      #expect(found["weir_violations"] as? [String] == ["total: mandatory"], "\(vendor)")
      #expect(found["weir_defaulted"] as? [String] == ["currency"], "\(vendor)")
      #expect(found["weir_duplicate_of"] as? [String] == ["00000000000000010000000000000002"], "\(vendor)")
    }

    @Test(arguments: vendors)
    func `every vendor is told the same`(_ name: HTTPPresetName) throws {
      let preset = try name.preset(endpoint: "http://127.0.0.1:1", key: Secret("key"))
      check(try properties(preset, flagged()), name.rawValue)
      let clean = try properties(preset, sampleEvent())
      #expect(clean.keys.allSatisfy { !$0.hasPrefix("weir_") }, "\(name)")
      var untold = flagged()
      untold.annotations = []
      #expect(try properties(preset, untold).keys.allSatisfy { !$0.hasPrefix("weir_") }, "\(name)")
    }

    @Test func `a row of ClickHouse has columns for it`() throws {
      check(try properties(ClickHousePreset(table: "e", row: .fields), flagged()), "fields")
      let row = try properties(ClickHousePreset(table: "e"), flagged())
      #expect(row["kind"] as? String == "page_action")
      let flags = try #require(row["flags"] as? [String: [String]])
      #expect(flags["violations"] == ["total: mandatory"])
      #expect(flags["defaulted"] == ["currency"])
    }

    @Test(arguments: vendors)
    func `a field of the program does not take the place of an annotation`(_ name: HTTPPresetName) throws {
      let preset = try name.preset(endpoint: "http://127.0.0.1:1", key: Secret("key"))
      let found = try properties(preset, flagged(["weir_kind": "mine"]))
      #expect(found["weir_kind"] as? String == "page_action")
      #expect(found["weir_kind_2"] as? String == "mine")
    }
  }
#endif

// The schema of plans and the reader of plans say the same of every key: what one accepts, the other accepts.

import Foundation
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery
@testable import WeirJSON

struct PlanSchemaTests {
  /// A plan with every key and every step that both accept.
  private static let everything = """
    {
      "$schema": "plan.schema.json",
      "contract": null,
      "routes": [{"events": ["a.*"], "to": ["url"]}, {"events": [], "to": []}],
      "mapper": ["joining_context"],
      "providers": {
        "files": {"to": "out", "lz4": true},
        "own": {
          "start": "end", "duplicate_window": null,
          "contract": {
            "contract": "shop", "version": "1", "allows_unknown_events": false, "requires_kind": false,
            "every_event": {"context.user": {"mandatory": true}},
            "events": {
              "a": null,
              "b": {
                "kind": "page_view", "open": true, "deprecated": false, "description": "x",
                "fields": {
                  "n": {"type": "number", "mandatory": true, "min": 0, "below": 10.5, "finite": true, "default": 1},
                  "m": {"type": "integer", "above": 0, "max": 9},
                  "s": {"type": "string", "min_length": 1, "max_length": 9, "sensitive": true, "deprecated": true},
                  "t": {"one_of": ["x", "y"], "description": "x"}, "u": {"type": "string", "matches": "x*"},
                  "o": {"type": "object", "fields": {"i": {"type": "any"}}}
                }
              }
            }
          }
        },
        "other": {"to": "http://h", "key_file": "key", "pseudonym_key_file": "key", "start": "offset:12"},
        "url": {
          "to": "https://host/x", "preset": "mixpanel", "key_env": "KEY", "user": "u", "project": "p", "table": "t",
          "cacert": "ca.pem", "cert": "c.pem", "cert_key": "k.pem", "gzip": false, "failover": "https://other:80/x",
          "groups": ["company"], "pseudonym_key_env": "PSEUDONYMS", "statuses": {"409": "accept", "5xx": "stop"},
          "concurrency": 6,
          "rate_caps": [{"events": ["a"], "most": 1, "per": "1s"}],
          "budget": {"calls_per_second": 2, "bytes_per_second": 5},
          "start": "2026-11-21T09:30:00Z", "duplicate_window": "2s", "duplicate_memory": 7, "user_memory": 8,
          "redacts_sensitive": false, "omits_unknown_fields": true,
          "annotations": ["duplicate_of", "kind"], "sends_gaps": false, "attempt_timeout": "90s",
          "flush": {
            "triggers": ["count", "first_events"], "queue_limit": 1, "delivery_size": 2, "interval": "500us",
            "first_events": 3, "idle_after": "7ns", "overflow_threshold": 0.5, "maximum_events": 4, "maximum_bytes": 5
          },
          "backoff": {"least": "0s", "most": "2h", "failures": 2, "open_for": "3d", "probe_events": 4},
          "mapper": [
            {"deriving": {
              "fields": {
                "a": {"copy": "x"}, "b": {"count": "x"}, "c": {"sum": ["x", "y"]}, "d": {"ratio": ["x", "y"]},
                "e": {"text": "x"}
              },
              "from": ["shop.*"]
            }},
            {"adding": {"fields": {"a": 1}}}, {"only": {"events": ["a*"]}}, {"only": {"fields": ["x"]}},
            {"without": {"events": ["d"]}}, {"without": {"fields": ["y"]}}, {"renaming": {"events": {"a": "A"}}},
            {"renaming": {"fields": {"b": "B"}, "in": "A"}}, "flattening", {"flattening": {"separator": "."}},
            {"snake_case": {"separator": ".", "words": ["OAuth"]}},
            {"camel_case": {"separator": "_", "words": ["OAuth"]}}, {"title_case": {"words": ["iOS"]}},
            {"json_values": {"dates": "seconds"}}, {"shortening_addresses": {"in": ["ip"]}},
            {"sampling": {"events": ["x"], "fraction": 0.5}}, {"limiting": {"name_bytes": 40, "value_bytes": 100}}
          ]
        }
      }
    }
    """

  private static let others =
    [
      "null", "true", "0", "1", "-1", "1.0", "1.5", "2e2", "9223372036854775807", "9223372036854775808", "1e300",
      #""""#,
      #""x""#, #""5s""#, #""0s""#, #""3us""#, #""5""#, #""http://x""#, #""ftp://x""#, #""http://x@y""#,
      #""http://:80""#,
      #""localhost:80""#, #""http:/x""#, #""end""#, #""offset:x""#, #""2026-11-21""#, #""json""#, #""title_case""#,
      #""only""#, "[]", #"["x"]"#, "[1]", #"["x","y","z"]"#, #"["kind"]"#, #"[{"to":[]}]"#, "{}", #"{"x":1}"#,
      #"{"x":"y"}"#, #"{"404":"retry"}"#, #"{"6xx":"retry"}"#, #"{"only":{}}"#, #"{"only":{"events":[],"fields":[]}}"#,
      #"{"a b":{}}"#,
    ] + tooLarge

  /// What a pattern can't tell from what is read.
  private static let tooLarge = [#""99999999999999999999999d""#, #""offset:18446744073709551616""#]

  @Test func `the schema refuses what the reader refuses, and accepts what the reader accepts`() throws {
    let plan = try DocumentJSON.read(Array(Self.everything.utf8))
    #expect(isRead(plan))
    #expect(Schema().accepts(plan))
    let others = try Self.others.map { try DocumentJSON.read(Array($0.utf8)) }
    var count = 0
    plan.forEachPlace { place, change in
      var changed = others.map { other in (other.jsonLine(), change(.value(other))) }
      changed.append(("removed", change(.nothing)))
      changed.append(("with another key", change(.another)))
      for (name, node) in changed {
        count += 1
        let (reads, accepts) = (isRead(node), Schema().accepts(node))
        if !reads, accepts, Self.tooLarge.contains(name) { continue }
        if !reads, accepts, Self.readerMaySayMore(of: place), !Self.isAboutKind(problems(node)) { continue }
        #expect(reads == accepts, "\(place): \(name): the reader says \(reads): \(problems(node))")
      }
    }
    #expect(count > 3_000)
  }

  /// Whether the reader may refuse what the schema accepts: names of providers in routes, what rules of a contract mean
  /// together, and how long a duration is.
  private static func readerMaySayMore(of place: String) -> Bool {
    place.hasPrefix(".routes") || [".providers", ".providers.url"].contains(place) || place.contains(".contract")
      || place.hasSuffix(".per")
  }

  /// Whether a problem is an unknown key or a value of the wrong kind, which a schema can say.
  private static func isAboutKind(_ problem: String) -> Bool {
    ["has no key", "; write ", "there is no"].contains { problem.contains($0) }
  }

  @Test func `the schema has the keys of the reader`() {
    let schema = Schema()
    #expect(schema.root["properties"]?.keys == PlanKeys.plan.names)
    #expect(schema.root["$defs"]?["provider"]?["properties"]?.keys == PlanKeys.provider.names)
    #expect(PlanKeys.contract.names == ContractKeys.contract)
    #expect(PlanKeys.event.names == ContractKeys.event)
    #expect(PlanKeys.fieldRule.names == ContractKeys.field)
  }

  @Test func `steps without needed arguments are texts`() {
    for step in PlanKeys.steps {
      let text = #"{"providers": {"p": {"mapper": ["\#(step.name)"]}}}"#
      let node = try? DocumentJSON.read(Array(text.utf8))
      #expect(node.map(isRead) == step.arguments.mayBeEmpty, "\(step.name)")
    }
  }

  private func isRead(_ node: DocumentNode) -> Bool { problems(node).isEmpty }

  private func problems(_ node: DocumentNode) -> String {
    do throws(WeirError) {
      _ = try DeliveryPlan(
        path: "plan", directory: ".",
        readContract: { _ throws(WeirError) in Contract("c", version: "1", events: []) },
        read: { () throws(DocumentSyntaxError) -> DocumentNode in node })
      return ""
    } catch {
      return error.message
    }
  }
}

// MARK: A validator

/// The part of JSON Schema that the schema of plans uses.
private struct Schema {
  let root = PlanSchema.schema

  func accepts(_ value: DocumentNode) -> Bool { isValid(value, root) }

  private func isValid(_ value: DocumentNode, _ schema: DocumentNode) -> Bool {
    schema.entries.allSatisfy { isValid(value, $0.key, $0.value, schema) }
  }

  private func isValid(_ value: DocumentNode, _ keyword: String, _ rule: DocumentNode, _ schema: DocumentNode) -> Bool {
    let keys = value.keys
    switch keyword {
    case "$schema", "title", "$defs", "then", "else": return true
    case "$ref": return isValid(value, root["$defs"]?[String(rule.text?.dropFirst("#/$defs/".count) ?? "")] ?? rule)
    case "type": return isOfType(value, rule.text ?? "")
    case "enum": return rule.elements.contains { $0.text == value.text && value.text != nil }
    case "pattern":
      guard let text = value.text, let pattern = rule.text else { return true }
      return text.range(of: pattern, options: .regularExpression) != nil
    case "minimum": return value.double.map { $0 >= rule.double ?? 0 } ?? true
    case "maximum":
      if case .number(.uint) = value.content, case .number(.int) = rule.content { return false }
      return value.double.map { $0 <= rule.double ?? 0 } ?? true
    case "exclusiveMinimum": return value.double.map { $0 > rule.double ?? 0 } ?? true
    case "minItems": return !value.isList || Double(value.elements.count) >= rule.double ?? 0
    case "maxItems": return !value.isList || Double(value.elements.count) <= rule.double ?? 0
    case "minProperties": return keys.map { Double($0.count) >= rule.double ?? 0 } ?? true
    case "maxProperties": return keys.map { Double($0.count) <= rule.double ?? 0 } ?? true
    case "items": return value.elements.allSatisfy { isValid($0, rule) }
    case "required": return keys.map { keys in rule.elements.allSatisfy { keys.contains($0.text ?? "") } } ?? true
    case "dependentRequired":
      return rule.entries.allSatisfy { entry in
        keys?.contains(entry.key) != true || entry.value.elements.allSatisfy { keys?.contains($0.text ?? "") == true }
      }
    case "properties":
      return rule.entries.allSatisfy { entry in value[entry.key].map { isValid($0, entry.value) } ?? true }
    case "additionalProperties":
      let known = schema["properties"]?.keys ?? []
      let other = value.entries.filter { !known.contains($0.key) }
      return other.allSatisfy { rule.isFalse ? false : isValid($0.value, rule) }
    case "propertyNames": return value.entries.allSatisfy { isValid(.text($0.key), rule) }
    case "anyOf": return rule.elements.contains { isValid(value, $0) }
    case "oneOf": return rule.elements.count { isValid(value, $0) } == 1
    case "allOf": return rule.elements.allSatisfy { isValid(value, $0) }
    case "not": return !isValid(value, rule)
    case "if":
      let next = schema[isValid(value, rule) ? "then" : "else"]
      return next.map { isValid(value, $0) } ?? true
    default:
      Issue.record("the test knows no keyword \(keyword)")
      return false
    }
  }

  private func isOfType(_ value: DocumentNode, _ type: String) -> Bool {
    switch value.content {
    case .null: type == "null"
    case .bool: type == "boolean"
    case .text: type == "string"
    case .list: type == "array"
    case .map: type == "object"
    case .number: type == "number" || type == "integer" && value.double.map { $0 == $0.rounded() } == true
    }
  }
}

extension DocumentNode {
  fileprivate enum Change {
    case value(DocumentNode)
    case nothing
    /// The map with a further key.
    case another
  }

  fileprivate var entries: [Entry] { if case .map(let entries) = content { entries } else { [] } }
  fileprivate var elements: [DocumentNode] { if case .list(let elements) = content { elements } else { [] } }
  fileprivate var isList: Bool { if case .list = content { true } else { false } }
  fileprivate var isFalse: Bool { if case .bool(false) = content { true } else { false } }
  fileprivate var text: String? { if case .text(let text) = content { text } else { nil } }
  fileprivate var keys: [String]? { if case .map(let entries) = content { entries.map(\.key) } else { nil } }
  fileprivate subscript(key: String) -> DocumentNode? { entries.first { $0.key == key }?.value }

  fileprivate var double: Double? {
    switch content {
    case .number(.int(let number)): Double(number)
    case .number(.uint(let number)): Double(number)
    case .number(.double(let number)): number
    default: nil
    }
  }

  /// Calls `body` for each value of the tree, with its place and a function that returns the tree with a change there.
  fileprivate func forEachPlace(
    _ place: String = "", _ change: @escaping (DocumentNode?) -> DocumentNode = { $0 ?? DocumentNode(.null) },
    _ body: @escaping (String, (Change) -> DocumentNode) -> Void
  ) {
    body(place) { wanted in
      switch wanted {
      case .value(let value): return change(value)
      case .nothing: return change(nil)
      case .another:
        guard case .map(let entries) = content else { return change(self) }
        return change(DocumentNode(.map(entries + [Entry(key: "another", value: .text("x"))])))
      }
    }
    switch content {
    case .map(let entries):
      for (index, entry) in entries.enumerated() {
        entry.value.forEachPlace(
          "\(place).\(entry.key)",
          { value in
            var changed = entries
            if let value { changed[index].value = value } else { changed.remove(at: index) }
            return change(DocumentNode(.map(changed)))
          }, body)
      }
    case .list(let elements):
      for (index, element) in elements.enumerated() {
        element.forEachPlace(
          "\(place)[\(index)]",
          { value in
            var changed = elements
            if let value { changed[index] = value } else { changed.remove(at: index) }
            return change(DocumentNode(.list(changed)))
          }, body)
      }
    default: break
    }
  }
}

// PlanSchema: the JSON Schema of plan files, for editors and checks elsewhere. The reader of plans says more: it checks
// what a schema can't say, and names lines.

import WeirContracts
import WeirJSON

extension DeliveryPlan {
  /// The JSON Schema (draft 2020-12) of plan files.
  package static var jsonSchema: String { PlanSchema.schema.json() + "\n" }
}

private enum PlanSchema {
  static let schema = DocumentNode.map([
    ("$schema", .text("https://json-schema.org/draft/2020-12/schema")), ("title", .text("Weir delivery plan")),
    ("type", .text("object")), ("required", .texts(["providers"])), ("additionalProperties", .bool(false)),
    (
      "properties",
      .map(
        [
          ("$schema", text),
          ("providers", .map([("type", .text("object")), ("additionalProperties", object(destination + options))])),
          ("routes", list(object([("events", texts), ("to", texts)], required: ["events", "to"]))),
        ] + options)
    ),
  ])

  private static let text = type("string")
  private static let flag = type("boolean")
  private static let texts = list(text)
  private static let number = type("number")
  private static let whole = DocumentNode.map([("type", .text("integer")), ("minimum", .number(0))])
  private static let duration = pattern("^[0-9]+(ms|s|m|h|d)$")

  private static func type(_ name: String) -> DocumentNode { .map([("type", .text(name))]) }
  private static func pattern(_ text: String) -> DocumentNode {
    .map([("type", .text("string")), ("pattern", .text(text))])
  }
  private static func list(_ items: DocumentNode) -> DocumentNode {
    .map([("type", .text("array")), ("items", items)])
  }
  private static func oneOf(_ names: [String]) -> DocumentNode { .map([("enum", .texts(names))]) }
  private static func anyOf(_ nodes: DocumentNode...) -> DocumentNode { .map([("anyOf", .list(nodes))]) }
  private static func object(_ keys: [(String, DocumentNode?)], required: [String] = []) -> DocumentNode {
    .map([
      ("type", .text("object")), ("required", required.isEmpty ? nil : .texts(required)),
      ("additionalProperties", .bool(false)), ("properties", .map(keys)),
    ])
  }

  private static let destination: [(String, DocumentNode?)] = PlanKeys.destination.map { key in
    switch key {
    case "preset": (key, oneOf(HTTPPresetName.allCases.map(\.rawValue)))
    case "groups": (key, texts)
    case "gzip", "lz4": (key, flag)
    case "statuses":
      (
        key,
        .map([
          ("type", .text("object")), ("additionalProperties", oneOf(HTTPStatusRules.Meaning.allCases.map(\.rawValue))),
        ])
      )
    default: (key, text)
    }
  }

  private static let options: [(String, DocumentNode?)] = PlanKeys.options.map { key in (key, option(key)) }

  private static func option(_ key: String) -> DocumentNode {
    switch key {
    case "contract": anyOf(text, type("object"), type("null"))
    case "mapper": list(step)
    case "start": text
    case "duplicate_window": anyOf(duration, type("null"))
    case "attempt_timeout": duration
    case "annotations": list(oneOf(DeliveryOptions.Annotations.names.map(\.name)))
    case "rate_caps": list(object(PlanKeys.rateCap.map { ($0, limit($0)) }, required: PlanKeys.rateCap))
    case "flush": object(PlanKeys.flush.map { ($0, limit($0)) })
    case "backoff": object(PlanKeys.backoff.map { ($0, limit($0)) })
    case "budget": object(PlanKeys.budget.map { ($0, limit($0)) })
    case "duplicate_memory", "user_memory": whole
    default: flag
    }
  }

  private static func limit(_ key: String) -> DocumentNode {
    switch key {
    case "triggers": list(oneOf(PlanKeys.triggers.map(\.0)))
    case "events": texts
    case "interval", "idle_after", "per", "open_for", "least", "processor_time_per_second": duration
    case "overflow_threshold", "calls_per_second": number
    // The most of a rate cap is a number, and that of a back-off a duration.
    case "most": anyOf(whole, duration)
    default: whole
    }
  }

  /// A step: its name, or a map from its name to its arguments.
  private static let step = anyOf(
    oneOf(PlanMapping.steps.map(\.name)),
    .map([
      ("type", .text("object")), ("minProperties", .number(1)), ("maxProperties", .number(1)),
      ("additionalProperties", .bool(false)),
      (
        "properties",
        .map(PlanMapping.steps.map { step in (step.name, object(step.arguments.map { ($0, .map([])) })) })
      ),
    ]))
}

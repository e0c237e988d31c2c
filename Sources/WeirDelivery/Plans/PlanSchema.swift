// PlanSchema: the JSON Schema of plan files, for editors and checks elsewhere. The reader of plans says more: it checks
// what a schema can't say, and names lines.

import Weir
import WeirContracts
import WeirJSON

extension DeliveryPlan {
  /// The JSON Schema (draft 2020-12) of plan files.
  package static var jsonSchema: String { PlanSchema.schema.json() + "\n" }
}

/// Makes the schema of the table in ``PlanKeys``.
enum PlanSchema {
  static let schema: DocumentNode = {
    let head: [(String, DocumentNode?)] = [
      ("$schema", .text("https://json-schema.org/draft/2020-12/schema")), ("title", .text("Weir delivery plan")),
    ]
    let parts: [(String, DocumentNode?)] = [
      ("$defs", .map([("provider", provider), ("step", step), ("fieldRule", .map(object(PlanKeys.fieldRule)))]))
    ]
    return .map(head + object(PlanKeys.plan) + parts)
  }()

  private static func schema(of value: PlanValue) -> DocumentNode {
    switch value {
    case .anything: .map([])
    case .null: type("null")
    case .flag: type("boolean")
    case .text(let pattern): .map([("type", .text("string")), ("pattern", pattern.map(DocumentNode.text))])
    case .oneOf(let names): .map([("enum", .texts(names))])
    case .whole(let least):
      .map([("type", .text("integer")), ("minimum", .number(least)), ("maximum", .number(Int.max))])
    case .number(let least, let isAllowed, let most):
      .map([
        ("type", .text("number")), (isAllowed ? "minimum" : "exclusiveMinimum", least.map(number)),
        ("maximum", most.map(number)),
      ])
    case .list(let items, let count):
      .map([
        ("type", .text("array")), ("items", schema(of: items)), ("minItems", count.map(DocumentNode.number)),
        ("maxItems", count.map(DocumentNode.number)),
      ])
    case .names(let inner, let pattern):
      .map([
        ("type", .text("object")), ("propertyNames", pattern.map { .map([("pattern", .text($0))]) }),
        ("additionalProperties", schema(of: inner)),
      ])
    case .map(let map): .map(object(map))
    case .provider: reference("provider")
    case .step: reference("step")
    case .fieldRule: reference("fieldRule")
    case .either(let values): .map([("anyOf", .list(values.map { schema(of: $0) }))])
    }
  }

  /// The keywords of a map with fixed keys.
  private static func object(_ map: PlanMap) -> [(String, DocumentNode?)] {
    let required = map.keys.filter(\.isRequired).map(\.name)
    let needs = map.needs.map { ($0.key, DocumentNode.texts([$0.needed]) as DocumentNode?) }
    let excludes = map.excludes.map { DocumentNode.map([("not", requires([$0.0, $0.1]))]) }
    return [
      ("type", .text("object")), ("required", required.isEmpty ? nil : .texts(required)),
      ("oneOf", map.oneOf.isEmpty ? nil : .list(map.oneOf.map { requires([$0]) })),
      ("dependentRequired", needs.isEmpty ? nil : .map(needs)), ("allOf", excludes.isEmpty ? nil : .list(excludes)),
      ("additionalProperties", .bool(false)),
      ("properties", .map(map.keys.map { ($0.name, schema(of: $0.value)) })),
    ]
  }

  /// A provider: some keys are only for a URL in `to`, and others only for a path.
  private static let provider: DocumentNode = {
    let isURL = DocumentNode.map([
      ("required", .texts(["to"])),
      ("properties", .map([("to", .map([("type", .text("string")), ("pattern", .text("://"))]))])),
    ])
    func none(_ keys: [String]) -> DocumentNode {
      .map([("not", .map([("anyOf", .list(keys.map { requires([$0]) }))]))])
    }
    let ofURL = PlanKeys.destination.map(\.name).filter { $0 != "to" && !PlanKeys.ofPath.contains($0) }
    return .map(
      object(PlanKeys.provider) + [("if", isURL), ("then", none(PlanKeys.ofPath)), ("else", none(ofURL))])
  }()

  /// A step: its name, or a map from its name to its arguments.
  private static let step: DocumentNode = {
    let alone = PlanKeys.steps.filter(\.arguments.mayBeEmpty).map(\.name)
    return .map([
      (
        "anyOf",
        .list([
          .map([("enum", .texts(alone))]),
          .map([
            ("type", .text("object")), ("minProperties", .number(1)), ("maxProperties", .number(1)),
            ("additionalProperties", .bool(false)),
            ("properties", .map(PlanKeys.steps.map { ($0.name, .map(object($0.arguments))) })),
          ]),
        ])
      )
    ])
  }()

  private static func type(_ name: String) -> DocumentNode { .map([("type", .text(name))]) }
  private static func reference(_ name: String) -> DocumentNode { .map([("$ref", .text("#/$defs/\(name)"))]) }
  private static func requires(_ keys: [String]) -> DocumentNode { .map([("required", .texts(keys))]) }
  private static func number(_ number: Double) -> DocumentNode { DocumentNode(.number(.double(number))) }
}

// JSONSchema: a contract as JSON Schema, draft 2020-12, for programs in other languages.
//
// The schema describes events as Weir writes them in JSON. Every event without violations is valid. What JSON Schema
// can't say is named in `$comment`.

import Weir
import WeirJSON

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Contract {
  /// Returns the contract as JSON Schema, draft 2020-12.
  ///
  /// The schema describes an event as `EventJSON` of WeirDelivery writes events: an object with the keys `name` and
  /// `fields`. The fields of the event `checkout.completed` are the definition `$defs`/`checkout.completed`, which
  /// other schemas may refer to. Every event without violations is valid. What JSON Schema can't say is named in
  /// `$comment`, so that an event with violations may be valid: see <doc:ContractCode>. Equal contracts have equal
  /// schemas.
  ///
  /// Throws what ``compiled()`` throws.
  public func jsonSchema() throws(ContractError) -> Data {
    let compiled = try self.compiled()
    return Data((SchemaWriting.node(compiled).json() + "\n").utf8)
  }
}

private enum SchemaWriting {
  static func node(_ compiled: CompiledContract) -> DocumentNode {
    let contract = compiled.contract
    let events = contract.events.compactMap { compiled.event($0.name) }
    let choices = events.map { event in
      DocumentNode.map([
        ("if", .map([("properties", .map([("name", .map([("const", .text(event.rule.name))]))]))])),
        (
          "then",
          .map([("properties", .map([("fields", .map([("$ref", .text(reference(to: event.rule.name)))]))]))])
        ),
      ])
    }
    return .map([
      ("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
      ("title", .text("\(contract.name) \(contract.version)")), ("$comment", .text(comment)),
      ("type", .text("object")), ("required", .texts(["name", "fields"])),
      ("properties", .map([("name", name(in: contract)), ("fields", .map([("type", .text("object"))]))])),
      ("allOf", choices.isEmpty ? nil : .list(choices)),
      ("$defs", .map(events.map { ($0.rule.name, node($0)) })),
    ])
  }

  private static let comment =
    "Not said here: a number with a fraction of zero, such as 3.0, is no integer for the contract; a text of more than "
    + "\(Pattern.maximumTextBytes >> 10) KiB matches no pattern; of equal keys of an object the last one counts; sensitive "
    + "values are described as they are before they are redacted."

  private static func name(in contract: Contract) -> DocumentNode {
    if contract.allowsUnknownEvents { return .map([("type", .text("string"))]) }
    let own = DocumentNode.map([
      ("pattern", .text("^weir\\.")), ("$comment", .text("events of the log itself, which no contract describes")),
    ])
    // A list of values may not be empty.
    let named = contract.events.isEmpty ? nil : DocumentNode.map([("enum", .texts(contract.events.map(\.name)))])
    return .map([("type", .text("string")), ("anyOf", .list([named, own].compactMap(\.self)))])
  }

  /// Returns a reference to a definition: a JSON pointer within the fragment of a URI.
  private static func reference(to name: String) -> String {
    var text = "#/$defs/"
    for byte in name.utf8 {
      switch byte {
      case UInt8(ascii: "~"): text += "~0"
      case UInt8(ascii: "/"): text += "~1"
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
        text.unicodeScalars.append(Unicode.Scalar(byte))
      default: text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return text
  }

  private static func node(_ event: CompiledEvent) -> DocumentNode {
    let rule = event.rule
    let notes = [
      rule.kind.map { "an event whose declaration has another kind than \($0.rawValue), or none, is flagged" },
      event.context.map { _ in "the contract has rules for the event's context, which is no part of this schema" },
    ].compactMap { $0 }
    let comment = notes.isEmpty ? nil : DocumentNode.text(notes.joined(separator: "; "))
    return .map(
      [
        ("description", rule.description.isEmpty ? nil : .text(rule.description)),
        ("deprecated", rule.isDeprecated ? .bool(true) : nil), ("$comment", comment),
        ("type", .text("object")),
      ] + entries(event.members))
  }

  /// What an object may have.
  private static func entries(_ members: CompiledMembers) -> [(String, DocumentNode?)] {
    let required = members.fields.filter(\.failsWhenMissing).map(\.name)
    return [
      ("properties", members.fields.isEmpty ? nil : .map(members.fields.map { ($0.name, node($0)) })),
      ("required", required.isEmpty ? nil : .texts(required)),
      // A field that is null counts as missing.
      ("additionalProperties", members.isOpen ? nil : .map([("type", .text("null"))])),
    ]
  }

  private static func node(_ field: CompiledField) -> DocumentNode {
    let rule = field.rule
    var comments: [String] = []
    if rule?.isSensitive == true { comments.append("sensitive: the value is redacted when it is shown or sent") }
    let value = valueEntries(field, &comments)
    return .map(
      [
        ("description", (rule?.description).flatMap { $0.isEmpty ? nil : .text($0) }),
        ("deprecated", rule?.isDeprecated == true ? .bool(true) : nil),
        ("default", field.defaultValue.map(ContractWriting.node)),
        ("$comment", comments.isEmpty ? nil : .text(comments.joined(separator: "; "))),
      ] + value)
  }

  private static func valueEntries(_ field: CompiledField, _ comments: inout [String]) -> [(String, DocumentNode?)] {
    let isNullable = !field.failsWhenMissing
    func type(_ names: String...) -> (String, DocumentNode?) {
      let all = names + (isNullable ? ["null"] : [])
      return ("type", all.count == 1 ? .text(all[0]) : .texts(all))
    }
    let allowed = field.rule?.allowedValues.map { values in
      DocumentNode.list(values.map(ContractWriting.node) + (isNullable ? [DocumentNode(.null)] : []))
    }
    let length = field.rule?.length
    func lengths(_ minimum: String, _ maximum: String) -> [(String, DocumentNode?)] {
      [(minimum, length?.min.map(DocumentNode.number)), (maximum, length?.max.map(DocumentNode.number))]
    }
    var entries: [(String, DocumentNode?)]
    switch field.type {
    case .any:
      // `null` counts as missing.
      entries = isNullable || allowed != nil ? [] : [("not", .map([("type", .text("null"))]))]
    case .bool: entries = [type("boolean")]
    case .integer: entries = [type("integer")]
    case .number: entries = numberType(field, type("number"), isNullable: isNullable)
    case .string:
      entries = [type("string")] + lengths("minLength", "maxLength")
      if let pattern = field.rule?.pattern { entries.append(("pattern", .text(PatternText.schema(pattern)))) }
    case .bytes:
      entries = [type("string"), ("contentEncoding", .text("base64"))]
      if let length { comments.append("length \(length) counts the bytes before they are encoded") }
    case .uuid:
      entries = [
        type("string"), ("format", .text("uuid")),
        ("pattern", .text("^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$")),
      ]
    case .date:
      entries = [type("string", "number"), ("format", .text("date-time"))]
      comments.append("a date outside of the years 0 to 9999 is a number of seconds since 2001")
    case .array:
      entries = [type("array")] + lengths("minItems", "maxItems")
      if let element = field.element { entries.append(("items", node(element))) }
    case .object:
      entries = [type("object")] + lengths("minProperties", "maxProperties")
      if let members = field.members { entries += Self.entries(members) }
    }
    return entries + range(field.rule?.range) + [("enum", allowed)]
  }

  /// NaN and the infinities are texts in JSON.
  private static func numberType(
    _ field: CompiledField, _ type: (String, DocumentNode?), isNullable: Bool
  ) -> [(String, DocumentNode?)] {
    guard let rule = field.rule, !rule.isFinite, rule.range == nil, rule.allowedValues == nil else { return [type] }
    let texts = ["NaN", "Infinity", "-Infinity"].map(DocumentNode.text)
    return [("anyOf", .list([.map([type]), .map([("enum", .list(texts))])]))]
  }

  private static func range(_ range: NumberRange?) -> [(String, DocumentNode?)] {
    func entry(_ bound: NumberRange.Bound?, _ including: String, _ excluding: String) -> (String, DocumentNode?) {
      switch bound {
      case .including(let number)?: (including, ContractWriting.node(number))
      case .excluding(let number)?: (excluding, ContractWriting.node(number))
      case nil: (including, nil)
      }
    }
    return [
      entry(range?.lower, "minimum", "exclusiveMinimum"), entry(range?.upper, "maximum", "exclusiveMaximum"),
    ]
  }
}

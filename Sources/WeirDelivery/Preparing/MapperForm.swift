// MapperForm: a mapper's step as a plan's file holds the step.

import Weir
import WeirJSON

/// The form of a step: its place in a plan's file, or the name of a closure, which no file can hold.
enum MapperForm: Sendable {
  case document(DocumentNode)
  case closure(String)

  /// The form of a step that is called `name` in files: the name alone if no argument has a value, otherwise a map from
  /// the name to the arguments.
  static func step(_ name: String, _ arguments: [(String, DocumentNode?)] = []) -> MapperForm {
    let given = arguments.filter { $0.1 != nil }
    return .document(given.isEmpty ? .text(name) : .map([(name, .map(given))]))
  }

  /// The form of a step that adds fields. JSON lacks some values; a step with such a value counts as a closure.
  static func adding(_ fields: FieldObject) -> MapperForm {
    guard let values = DocumentNode.values(.object(fields)) else {
      return .closure("adding(_:) of values that JSON lacks")
    }
    return .step("adding", [("fields", values)])
  }
}

extension DocumentNode {
  /// The map from names to names, sorted by the old names.
  static func names(_ names: [String: String]) -> DocumentNode {
    .map(names.sorted { $0.key < $1.key }.map { ($0.key, .text($0.value)) })
  }

  /// The value in a file that is read as an equal value. Returns `nil` if there is none, as for a date.
  static func values(_ value: FieldValue) -> DocumentNode? {
    switch value {
    case .null: DocumentNode(.null)
    case .bool(let flag): .bool(flag)
    case .int: DocumentNode(.number(value))
    case .uint(let number): number > UInt64(Int64.max) ? DocumentNode(.number(value)) : nil
    case .double(let number): number.isFinite ? DocumentNode(.number(value)) : nil
    case .string(let text): .text(text)
    case .float, .uuid, .bytes, .date: nil
    case .array(let elements):
      elements.reduce([DocumentNode]?.some([])) { list, element in
        list.flatMap { list in values(element).map { list + [$0] } }
      }.map(DocumentNode.list)
    case .object(let object):
      object.reduce([Entry]?.some([])) { list, member in
        list.flatMap { list in values(member.value).map { list + [Entry(key: member.name, value: $0)] } }
      }.map { DocumentNode(.map($0)) }
    }
  }

  /// The value of a field that a file gives.
  var fieldValue: FieldValue {
    switch content {
    case .null: .null
    case .bool(let flag): .bool(flag)
    case .number(let number): number
    case .text(let text): .string(text)
    case .list(let nodes): .array(nodes.map(\.fieldValue))
    case .map(let entries): .object(FieldObject(entries.map { .init(name: $0.key, value: $0.value.fieldValue) }))
    }
  }
}

// SwiftFixture: an event as Swift code that captures it again, for a test.

import Foundation
import Weir
import WeirContracts

enum SwiftFixture {
  /// Returns a call that captures an event of the same name, with the same fields.
  static func text(_ event: StoredEvent) -> String {
    "tracker.track(\(SwiftLiteral.text(event.name)), fields: \(object(event.fields, indent: "")))\n"
  }

  private static func object(_ object: FieldObject, indent: String) -> String {
    guard !object.isEmpty else { return "[:]" }
    let inner = indent + "  "
    // A dictionary literal may hold a name only once.
    guard Set(object.map(\.name)).count == object.count else {
      let members = object.map { "\(inner)(\(SwiftLiteral.text($0.name)), \(value($0.value, indent: inner))),\n" }
      return "FieldObject([\n\(members.joined())\(indent)])"
    }
    let members = object.map { "\(inner)\(SwiftLiteral.text($0.name)): \(value($0.value, indent: inner)),\n" }
    return "[\n\(members.joined())\(indent)]"
  }

  private static func value(_ value: FieldValue, indent: String) -> String {
    switch value {
    case .null: "nil"
    case .bool(let flag): "\(flag)"
    case .int(let number): ".int(\(number))"
    case .uint(let number): ".uint(\(number))"
    case .float(let number): ".float(\(number.isFinite ? "\(number)" : "Float(bitPattern: \(number.bitPattern))"))"
    case .double(let number): ".double(\(number.isFinite ? "\(number)" : "Double(bitPattern: \(number.bitPattern))"))"
    case .string(let text): SwiftLiteral.text(text)
    case .bytes(let bytes): ".bytes([\(bytes.map { "\($0)" }.joined(separator: ", "))])"
    case .uuid(let uuid): ".uuid(UUID(uuidString: \"\(uuid.uuidString)\")!)"
    case .date(let date): ".date(Date(timeIntervalSinceReferenceDate: \(date.timeIntervalSinceReferenceDate)))"
    case .array(let values): "[\(values.map { self.value($0, indent: indent) }.joined(separator: ", "))]"
    case .object(let object): ".object(\(self.object(object, indent: indent)))"
    }
  }
}

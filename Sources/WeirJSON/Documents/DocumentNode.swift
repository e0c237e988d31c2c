// DocumentNode: a file that people write (a contract, a plan), in JSON or YAML, as a tree. Every value has its line,
// for messages.

package import Weir

/// A value of a file.
package struct DocumentNode: Sendable {
  package enum Content: Sendable {
    case null
    case bool(Bool)
    /// `int`, `uint` or `double`.
    case number(FieldValue)
    case text(String)
    case list([DocumentNode])
    /// The entries in the order of the file, including equal keys.
    case map([Entry])
  }

  /// A key and its value.
  package struct Entry: Sendable {
    package var key: String
    package var line: Int
    package var value: DocumentNode

    package init(key: String, line: Int = 0, value: DocumentNode) {
      self.key = key
      self.line = line
      self.value = value
    }
  }

  /// The maximum size of a file, in bytes.
  package static let maximumBytes = 16 << 20

  /// The maximum nesting depth of values in a file: a few levels more than that of fields.
  package static let maximumFileDepth = 64

  /// The maximum number of values in a file.
  package static let maximumNodes = 1_000_000

  package var content: Content
  /// The line, counted from 1; 0 if there is no file.
  package var line: Int

  package init(_ content: Content, line: Int = 0) {
    self.content = content
    self.line = line
  }

  /// The kind of the value, for messages.
  package var kindName: String {
    switch content {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .text: "a text"
    case .list: "a list"
    case .map: "a map of keys"
    }
  }
}

extension DocumentNode {
  package static func text(_ text: String) -> DocumentNode { DocumentNode(.text(text)) }
  package static func bool(_ flag: Bool) -> DocumentNode { DocumentNode(.bool(flag)) }
  package static func number(_ number: Int) -> DocumentNode { DocumentNode(.number(.int(Int64(number)))) }
  package static func list(_ nodes: [DocumentNode]) -> DocumentNode { DocumentNode(.list(nodes)) }
  package static func texts(_ texts: [String]) -> DocumentNode { list(texts.map(text)) }

  /// Creates a map. Keys without a value are left out.
  package static func map(_ entries: [(String, DocumentNode?)]) -> DocumentNode {
    DocumentNode(.map(entries.compactMap { key, value in value.map { Entry(key: key, value: $0) } }))
  }
}

/// A syntax error of a file: its line and its description.
package struct DocumentSyntaxError: Error, Hashable {
  package var line: Int
  package var message: String

  package init(line: Int, message: String) {
    self.line = line
    self.message = message
  }
}

extension DocumentNode {
  /// Returns the value as JSON, formatted for people: a map without inner maps is one line, any other has one line for
  /// each key.
  package func json() -> String {
    var text = ""
    append(to: &text, indentation: 0)
    return text
  }

  /// Returns the value as JSON on one line.
  package func jsonLine() -> String {
    var text = ""
    append(to: &text, indentation: nil)
    return text
  }

  /// Appends the value. Without an indentation, the value is one line.
  private func append(to text: inout String, indentation: Int?) {
    switch content {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number(let value): text += "\(value)"
    case .text(let value): Self.append(quoted: value, to: &text)
    case .list(let values):
      text += "["
      for (index, value) in values.enumerated() {
        if index > 0 { text += ", " }
        value.append(to: &text, indentation: indentation)
      }
      text += "]"
    case .map(let entries):
      let isFlat = entries.allSatisfy { if case .map = $0.value.content { false } else { true } }
      let breaks = indentation.flatMap { isFlat && $0 > 0 ? nil : $0 }
      let inner = breaks.map { "\n" + String(repeating: "  ", count: $0 + 1) } ?? ""
      text += "{"
      for (index, entry) in entries.enumerated() {
        if index > 0 { text += inner.isEmpty ? ", " : "," }
        text += inner
        Self.append(quoted: entry.key, to: &text)
        text += ": "
        entry.value.append(to: &text, indentation: indentation.map { $0 + 1 })
      }
      if let breaks, !entries.isEmpty { text += "\n" + String(repeating: "  ", count: breaks) }
      text += "}"
    }
  }

  private static func append(quoted value: String, to text: inout String) {
    text += "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value):
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}

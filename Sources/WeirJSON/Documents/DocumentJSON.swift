// DocumentJSON: reads JSON as the tree of a file.
//
// A contract or a plan needs what Foundation's decoders lose: the order of the keys, in which violations are listed;
// equal keys, which are mistakes; and the lines that messages name.

import Weir

/// Reads one JSON text.
package struct DocumentJSON {
  private var nodes = 0

  /// Returns the tree of the text, or throws the syntax error.
  package static func read(_ bytes: [UInt8]) throws(DocumentSyntaxError) -> DocumentNode {
    guard bytes.count <= DocumentNode.maximumBytes else {
      throw DocumentSyntaxError(line: 1, message: "the file is larger than \(DocumentNode.maximumBytes >> 20) MiB")
    }
    // Some editors write a byte order mark first, which has no meaning in UTF-8.
    let text = bytes.span.extracting(droppingFirst: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
    do {
      return try JSONScanner.scan(text, allowsWholeDoubles: false) { scanner throws(JSONProblem) in
        var reader = DocumentJSON()
        return try reader.value(&scanner, depth: 0)
      }
    } catch {
      throw DocumentSyntaxError(line: error.line, message: "the JSON can't be read: \(error.message)")
    }
  }

  private mutating func value(_ scanner: inout JSONScanner, depth: Int) throws(JSONProblem) -> DocumentNode {
    guard depth <= DocumentNode.maximumFileDepth else {
      throw scanner.problem("values nest more than \(DocumentNode.maximumFileDepth) deep")
    }
    nodes += 1
    guard nodes <= DocumentNode.maximumNodes else {
      throw scanner.problem("the file holds more than \(DocumentNode.maximumNodes) values")
    }
    let line = scanner.line
    return DocumentNode(try content(&scanner, depth: depth), line: line)
  }

  private mutating func content(_ scanner: inout JSONScanner, depth: Int) throws(JSONProblem) -> DocumentNode.Content {
    if scanner.take(UInt8(ascii: "{")) {
      var entries: [DocumentNode.Entry] = []
      try scanner.members { scanner, key, line throws(JSONProblem) in
        entries.append(.init(key: key, line: line, value: try value(&scanner, depth: depth + 1)))
      }
      return .map(entries)
    }
    if scanner.take(UInt8(ascii: "[")) {
      var values: [DocumentNode] = []
      try scanner.elements { scanner throws(JSONProblem) in values.append(try value(&scanner, depth: depth + 1)) }
      return .list(values)
    }
    return switch try scanner.scalar() {
    case .string(let text): .text(text)
    case .bool(let flag): .bool(flag)
    case .null: .null
    case let number: .number(number)
    }
  }
}

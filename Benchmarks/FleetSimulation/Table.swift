// Table: what the simulation found, for people and as lines of JSON.

import Foundation

/// A value of a table.
enum Cell {
  case text(String)
  /// Shown with so many decimals.
  case number(Double, Int)

  static func count(_ number: some BinaryInteger) -> Cell { .number(Double(number), 0) }

  var shown: String {
    switch self {
    case .text(let text): return text
    case .number(let number, let decimals):
      guard number.isFinite else { return "never" }
      let digits = String(format: "%.\(decimals)f", number)
      let whole = digits.prefix { $0 != "." }
      let groups = stride(from: whole.count, to: 0, by: -3).map { end in
        String(whole.dropFirst(max(0, end - 3)).prefix(min(3, end)))
      }
      return groups.reversed().joined(separator: ",") + digits.dropFirst(whole.count)
    }
  }

  var json: Any {
    switch self {
    case .text(let text): text
    case .number(let number, _): number.isFinite ? number as Any : NSNull()
    }
  }
}

struct Table {
  /// A word for each line of JSON.
  let name: String
  let title: String
  let columns: [String]
  var rows: [[Cell]] = []

  init(_ name: String, _ title: String, _ columns: [String]) {
    (self.name, self.title, self.columns) = (name, title, columns)
  }

  var text: String {
    let lines = [columns] + rows.map { $0.map(\.shown) }
    let widths = columns.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    let body = lines.map { line in
      zip(line, widths).map { text, width in String(repeating: " ", count: width - text.count) + text }
        .joined(separator: "  ")
    }
    return "\n\(title)\n" + body.joined(separator: "\n")
  }

  /// A line for each row.
  func json() throws -> String {
    try rows.map { row in
      var object: [String: Any] = ["table": name]
      for (column, cell) in zip(columns, row) { object[column] = cell.json }
      return String(decoding: try JSONSerialization.data(withJSONObject: object, options: .sortedKeys), as: UTF8.self)
        + "\n"
    }.joined()
  }
}

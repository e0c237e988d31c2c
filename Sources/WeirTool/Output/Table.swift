// Table: reports for people (a label and a value on each line, values aligned) and for programs (JSON with stable
// keys in snake_case).

#if Tool
  import Foundation

  enum Table {
    /// Returns rows with the labels on the left and the values in one column. An empty label makes an empty line.
    static func text(_ rows: [(label: String, value: String)]) -> String {
      let width = rows.map(\.label.count).max() ?? 0
      return rows.map { row in
        if row.label.isEmpty { return "\n" }
        return row.label + String(repeating: " ", count: width - row.label.count + 2) + row.value + "\n"
      }.joined()
    }

    /// Returns rows of cells in columns: the first and the last aligned to the left, the others to the right.
    static func columns(_ rows: [[String]]) -> String {
      let count = rows.map(\.count).max() ?? 0
      let widths = (0..<count).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
      return rows.map { row in
        row.enumerated().map { column, cell in
          let space = String(repeating: " ", count: widths[column] - cell.count)
          if column == row.count - 1 { return cell }
          return column == 0 ? cell + space : space + cell
        }.joined(separator: "  ") + "\n"
      }.joined()
    }

    /// Returns one JSON object with sorted keys, each on its own line.
    static func json(_ value: some Encodable) throws -> String {
      let encoder = JSONEncoder()
      encoder.keyEncodingStrategy = .convertToSnakeCase
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }
  }

  /// A value of a report that is written as null if the value is `nil`, so that the key is always present.
  @propertyWrapper
  struct Nullable<Value: Encodable>: Encodable {
    var wrappedValue: Value?

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      if let wrappedValue {
        try container.encode(wrappedValue)
      } else {
        try container.encodeNil()
      }
    }
  }
#endif

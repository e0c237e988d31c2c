// CSVTable: events as the rows of one table, with a column for each field.

package import Weir
import WeirJSON

/// The columns that events need, in order of appearance, fields before context.
///
/// Every table has the columns `offset`, `id`, `time`, `name` and `kind`. A field has a column of its name, a nested
/// field `outer.inner`. A dot or a backslash in a name has a backslash before it. The context has columns that begin
/// with `context.`: `context.user.id`, `context.user.traits.plan`, `context.globals.app`. If a field's column would
/// have one of these names, the column's name begins with `fields.`, so that no two values share a column.
package struct CSVColumns {
  /// The maximum number of columns. No spreadsheet or database takes more, and hostile events could have millions of
  /// names.
  package static let maximum = 10_000

  fileprivate static let fixed = ["offset", "id", "time", "name", "kind"]

  private var known = Set(fixed)
  private var fields: [String] = []
  private var context: [String] = []

  package init() {}

  package var names: [String] { Self.fixed + fields + context }

  /// Adds the columns that the event needs. Throws `invalid` if there are too many.
  package mutating func add(_ event: StoredEvent) throws(WeirError) {
    CSVTable.flatten(event) { column, _ in
      guard known.count <= Self.maximum, known.insert(column).inserted else { return }
      if column.hasPrefix("context.") { context.append(column) } else { fields.append(column) }
    }
    guard known.count <= Self.maximum else {
      throw WeirError(.invalid, "the events have more than \(Self.maximum) columns; choose some events or columns")
    }
  }
}

/// Writes the rows of a table with given columns.
package struct CSVTable {
  private let columns: [String]
  private let numbers: [String: Int]
  private let isEscaped: (String) -> Bool

  /// Creates a table. Texts for which `isEscaped` returns `true` are written as JSON.
  package init(_ columns: [String], isEscaped: @escaping (String) -> Bool = { _ in false }) {
    self.columns = columns
    numbers = Dictionary(columns.enumerated().map { ($0.element, $0.offset) }) { first, _ in first }
    self.isEscaped = isEscaped
  }

  /// Returns the header row.
  package func header() -> [UInt8] {
    var bytes: [UInt8] = []
    appendRow(columns.map { cell(ofText: $0) }, to: &bytes)
    return bytes
  }

  /// Appends the event's row. Values of other columns are left out.
  package func append(_ event: StoredEvent, to bytes: inout [UInt8]) {
    var cells = [[UInt8]](repeating: [], count: columns.count)
    func set(_ column: String, _ cell: @autoclosure () -> [UInt8]) {
      if let number = numbers[column] { cells[number] = cell() }
    }
    set("offset", Array("\(event.offset)".utf8))
    set("id", Array(event.id.description.utf8))
    set("time", Array(event.time.description.utf8))
    set("name", cell(ofText: event.name))
    set("kind", Array((event.kind?.rawValue ?? "").utf8))
    Self.flatten(event) { column, value in set(column, cell(of: value)) }
    appendRow(cells, to: &bytes)
  }

  private func appendRow(_ cells: [[UInt8]], to bytes: inout [UInt8]) {
    for (number, cell) in cells.enumerated() {
      if number > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes += cell
    }
    bytes.append(UInt8(ascii: "\n"))
  }
}

// MARK: Cells

extension CSVTable {
  /// Returns the cell of a value, as RFC 4180 defines it. Null is an empty cell, an empty text two quotation marks.
  private func cell(of value: FieldValue) -> [UInt8] {
    switch value {
    case .null: return []
    case .string(let text): return text.isEmpty ? Array("\"\"".utf8) : cell(ofText: text)
    default:
      var json: [UInt8] = []
      EventJSON().append(value, to: &json)
      switch value {
      // These are JSON texts.
      case .array, .object: break
      // These texts have no escapes, so only the quotation marks are removed.
      default: if json.first == UInt8(ascii: "\"") { json = Array(json.dropFirst().dropLast()) }
      }
      var bytes: [UInt8] = []
      Self.appendQuoted(json, to: &bytes)
      return bytes
    }
  }

  private func cell(ofText text: String) -> [UInt8] {
    var shown = Array(text.utf8)
    if isEscaped(text) {
      shown = []
      JSONText.append(text, to: &shown)
    }
    var bytes: [UInt8] = []
    Self.appendQuoted(shown, to: &bytes)
    return bytes
  }

  /// Appends a cell, in quotation marks if necessary.
  package static func appendQuoted(_ cell: [UInt8], to bytes: inout [UInt8]) {
    let special = [UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: "\n"), UInt8(ascii: "\r")]
    guard cell.contains(where: special.contains) else { return bytes.append(contentsOf: cell) }
    bytes.append(UInt8(ascii: "\""))
    for byte in cell {
      if byte == UInt8(ascii: "\"") { bytes.append(byte) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
  }
}

// MARK: Flattening

extension CSVTable {
  /// Passes each value of an event with its column to `take`. Of several fields with one name, the last one counts.
  fileprivate static func flatten(_ event: StoredEvent, _ take: (String, FieldValue) -> Void) {
    flatten(event.fields, below: "") { column, value in
      let isTaken = CSVColumns.fixed.contains(column) || ["context.", "fields."].contains { column.hasPrefix($0) }
      take(isTaken ? "fields." + column : column, value)
    }
    let context = event.context
    flatten(context.globals, below: "context.globals.", take)
    if let user = context.user {
      take("context.user.id", .string(user.id))
      flatten(user.traits, below: "context.user.traits.", take)
    }
    if let view = context.view {
      take("context.view.id", .string(view.id))
      take("context.view.name", .string(view.name))
      if let parent = view.parent { take("context.view.parent", .string(parent)) }
    }
    flatten(context.fields, below: "context.fields.", take)
    if context.isGlobalPartLost { take("context.globals_lost", .bool(true)) }
  }

  private static func flatten(_ object: FieldObject, below prefix: String, _ take: (String, FieldValue) -> Void) {
    for member in object {
      let column = prefix + escaped(member.name)
      // An empty object has no members, so the object itself is the cell.
      if case .object(let inner) = member.value, !inner.isEmpty {
        flatten(inner, below: column + ".", take)
      } else {
        take(column, member.value)
      }
    }
  }

  private static func escaped(_ name: String) -> String {
    guard name.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "\\") }) else { return name }
    return name.replacing("\\", with: "\\\\").replacing(".", with: "\\.")
  }
}

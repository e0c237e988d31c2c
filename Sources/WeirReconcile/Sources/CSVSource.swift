// CSVSource: the events of a table as a side.

import Weir

/// A file of comma-separated values (RFC 4180) with a header, such as `weir export --format csv` writes. A place is the
/// position of the row in the file.
///
/// A cell has no type: ``rules`` makes values comparable with cells. An empty cell is a missing field.
struct CSVSource: EventSource {
  private static let chunkBytes = 1 << 20
  /// The maximum size of a row, in bytes.
  private static let mostRowBytes = 64 << 20

  let file: ControlFile
  private let header: [String]
  private let firstRow: Int

  /// Reads the header. Throws `invalid` if there is none.
  init(_ file: ControlFile) throws(WeirError) {
    self.file = file
    var header: [String] = []
    var firstRow = 0
    try Self.rows(of: file, from: 0) { row, _, end throws(WeirError) in
      header = row.compactMap { $0 }
      firstRow = end
      return false
    }
    guard header.contains(where: Self.names.contains) else {
      throw WeirError(
        .invalid,
        "\(file.path) has no column for the event's name in its first line; call one event, name or event_name",
        path: file.path)
    }
    if header[0].hasPrefix("\u{FEFF}") { header[0].removeFirst() }
    self.header = header
    self.firstRow = firstRow
  }

  /// Whether a file's name is that of a table.
  static func isTable(_ path: String) -> Bool { path.lowercased().hasSuffix(".csv") }

  /// The rules for cells, which have no type.
  static func rules(_ rules: ComparisonRules) -> ComparisonRules {
    var rules = rules
    rules.cleanings.append(.init("*", [.nullIsMissing, .untyped]))
    return rules
  }

  var hasForeignIDs: Bool { true }

  /// A line break may be within a cell, so a table is read from front to back.
  func parts(_ count: Int) -> [Int] { [firstRow] }

  func read(_ part: Int, _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void) throws(WeirError) -> UInt64 {
    var bad: UInt64 = 0
    try Self.rows(of: file, from: part) { row, place, _ throws(WeirError) in
      if let event = event(of: row) { try body(event, UInt64(place)) } else { bad += 1 }
      return true
    }
    return bad
  }

  func read(at places: [UInt64], _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void) throws(WeirError) {
    for place in places {
      try Self.rows(of: file, from: Int(place)) { row, _, _ throws(WeirError) in
        if let event = event(of: row) { try body(event, place) }
        return false
      }
    }
  }

  private static let names: Set = ["event", "name", "event_name", "event_type"]
  private static let times: Set = ["time", "timestamp", "event_time"]
  private static let users: Set = ["user", "user_id", "userId", "distinct_id", "context.user.id"]
  private static let ids: Set = ["id", "uuid", "insert_id", "$insert_id", "messageId"]
  private static let others: Set = ["offset", "kind"]

  private func event(of row: [String?]) -> ComparedEvent? {
    guard row.count == header.count else { return nil }
    var members: [(String, FieldValue)] = []
    var fields: [(String, FieldValue)] = []
    for (column, cell) in zip(header, row) {
      guard let cell else { continue }
      switch column {
      case _ where Self.names.contains(column): members.append(("event", .string(cell)))
      case _ where Self.times.contains(column): members.append(("time", .string(cell)))
      case _ where Self.users.contains(column): members.append(("user", .string(cell)))
      case _ where Self.ids.contains(column): members.append(("id", .string(cell)))
      case "outcome": members.append(("outcome", .string(cell)))
      // As weir cat --format csv writes them.
      case "fields": fields += JSONObject.read(cell).map { ($0.name, $0.value) }
      case _ where Self.others.contains(column) || column.hasPrefix("context."): continue
      default: fields.append((column, Self.value(cell)))
      }
    }
    members.append(("fields", .object(FieldObject(fields))))
    return ControlForm.weir.event(of: FieldObject(members))
  }

  /// Arrays and objects are JSON in a cell.
  private static func value(_ cell: String) -> FieldValue {
    guard cell.hasPrefix("["), let value = JSONObject.readValue(cell) else { return .string(cell) }
    return value
  }

  /// Passes rows from a position on to `body`, with the positions of their beginning and end, until `body` returns
  /// `false`. A cell is `nil` if it is empty and not in quotation marks. Empty lines are left out.
  private static func rows(
    of file: ControlFile, from start: Int, _ body: ([String?], Int, Int) throws(WeirError) -> Bool
  ) throws(WeirError) {
    var position = start
    var wanted = chunkBytes
    while position < file.byteCount {
      let chunk = try file.bytes(wanted, at: position)
      let isLast = position + chunk.count >= file.byteCount
      var row = CSVRow(chunk)
      var end = 0
      while let cells = row.next(isLast: isLast) {
        let begin = end
        end = row.position
        if cells.isEmpty { continue }
        guard try body(cells, position + begin, position + end) else { return }
      }
      if end == 0 {
        // A row that is longer than the chunk, or that never ends.
        guard !isLast, wanted < mostRowBytes else {
          throw WeirError(
            .invalid, "\(file.path) has a row at byte \(position) that does not end; close its quotation marks",
            path: file.path)
        }
        wanted *= 2
      } else {
        position += end
        wanted = chunkBytes
      }
    }
  }
}

/// The rows within a piece of a table.
private struct CSVRow {
  private let bytes: [UInt8]
  private(set) var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The next row; `nil` if the rest is no whole row. The last row of a file needs no line break.
  mutating func next(isLast: Bool) -> [String?]? {
    var cells: [String?] = []
    var at = position
    guard at < bytes.count else { return nil }
    while true {
      guard let (cell, end) = cell(at, isLast) else { return nil }
      cells.append(cell)
      at = end
      if at < bytes.count, bytes[at] == UInt8(ascii: ",") {
        at += 1
        continue
      }
      if at < bytes.count, bytes[at] == 0x0D { at += 1 }
      if at < bytes.count, bytes[at] == 0x0A { at += 1 } else if !isLast { return nil }
      position = at
      return cells == [nil] ? [] : cells
    }
  }

  /// A cell, and the position behind it.
  private func cell(_ start: Int, _ isLast: Bool) -> (String?, Int)? {
    var at = start
    guard at < bytes.count else { return isLast ? (nil, at) : nil }
    guard bytes[at] == UInt8(ascii: "\"") else {
      while at < bytes.count, bytes[at] != UInt8(ascii: ","), bytes[at] != 0x0A, bytes[at] != 0x0D { at += 1 }
      guard at < bytes.count || isLast else { return nil }
      return (at == start ? nil : String(decoding: bytes[start..<at], as: UTF8.self), at)
    }
    var text: [UInt8] = []
    at += 1
    while at < bytes.count {
      if bytes[at] != UInt8(ascii: "\"") {
        text.append(bytes[at])
        at += 1
      } else if at + 1 < bytes.count, bytes[at + 1] == UInt8(ascii: "\"") {
        text.append(bytes[at])
        at += 2
      } else {
        guard at + 1 < bytes.count || isLast else { return nil }
        return (String(decoding: text, as: UTF8.self), at + 1)
      }
    }
    return nil
  }
}

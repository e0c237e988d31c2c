// CSVSource: the events of a table as a side.

import Weir

/// A file of comma-separated values (RFC 4180) with a header, such as `weir export --format csv` writes. A place is the
/// position of the row in the file.
///
/// A cell has no type: ``rules`` makes values comparable with cells. An empty cell is a missing field, and so is `\N`
/// without quotation marks, as ClickHouse, PostgreSQL and MySQL write null.
struct CSVSource: EventSource {
  private static let chunkBytes = 1 << 20
  /// The maximum size of a row, in bytes.
  private static let mostRowBytes = 64 << 20
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  let file: ControlFile
  private let columns: Columns
  private let firstRow: Int
  /// The zone of times without one; `nil` for Universal Time.
  private let zone: ControlZone?

  /// Reads the header. Throws `invalid` if there is none.
  init(_ file: ControlFile, zone: ControlZone? = nil, from start: Int = 0) throws(WeirError) {
    self.zone = zone
    self.file = file
    var header: [String] = []
    var firstRow = 0
    let start = try file.bytes(3, at: 0) == Self.byteOrderMark ? 3 : 0
    try Self.rows(of: file, from: start) { row, _, end throws(WeirError) in
      header = row.map { $0 ?? "" }
      firstRow = end
      return false
    }
    let columns = Columns(header)
    guard !columns.names.isEmpty else {
      throw WeirError(
        .invalid,
        "\(file.path) has no column for the event's name in its first line; call one event, name or event_name",
        path: file.path)
    }
    self.columns = columns
    self.firstRow = max(firstRow, start)
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

  private func event(of row: [String?]) -> ComparedEvent? {
    guard row.count == columns.count else { return nil }
    func first(_ indices: [Int]) -> FieldValue? {
      // Only Weir writes an empty text that is one.
      let cell = indices.lazy.compactMap { row[$0] }.first { !$0.isEmpty || columns.isOurs }
      return cell.map { .string($0) }
    }
    var fields: [(String, FieldValue)] = []
    for index in columns.objects {
      if let cell = row[index] { fields += JSONObject.read(cell).map { ($0.name, $0.value) } }
    }
    for (index, path) in columns.fields {
      if let cell = row[index] { fields.append((path, Self.value(cell))) }
    }
    var members: [(String, FieldValue)] = [("fields", .object(FieldObject(fields)))]
    if let name = first(columns.names) { members.append(("event", name)) }
    if let time = first(columns.times) { members.append(("time", time)) }
    if let user = first(columns.users) { members.append(("context", ["user": ["id": user]])) }
    if let id = first(columns.ids) { members.append(("id", id)) }
    if let arrival = first(columns.arrivals) { members.append(("inserted_at", arrival)) }
    if let outcome = first(columns.outcomes) { members.append(("outcome", outcome)) }
    var event = ControlForm.weir.event(of: FieldObject(members))
    if let zone, event != nil { zone.apply(to: &event!) }
    return event
  }

  /// Arrays are JSON in a cell. So is an empty object, whose members have no columns.
  private static func value(_ cell: String) -> FieldValue {
    if cell == "{}" { return [:] }
    guard cell.hasPrefix("["), let value = JSONObject.readValue(cell) else { return .string(cell) }
    return value
  }

  /// Passes rows from a position on to `body`, with the positions of their beginning and end, until `body` returns
  /// `false`. A cell is `nil` if it is empty, or `\N`, and not in quotation marks. Empty lines are left out.
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
        // The end of a row that is being written may be behind a line break within a cell.
        if isLast, file.isWritten { return }
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

/// What the columns of a table are for, by their positions. Of several for one thing, the first with a text counts.
private struct Columns {
  /// The columns that `weir export --format csv` writes first. Such a table has one column for each thing, and all
  /// others are fields, whatever their names.
  private static let ours = ["offset", "id", "time", "name", "kind"]

  let count: Int
  let isOurs: Bool
  private(set) var names: [Int] = []
  private(set) var times: [Int] = []
  private(set) var users: [Int] = []
  private(set) var ids: [Int] = []
  private(set) var arrivals: [Int] = []
  private(set) var outcomes: [Int] = []
  /// Objects as JSON, whose members are fields.
  private(set) var objects: [Int] = []
  /// The other columns, and the paths of their fields.
  private(set) var fields: [(Int, String)] = []

  init(_ header: [String]) {
    count = header.count
    isOurs = header.starts(with: Self.ours)
    var left = header.indices.filter { index in
      let column = header[index]
      return !column.isEmpty && !["offset", "kind"].contains(column)
        && (column == "context.user.id" || !column.hasPrefix("context."))
    }
    func take(_ wanted: String...) -> [Int] {
      let taken = wanted.flatMap { name in left.filter { header[$0] == name } }
      left.removeAll { taken.contains($0) }
      return taken
    }
    if isOurs {
      names = take("name")
      times = take("time")
      users = take("context.user.id")
      ids = take("id")
    } else {
      // Segment's tables have the name as it was given in event_text.
      names = take("event_text", "event", "event_name", "event_type")
      // Beside these, a column name is a field.
      if names.isEmpty { names = take("name") }
      times = take("time", "event_time", "timestamp")
      users = take(
        "context.user.id", "user", "user_id", "userId", "distinct_id", "anonymous_id", "anonymousId", "device_id")
      ids = take("id", "$insert_id", "insert_id", "messageId", "uuid")
      arrivals = take("received_at", "receivedAt", "server_received_time", "mp_processing_time_ms", "_inserted_at")
      outcomes = take("outcome")
      objects = take("fields", "properties", "event_properties")
    }
    fields = left.map { ($0, Self.path(header[$0])) }
  }

  /// A field's path. Weir writes a column that could be taken for another one with `fields.` before it, and dots and
  /// backslashes within a name with a backslash.
  private static func path(_ column: String) -> String {
    var path = ""
    var isEscaped = false
    for character in column.hasPrefix("fields.") ? column.dropFirst(7) : column[...] {
      if character == "\\", !isEscaped {
        isEscaped = true
      } else {
        path.append(character)
        isEscaped = false
      }
    }
    return path
  }
}

/// The rows within a piece of a table.
private struct CSVRow {
  private static let null = Array(#"\N"#.utf8)

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
      let text = bytes[start..<at]
      return (text.isEmpty || text.elementsEqual(Self.null) ? nil : String(decoding: text, as: UTF8.self), at)
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

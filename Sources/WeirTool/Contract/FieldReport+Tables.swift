// FieldReport+Tables: the report as Markdown and as CSV, for people who have no weir.

#if Tool
  import Weir
  import WeirContracts
  import WeirDelivery

  extension FieldReport {
    private static let columns = [
      "field", "contract", "finding", "seen", "share_percent", "missing", "absent", "defaulted", "unknown",
      "wrong_type", "out_of_range", "violated_rules", "violating_values", "examples", "first_seen", "last_seen",
      "description",
    ]

    /// The number of columns that a table in Markdown has even if they are empty: up to the share.
    private static let fixedColumns = 5

    /// The events with the most violations first.
    private var sortedEvents: [ReportedEvent] {
      events.enumerated().sorted { left, right in
        (right.element.violations, left.offset) < (left.element.violations, right.offset)
      }.map(\.element)
    }

    /// Returns the rows of an event: its own, then those of its fields.
    private func rows(of event: ReportedEvent) -> [[String]] {
      let finding = event.finding(allowsUnknown: contract.allowsUnknownEvents)
      var own: [String] = ["", event.contractText, finding, String(event.seen), Self.share(event.seen, of: seen)]
      own += [String](repeating: "", count: 6)
      own += [event.rules.text, "", ""]
      own += Self.cells(event.times)
      own.append(event.rule?.description ?? "")
      var rows = [own]
      for field in event.fields where field.isListed { rows.append(Self.row(of: field, in: event)) }
      return rows
    }

    private static func row(of field: ReportedField, in event: ReportedEvent) -> [String] {
      let absent = event.seen - event.unread - field.asked.count
      var row: [String] = [field.path, field.contractText, field.finding, String(field.seen.count)]
      row.append(share(field.seen.count, of: event.seen))
      for count in [field.missing.count, absent, field.defaulted.count] {
        row.append(field.isDeclared ? String(count) : "")
      }
      for count in [field.unknown.count, field.wrongType.count, field.outOfRange.count] { row.append(String(count)) }
      row += [field.rules.text, field.violatingExamples.text, field.examples.text]
      row += cells(field.times)
      row.append(field.rule?.description ?? "")
      return row
    }

    private static func share(_ count: UInt64, of all: UInt64) -> String {
      all == 0 ? "" : Quantity.decimal(Double(count) * 100 / Double(all))
    }

    private static func cells(_ times: TimesSeen) -> [String] {
      [times.first?.description ?? "", times.last?.description ?? ""]
    }

    /// Returns the report as one table, with a header row. `finding` of a last row says what is not listed.
    func csv() -> String {
      var bytes: [UInt8] = []
      SpreadsheetText.append(["event"] + Self.columns, to: &bytes)
      for event in sortedEvents {
        for row in rows(of: event) { SpreadsheetText.append([event.name] + row, to: &bytes) }
      }
      if let others = budget.text {
        var row = [String](repeating: "", count: Self.columns.count + 1)
        row[3] = "not listed: \(others)"
        SpreadsheetText.append(row, to: &bytes)
      }
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the report for people: the totals, then a table for each event.
    func markdown(of directory: String, since: Timestamp?, until: Timestamp?) -> String {
      var text = "# Contract report\n\n"
      func addTotal(_ label: String, _ value: String) {
        text += "* \(label): \(MarkdownText.escaped(Terminal.printable(value)))\n"
      }
      addTotal("log", directory)
      addTotal("contract", "\(contract.name) \(contract.version)")
      if let since { addTotal("since", since.description) }
      if let until { addTotal("until", until.description) }
      addTotal("first event", times.first?.description ?? "none")
      addTotal("last event", times.last?.description ?? "none")
      addTotal("events", Quantity.count(seen))
      addTotal("violating events", Quantity.count(violating))
      addTotal("violations", Quantity.count(violations))
      if unchecked > 0 { addTotal("not checked", Quantity.count(unchecked)) }
      if let others = budget.text { addTotal("not listed", others) }
      text += "\n" + Self.legend
      for event in sortedEvents { text += section(of: event) }
      return text
    }

    private static let legend = """
      Each count is a number of events. Null counts as no value. The share of a field is that of the events with this
      name, the share of an event is that of all events. Missing: the contract asks for the field. Absent: the contract
      allows that. Defaulted: a default takes the place of the field. Unknown: the contract does not name the field.

      """

    /// Returns the table of an event, without the columns in which there is nothing.
    private func section(of event: ReportedEvent) -> String {
      let rows = rows(of: event)
      let shown = Self.columns.indices.filter { column in
        column < Self.fixedColumns || rows.contains { !["", "0"].contains($0[column]) }
      }
      func line(_ cells: [String]) -> String {
        let kept = shown.map { cells[$0] }.joined(separator: " | ")
        return "| \(kept) |\n"
      }
      var text = "\n## \(MarkdownText.escaped(Terminal.printable(event.name)))\n\n"
      text += "Events: \(Quantity.count(event.seen)), violations: \(Quantity.count(event.violations))\n\n"
      text += line(Self.columns.map { $0.replacing("_", with: " ") })
      text += "|" + String(repeating: "---|", count: shown.count) + "\n"
      for (index, row) in rows.enumerated() {
        var cells = row.map { MarkdownText.escaped(Terminal.printable($0)) }
        if index == 0 { cells[0] = "*the event*" }
        text += line(cells)
      }
      return text
    }
  }

  // MARK: Cells

  private enum SpreadsheetText {
    /// Appends a row as in RFC 4180, but with a newline as the line end, as in the tool's other tables. A cell that a
    /// spreadsheet would take for a formula has an apostrophe before it, which makes it a text. No cell begins with a
    /// tab, which some spreadsheets skip: control characters are escaped.
    static func append(_ cells: [String], to bytes: inout [UInt8]) {
      for (index, cell) in cells.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        let shown = Terminal.printable(cell)
        let isFormula = shown.utf8.first.map { "=+-@".utf8.contains($0) } ?? false
        CSVTable.appendQuoted(Array((isFormula ? "'" + shown : shown).utf8), to: &bytes)
      }
      bytes.append(UInt8(ascii: "\n"))
    }
  }
#endif

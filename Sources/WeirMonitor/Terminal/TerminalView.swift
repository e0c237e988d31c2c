// TerminalView: what a terminal shows, as lines of text with styles, for a given size.

#if Monitor
  import Foundation
  import Weir
  import WeirDelivery

  /// A piece of a line.
  struct TerminalSpan: Equatable {
    enum Style: Equatable {
      case plain
      case bold
      case dim
      /// The selected row, and the lines above and below the list.
      case reverse
      case good
      case warning
      case bad
    }

    var text: String
    var style: Style = .plain
  }

  typealias TerminalLine = [TerminalSpan]

  /// The state of the terminal's monitor. Pure: what happens outside is done by `TerminalMonitor`.
  struct TerminalView {
    enum Mode: Equatable {
      case list
      /// The lines of one event, from the first one shown.
      case details([String], from: Int)
      case sums
      case help
    }

    /// As many rows as a page keeps.
    static let mostRows = 5_000

    var logName: String
    /// The rows by offset.
    private(set) var rows: [TerminalRow] = []
    /// Rows that came while the list stands still.
    private var waiting: [TerminalRow] = []
    /// The offsets of rows that match no more.
    private var leaving = OffsetSet()
    private(set) var isPaused = false
    var isNewestFirst = true
    /// The offset of the selected event; `nil` follows the newest.
    private(set) var selected: Offset?
    var mode = Mode.list
    var filter = ""
    /// The text of the filter while it is edited.
    var edited: String?
    var error = ""
    var providers: [String] = []
    var isLive: Bool?
    private(set) var matched: UInt64 = 0
    /// Whether ``matched`` counts what matches now.
    private var isCounted = true
    /// Whether events match that the list never had.
    private var isCut = false
    private var looked: UInt64 = 0
    private var ahead: UInt64 = 0
    var sums: LogSums?

    init(logName: String) {
      self.logName = ShownText.shown(logName)
    }

    // MARK: What happens

    /// Takes what a look found.
    mutating func take(_ news: EventFeed.News) {
      if let providers = news.providers {
        self.providers = providers
        // The states of other columns. Those of these follow.
        for index in rows.indices { rows[index].forgetStates() }
        for index in waiting.indices { waiting[index].forgetStates() }
      }
      isLive = news.isLive
      matched += news.found.matched
      isCounted = news.isCounted
      isCut = isCut || news.isCut
      looked += news.found.looked
      ahead = news.found.isAtEnd || news.end < news.found.next ? 0 : news.end - news.found.next
      if !news.changes.isEmpty {
        let changes = Dictionary(news.changes.map { ($0.offset, $0.findings) }) { $1 }
        for list in [\Self.rows, \Self.waiting] {
          for index in self[keyPath: list].indices {
            if let findings = changes[self[keyPath: list][index].offset] { self[keyPath: list][index].take(findings) }
          }
        }
      }
      for range in news.gone {
        leaving.insert(range)
        waiting.removeAll { range.contains($0.offset) }
      }
      waiting += (news.late + news.rows).map { TerminalRow($0.event, $0.findings) }
      if !news.late.isEmpty { waiting.sort { $0.offset < $1.offset } }
      if waiting.count > Self.mostRows { waiting.removeFirst(waiting.count - Self.mostRows) }
      if !isPaused { letIn() }
    }

    /// Takes the rows that match no more out of the list, and those that wait in.
    private mutating func letIn() {
      let gone = leaving
      if !gone.ranges.isEmpty { rows.removeAll { gone.contains($0.offset) } }
      leaving = OffsetSet()
      rows += waiting
      waiting = []
      if zip(rows, rows.dropFirst()).contains(where: { $0.offset > $1.offset }) { rows.sort { $0.offset < $1.offset } }
      if rows.count > Self.mostRows { rows.removeFirst(rows.count - Self.mostRows) }
    }

    mutating func clear() {
      rows = []
      waiting = []
      leaving = OffsetSet()
      selected = nil
      matched = 0
      isCut = false
      looked = 0
      ahead = 0
    }

    mutating func pause() {
      isPaused.toggle()
      guard !isPaused else { return }
      letIn()
    }

    /// The rows in the order in which they are shown.
    private var ordered: [TerminalRow] { isNewestFirst ? rows.reversed() : rows }

    /// Moves the selection by so many rows down, or up if negative.
    mutating func move(by count: Int) {
      let ordered = ordered
      guard !ordered.isEmpty else { return }
      let now = ordered.firstIndex { $0.offset == selected } ?? (count > 0 ? -1 : ordered.count)
      selected = ordered[min(max(now + count, 0), ordered.count - 1)].offset
    }

    /// Selects the first row shown, or the last one.
    mutating func moveToEnd(isLast: Bool) { selected = isLast ? ordered.last?.offset : ordered.first?.offset }

    /// Lets the list follow the newest event.
    mutating func follow() { selected = nil }

    // MARK: Lines

    /// The lines of the whole screen.
    func lines(width: Int, height: Int) -> [TerminalLine] {
      guard width > 0, height > 0 else { return [] }
      var lines = [titleLine(width), filterLine(width)]
      let room = max(0, height - 3)
      switch mode {
      case .list: lines += list(width, room)
      case .details(let texts, let from): lines += texts.dropFirst(from).prefix(room).map { [TerminalSpan(text: $0)] }
      case .sums: lines += sumsLines(width).prefix(room)
      case .help: lines += Self.helpLines.prefix(room).map { [TerminalSpan(text: $0)] }
      }
      while lines.count < height - 1 { lines.append([]) }
      lines.append([TerminalSpan(text: ShownText.fitted(keysLine, to: width), style: .reverse)])
      return Array(lines.prefix(height)).map { Self.cut($0, to: width) }
    }

    /// The lines of one frame for a pipe or a file: without colours, keys, or spaces at the end.
    func plainLines(width: Int, height: Int) -> [String] {
      lines(width: width, height: height).dropLast().map { line in
        var text = line.map(\.text).joined()
        while text.last == " " { text.removeLast() }
        return text
      }
    }

    private static func cut(_ line: TerminalLine, to width: Int) -> TerminalLine {
      var left = width
      var cut: TerminalLine = []
      for span in line where left > 0 {
        let own = ShownText.width(of: span.text)
        cut.append(own <= left ? span : TerminalSpan(text: ShownText.fitted(span.text, to: left), style: span.style))
        left -= min(own, left)
      }
      return cut
    }

    private func titleLine(_ width: Int) -> TerminalLine {
      let writer: TerminalSpan =
        switch isLive {
        case true?: TerminalSpan(text: "● live", style: .good)
        case false?: TerminalSpan(text: "■ the writer is gone: showing what survived", style: .warning)
        case nil: TerminalSpan(text: "waiting for a log", style: .dim)
        }
      let shown = UInt64(rows.count)
      let count =
        if isCounted, matched > shown {
          "showing \(Self.count(shown)) of \(Self.count(matched))"
        } else if !isCounted, isCut {
          "\(Self.count(shown)) of those that match"
        } else {
          shown == 1 ? "1 event" : "\(Self.count(shown)) events"
        }
      var texts = [count]
      if ahead > 0 { texts.append("looked at \(Self.count(looked)) of \(Self.count(looked + ahead))") }
      if isPaused { texts.append("paused, \(Self.count(UInt64(waiting.count))) new") }
      return [
        TerminalSpan(text: "Weir \(logName)  ", style: .bold), writer,
        TerminalSpan(text: "  " + texts.joined(separator: " · ")),
      ]
    }

    private func filterLine(_ width: Int) -> TerminalLine {
      if let edited {
        return [TerminalSpan(text: "filter: ", style: .bold), TerminalSpan(text: ShownText.shown(edited) + "▏")]
      }
      if !error.isEmpty { return [TerminalSpan(text: ShownText.shown(error), style: .bad)] }
      return [TerminalSpan(text: filter.isEmpty ? "no filter" : "filter: \(ShownText.shown(filter))", style: .dim)]
    }

    private var keysLine: String {
      switch mode {
      case .list:
        edited == nil
          ? " q end  / filter  j k move  Enter event  p pause  o order  s sums  ? help" : " Enter apply  Esc leave"
      case .details: " Esc back  j k scroll"
      case .sums, .help: " Esc back"
      }
    }

    // MARK: The list

    private static let timeColumns = 12
    private static let flagColumns = 4

    private func list(_ width: Int, _ room: Int) -> [TerminalLine] {
      guard room > 0 else { return [] }
      let states = providers.map { max(3, min(12, ShownText.width(of: $0))) }
      let fixed = Self.timeColumns + Self.flagColumns + states.reduce(0) { $0 + $1 + 1 } + 4
      let left = max(0, width - fixed)
      // On a narrow screen user and view go first.
      let hasContext = left >= 60
      let name = min(28, left * 2 / 5)
      let user = hasContext ? 10 : 0
      let view = hasContext ? 10 : 0
      let fields = max(0, left - name - user - view - (hasContext ? 2 : 0))
      func line(_ cells: [(String, Int, TerminalSpan.Style)]) -> TerminalLine {
        cells.filter { $0.1 > 0 }.map { TerminalSpan(text: ShownText.fitted($0.0, to: $0.1) + " ", style: $0.2) }
      }
      let head: [(String, Int, TerminalSpan.Style)] =
        [
          ("time", Self.timeColumns, .dim), ("name", name, .dim), ("user", user, .dim), ("view", view, .dim),
          ("fields", fields, .dim), ("flag", Self.flagColumns, .dim),
        ] + zip(providers, states).map { (ShownText.shown($0), $1, .dim) }
      let shown = window(of: room - 1)
      let rows = shown.map { row -> TerminalLine in
        let isSelected = row.offset == selected
        func style(_ style: TerminalSpan.Style) -> TerminalSpan.Style { isSelected ? .reverse : style }
        let flags = EventFlag.allCases.filter(row.flags.contains).map(\.letter).joined()
        let cells: [(String, Int, TerminalSpan.Style)] =
          [
            (Self.clock(row.time), Self.timeColumns, style(.dim)), (row.name, name, style(.bold)),
            (row.user, user, style(.plain)), (row.view, view, style(.plain)), (row.fields, fields, style(.plain)),
            (flags, Self.flagColumns, style(.warning)),
          ] + zip(row.states, states).map { state, columns in (state.symbol, columns, style(Self.style(state))) }
        return line(cells)
      }
      let empty: [TerminalLine] = [
        [TerminalSpan(text: filter.isEmpty ? "no event yet" : "no event matches", style: .dim)]
      ]
      return [line(head)] + (rows.isEmpty ? empty : rows)
    }

    /// The rows that are shown: around the selected one, or the newest.
    private func window(of room: Int) -> ArraySlice<TerminalRow> {
      let ordered = ordered
      guard ordered.count > room else { return ordered[...] }
      guard let place = ordered.firstIndex(where: { $0.offset == selected }) else {
        return isNewestFirst ? ordered.prefix(room) : ordered.suffix(room)
      }
      let first = min(max(0, place - room / 2), ordered.count - room)
      return ordered[first..<first + room]
    }

    private static func style(_ state: DeliveryStates.State) -> TerminalSpan.Style {
      switch state {
      case .acknowledged: .good
      case .pending, .given: .warning
      case .rejected: .bad
      case .withheld, .before: .dim
      }
    }

    /// The time of day in Universal Time, to the millisecond.
    private static func clock(_ time: Timestamp) -> String {
      let text = time.description
      guard let start = text.firstIndex(of: "T") else { return text }
      return String(text[text.index(after: start)...].prefix(timeColumns))
    }

    // MARK: Sums and help

    private func sumsLines(_ width: Int) -> [TerminalLine] {
      guard let sums else { return [[TerminalSpan(text: "reading …", style: .dim)]] }
      let statistics = sums.statistics
      var lines: [TerminalLine] = [[TerminalSpan(text: "Events a second, the last 60 s", style: .bold)]]
      for rate in sums.rates {
        let bars = rate.counts.map { Self.bar($0, of: rate.counts.max() ?? 0) }.joined()
        lines.append([
          TerminalSpan(text: ShownText.fitted(ShownText.shown(rate.name ?? "all others"), to: 28) + " "),
          TerminalSpan(text: bars, style: .good), TerminalSpan(text: " \(Self.count(rate.total))"),
        ])
      }
      lines.append([])
      lines.append([TerminalSpan(text: "Ledger by provider", style: .bold)])
      if let error = sums.ledgerError { lines.append([TerminalSpan(text: ShownText.shown(error), style: .bad)]) }
      for entry in sums.ledger.entries {
        let text =
          "\(ShownText.fitted(ShownText.shown(entry.provider), to: 20)) \(Self.count(entry.accepted)) accepted, "
          + "\(Self.count(entry.acknowledged)) acknowledged, \(Self.count(entry.rejected)) rejected, "
          + "\(Self.count(entry.pending)) pending, \(Self.count(entry.lostInAll)) lost"
          + (entry.isBalanced ? "" : ": does not balance")
        lines.append([TerminalSpan(text: text, style: entry.isBalanced ? .plain : .bad)])
      }
      lines.append([])
      let dropped = statistics.dropped.sorted { $0.key.name < $1.key.name }.map {
        "\($0.key.name) \(Self.count($0.value))"
      }
      let facts = [
        "Log: offsets \(statistics.firstOffset) to \(statistics.nextOffset), \(statistics.segments) segments, "
          + "\(Self.count(statistics.totalBytes)) bytes on disk",
        "Refused: \(dropped.isEmpty ? "none" : dropped.joined(separator: ", "))",
        "Lanes: \(statistics.lanesInUse) of \(statistics.lanes) in use, \(Self.count(statistics.laneBytes)) bytes of "
          + "\(Self.count(statistics.laneCapacity &* UInt64(statistics.lanes)))",
      ]
      lines += (facts + sums.recovery + sums.scopes + sums.threads).map { [TerminalSpan(text: ShownText.shown($0))] }
      return lines
    }

    private static func bar(_ count: UInt32, of most: UInt32) -> String {
      let bars = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
      return count == 0 || most == 0 ? " " : bars[Int(UInt64(count) * 7 / UInt64(most))]
    }

    private static func count(_ number: UInt64) -> String {
      var text = ""
      for (place, digit) in String(number).reversed().enumerated() {
        if place > 0, place % 3 == 0 { text.append(",") }
        text.append(digit)
      }
      return String(text.reversed())
    }

    private static let helpLines = [
      "j k ↑ ↓ PgUp PgDn Home End   move the selection; Esc follows the newest again",
      "Enter                        the selected event: fields, journey, bytes",
      "/                            edit the filter: name:checkout.* total>=100 at:http=pending",
      "p or space                   pause; what comes meanwhile is there afterwards",
      "o                            newest first or last",
      "s                            sums: rates, ledger, refusals, lanes",
      "q                            end",
      "",
      "States: ○ pending  ◐ given  ● acknowledged  ✕ rejected  – withheld  · before the provider's start",
      "Flags: V violating  D completed by default  2 duplicate  G gap",
    ]
  }
#endif

// ExportCommand: `weir export`: writes events of a log as one file of JSON lines or one table.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirDelivery

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  enum ExportFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
    case jsonl
    case csv
  }

  struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Write events of a log as JSON lines or as a table.",
      usage: """
        weir export <directory> [--format <format>] [--since <time>]
                        [--until <time>] [--event <name>]... [--columns <names>]
                        [--output <path>] [--show-sensitive]
        """,
      discussion: """
        Changes nothing in the log. Exports the events that weir cat prints: all \
        events, including those still in the lanes of a log whose writer has died. The \
        log's own events, whose names begin with "weir.", are exported only if --event \
        names them.

        Formats:
          jsonl  One object per line, as providers write it: id, offset, time (RFC
                 3339, UTC, nanoseconds), name, kind (if the event has a kind), fields,
                 context (globals, user, view and fields, unless they are empty) and
                 flags (none here). Integers have all their digits, bytes are base64.
          csv    A header row, then one row per event: offset, id, time, name, kind, a
                 column for each field, and one for each part of the context. A nested
                 field is outer.inner (a dot in a name is \\.). A field with the name of
                 another column is fields.NAME. Arrays are JSON. Cells are quoted as in
                 RFC 4180; a row ends with a newline. A missing or null field is an
                 empty cell, an empty text is "". The columns are those of the selected
                 events, for which the log is read twice; --columns reads it once.

        A spreadsheet interprets a text that begins with =, +, - or @ as a formula. \
        Anyone who can make your program capture a text can put a formula into a cell. \
        The cells contain the data as they are: import them as text if the data comes \
        from strangers.

        The values of sensitive fields are written as "[redacted]", in the context too. \
        With --show-sensitive, the values are written as they are.

        --since and --until take a time such as 2026-11-21, 2026-11-21T09:30:00Z or \
        2026-11-21T09:30:00.5+02:00. Events are exported that were captured at or after \
        the first time and before the second. With --output, the file gets its name \
        when it is complete, and then replaces an existing file of that name.

        Damage is skipped: each damaged place is a line on standard error, all events \
        outside it are written, and the exit code is 1.

        Examples:
          weir export events --since 2026-11-20 --until 2026-11-21 --output day.jsonl
          weir export events --format csv --event checkout.completed | duckdb -c "…"
          weir export events --format csv --columns time,order,price.amount
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Option(help: "The output format: jsonl or csv.")
    var format: ExportFormat = .jsonl

    @Option(help: ArgumentHelp("Only events captured at this time or later.", valueName: "time"))
    var since: Instant?

    @Option(help: ArgumentHelp("Only events captured before this time.", valueName: "time"))
    var until: Instant?

    @Option(help: ArgumentHelp("Only events of this name. May be given several times.", valueName: "name"))
    var event: [String] = []

    @Option(help: ArgumentHelp("The columns of the table, separated by commas.", valueName: "names"))
    var columns: String?

    @Option(
      help: ArgumentHelp("The file to write. Standard output if omitted.", valueName: "path"), completion: .file())
    var output: String?

    @Flag(help: "Write sensitive values as they are.")
    var showSensitive = false

    private var columnNames: [String]? {
      columns?.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// The number of bytes of text that are written together.
    private static let bufferBytes = 256 << 10

    func validate() throws {
      if columns != nil, format != .csv { throw ValidationError("--columns needs --format csv; leave --columns out") }
      let names = columnNames ?? []
      // An empty column would say that no event has the field.
      if names.contains("") { throw ValidationError("--columns contains an empty name; remove the empty name") }
      if let name = names.first(where: { name in names.count { $0 == name } > 1 }) {
        throw ValidationError("--columns names \(Terminal.quoted(name)) twice; name each column once")
      }
      if let since, let until, until.timestamp <= since.timestamp {
        throw ValidationError("--until is not after --since, so no events are selected; correct one of them")
      }
    }

    func run() throws {
      let stop = try StopSwitch()
      stop.stopOnSignals()
      // The log is opened first, so that a missing log leaves the output untouched.
      let source = try Source(self, stop)
      let target = try OutputTarget(output)
      var buffer: [UInt8] = []
      func write(ifOver limit: Int) throws {
        guard buffer.count > limit else { return }
        try target.write(buffer)
        buffer.removeAll(keepingCapacity: true)
      }
      switch format {
      case .jsonl:
        let lines = EventLines()
        try source.readEncoded { event in
          lines.append(event, redacts: !showSensitive, to: &buffer)
          buffer.append(UInt8(ascii: "\n"))
          try write(ifOver: Self.bufferBytes)
        }
      case .csv:
        let table = try table(of: source, escapesControls: target.isTerminal)
        buffer = table.header()
        try source.read { event in
          table.append(event, to: &buffer)
          try write(ifOver: Self.bufferBytes)
        }
      }
      if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      try write(ifOver: 0)
      try target.finish()
      if source.isDamaged { throw ExitCode.damaged }
    }

    private func table(of source: Source, escapesControls: Bool) throws -> CSVTable {
      let isEscaped = { (text: String) in escapesControls && text.unicodeScalars.contains(where: Terminal.isControl) }
      if let columnNames { return CSVTable(columnNames, isEscaped: isEscaped) }
      var found = CSVColumns()
      try source.read { event in
        do throws(WeirError) {
          try found.add(event)
        } catch {
          throw ToolError(error.message + ", with --event or --columns")
        }
      }
      return CSVTable(found.names, isEscaped: isEscaped)
    }
  }

  extension ExportCommand {
    /// The selected events. They may be read twice. Both readings give the same events, even if the log grows.
    fileprivate final class Source {
      private let command: ExportCommand
      private let stop: StopSwitch
      private let names: Set<String>
      private var end: Offset?
      private(set) var isDamaged = false
      private var first: EventReader?

      init(_ command: ExportCommand, _ stop: StopSwitch) throws(WeirError) {
        self.command = command
        self.stop = stop
        names = Set(command.event)
        first = try EventReader(directory: command.directory)
      }

      /// Passes each event to `take` until the stop switch is thrown. Events are redacted by default.
      func read(_ take: (StoredEvent) throws -> Void) throws {
        try readEncoded { event in try take(command.showSensitive ? event.stored : event.stored.redacted()) }
      }

      /// Passes each event to `take` until the stop switch is thrown, not redacted.
      func readEncoded(_ take: (EncodedEvent) throws -> Void) throws {
        let reader = try first ?? EventReader(directory: command.directory)
        first = nil
        let isFirstReading = end == nil
        let directory = command.directory
        reader.onSkip = { [self] skip in
          if !skip.isRemoval { isDamaged = true }
          // The second reading finds the same damage again.
          if isFirstReading { writeDiagnostic("\(directory): \(Damage.describe(skip))") }
        }
        var next: Offset = 0
        reading: while !stop.isThrown, let block = try reader.nextBlock(most: 256, bytes: 64 << 10) {
          for index in 0..<block.count {
            let event = block[index]
            if let end, event.offset >= end { break reading }
            next = event.offset + 1
            if isChosen(event) { try take(event) }
          }
        }
        if isFirstReading { end = next }
      }

      private func isChosen(_ event: EncodedEvent) -> Bool {
        let isTheLogsOwn = event.isOfTheLog && event.name != StoredEvent.undefinedName
        guard names.isEmpty ? !isTheLogsOwn : names.contains(event.name) else { return false }
        if let since = command.since, event.time < since.timestamp { return false }
        if let until = command.until, event.time >= until.timestamp { return false }
        return true
      }
    }
  }
#endif

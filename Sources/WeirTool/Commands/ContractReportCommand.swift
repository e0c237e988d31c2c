// ContractReportCommand: `weir contract report`: the fields of a log beside a contract, as tables for a data team.

#if Tool
  import ArgumentParser
  import Weir
  import WeirContracts

  struct ContractReportCommand: ParsableCommand {
    /// How the report is printed.
    enum Format: String, CaseIterable, ExpressibleByArgument, Sendable {
      case markdown
      case csv
    }

    static let configuration = CommandConfiguration(
      commandName: "report",
      abstract: "Report each event and field of a log beside a contract.",
      usage: """
        weir contract report <directory> <contract> [--since <time>]
                                    [--until <time>] [--format <format>]
                                    [--examples <count>] [--show-sensitive]
        """,
      discussion: """
        Reads the whole log and changes nothing. From a live log, the command reads the \
        drained events. Damage is skipped: each damaged place is a line on standard \
        error. The log's own events, whose names begin with "weir.", are left out.

        Formats:
          markdown  The totals, then a table for each event, the most violations first.
                    Columns in which there is nothing are left out.
          csv       One table with a header row, a row for each event and each field.
                    Cells are quoted as in RFC 4180; a row ends with a newline. A cell
                    that begins with =, +, - or @ has an apostrophe before it, so that
                    no spreadsheet takes the cell for a formula.

        Columns:
          event, field      The names. The row without a field is the event's own.
          contract          What the contract has, such as "mandatory integer".
          finding           ok, violations, never seen, unknown event, unknown field,
                            or not in the contract (which allows that).
          seen              Events with the field. Null counts as no value.
          share_percent     Their share of the events of this name; of an event, its
                            share of all events.
          missing           Events without a field that the contract asks for.
          absent            Events without the field, where the contract allows that.
          defaulted         Events in which a default takes the field's place.
          unknown           Events with the field, which the contract does not name.
          wrong_type        Events with a value of another type.
          out_of_range      Events with a value that another rule excludes.
          violated_rules    The violated rules, each with its number of events.
          violating_values  Examples of the values that violate a rule.
          examples          Examples of all values, as JSON, cut to 80 characters.
          first_seen, last_seen, description
        A field is written as in the contract: items[].price, context.globals.app. \
        Fields within an object are listed if the contract has rules for fields of the \
        object. Of the context, the parts that the contract names are listed.

        Sensitive values are shown as "[redacted]". Events and fields beyond 10,000 are \
        counted together, and so are violations beyond 100 of one event: the totals, or \
        the last row of the table, have them as not listed.

        --since and --until take a time such as 2026-11-21, 2026-11-21T09:30:00Z or \
        2026-11-21T09:30:00.5+02:00. Events count that were captured at or after the \
        first time and before the second.

        Exit codes: 0 no violations; 1 violations, or a part of the log is damaged or \
        can't be checked; 2 can't run.

        Examples:
          weir contract report events shop.json > report.md
          weir contract report events shop.json --since 2026-11-20 \\
            --until 2026-11-21 --format csv > day.csv
        """)

    private static let maximumExamples = 100

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Argument(help: "The contract: a JSON or YAML file.", completion: .file())
    var contract: String

    @Option(help: ArgumentHelp("Only events captured at this time or later.", valueName: "time"))
    var since: Instant?

    @Option(help: ArgumentHelp("Only events captured before this time.", valueName: "time"))
    var until: Instant?

    @Option(help: "The output format: markdown or csv.")
    var format: Format = .markdown

    @Option(help: ArgumentHelp("The number of different values of each field: 0 to 100.", valueName: "count"))
    var examples = 3

    @Flag(help: "Print sensitive values as they are.")
    var showSensitive = false

    func validate() throws {
      guard (0...Self.maximumExamples).contains(examples) else {
        throw ValidationError("--examples is \(examples); it must be from 0 to \(Self.maximumExamples)")
      }
      if let since, let until, until.timestamp <= since.timestamp {
        throw ValidationError("--until is not after --since, so no events are selected; correct one of them")
      }
    }

    func run() throws {
      let contract = try ContractSource.compiled(contract)
      let reader = try EventReader(directory: directory)
      let directory = directory
      var isDamaged = false
      reader.onSkip = { skip in
        if !skip.isRemoval { isDamaged = true }
        writeDiagnostic("\(directory): \(Damage.describe(skip))")
      }
      // Read once: an option is kept with all that was parsed, and each read copies all of that.
      let start = since?.timestamp
      let end = until?.timestamp
      let report = FieldReport(contract: contract.contract, examples: examples, showsSensitive: showSensitive)
      while let event = try reader.next() {
        if let start, event.time < start { continue }
        if let end, event.time >= end { continue }
        if event.name == StoredEvent.undefinedName {
          report.addUnchecked()
        } else if !event.name.hasPrefix(EventType.reservedPrefix) {
          report.add(event, contract.check(event))
        }
      }
      switch format {
      case .markdown: try writeOutput(report.markdown(of: directory, since: start, until: end))
      case .csv: try writeOutput(report.csv())
      }
      if report.unchecked > 0 {
        let count = report.unchecked == 1 ? "1 event is" : "\(Quantity.count(report.unchecked)) events are"
        writeDiagnostic("\(directory): \(count) not checked, because the definitions are lost to damage")
      }
      if isDamaged || report.unchecked > 0 { throw ExitCode.damaged }
      if report.violations > 0 { throw ExitCode.violated }
    }
  }
#endif

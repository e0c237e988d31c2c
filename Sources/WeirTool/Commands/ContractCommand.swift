// ContractCommand.swift: `weir contract`: checks a log against a contract, and compares two contracts.

#if Tool
  import ArgumentParser
  import Foundation
  import Glibc
  import Weir
  import WeirContracts

  struct ContractCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "contract",
      abstract: "Hold a log against a contract, or compare two contracts.",
      usage: """
        weir contract check <directory> <contract> [--format <format>]
                                   [--limit <limit>] [--show-sensitive]
        weir contract diff <old> <new> [--format <format>]
        """,
      discussion: """
        A contract says which events there are, which fields they have, and what these \
        may hold. It is a JSON file, or a YAML file (.yaml, .yml) if the tool is built with \
        swift build --traits YAML. The guide Contracts says what stands in it.

        See also: weir help contract check, weir help contract diff.

        Examples:
          weir contract check events shop.json
          weir contract diff released.json shop.json
        """,
      subcommands: [ContractCheckCommand.self, ContractDiffCommand.self])
  }

  struct ContractCheckCommand: ParsableCommand {
    /// How violations are printed.
    enum Format: String, CaseIterable, ExpressibleByArgument, Sendable {
      case text
      case json
      case jsonl
    }

    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Hold the events of a log against a contract.",
      usage: """
        weir contract check <directory> <contract> [--format <format>]
                                   [--limit <limit>] [--show-sensitive]
        """,
      discussion: """
        Reads the whole log and changes nothing. Of a live log it reads what is drained. \
        Damage is passed over, each stretch a line on standard error.

        Formats:
          text   A line for each event, field and rule that was broken, those broken
                 most often first: how often, the first offset, and an example; then
                 those defaults that stand in for missing fields; then the sums.
          json   The same as one object, with the keys kept, contract, version, events,
                 unchecked, violating, violations, defaulted, others, rules (event,
                 field, rule, count, first_offset, example) and defaults (event, field,
                 count, first_offset, default).
          jsonl  An object for each violation in the order of the log: offset, id,
                 event, field, rule, value. A default is one too, with the rule
                 "default" and as value what is filled in. Ends after --limit of them.
        A field is written as in the contract: items[].price. An example or a value is null \
        where nothing was there. Sensitive values are shown as "[redacted]". Of one event at \
        most 100 violations are listed; all are counted. More than 10,000 different ones \
        are counted together, as others.

        Events whose definitions are lost to damage can't be checked: they are counted as \
        unchecked and a line on standard error tells of them; where nothing else is against \
        the contract, kept is null then.

        Exit codes: 0 nothing is against the contract; 1 something is, or a part of the \
        log is damaged or can't be checked; 2 can't run.

        Examples:
          weir contract check events shop.json
          weir contract check events shop.json --format jsonl | jq -r .field
        """)

    @Argument(help: "The log's directory.")
    var directory: String

    @Argument(help: "The contract: a JSON or YAML file.")
    var contract: String

    @Option(help: "How it is printed: text, json or jsonl.")
    var format: Format = .text

    @Option(help: "How many lines, or objects of rules and of defaults, to print at most. All if it is left out.")
    var limit: Int?

    @Flag(help: "Print sensitive values as they are.")
    var showSensitive = false

    func validate() throws {
      if let limit, limit < 0 { throw ValidationError("--limit is \(limit); it must not be negative") }
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
      var report = ContractReport(contract: contract.contract, showSensitive: showSensitive)
      var printed = 0
      var buffer: [UInt8] = []
      while let event = try reader.next() {
        if event.name == StoredEvent.undefinedName {
          report.addUnchecked()
          continue
        }
        if event.isNotice { continue }
        let outcome = contract.check(event)
        report.add(outcome, of: event)
        guard format == .jsonl else { continue }
        ViolationLine.append(outcome, of: event, showSensitive: showSensitive, limit: limit, &printed, to: &buffer)
        if buffer.count >= 64 << 10 { try write(&buffer) }
        if let limit, printed >= limit, report.violations > 0 { break }
      }
      switch format {
      case .text: try writeOutput(report.text(of: directory, limit: limit))
      case .json: try writeOutput(report.json(limit: limit))
      case .jsonl: try write(&buffer)
      }
      if report.unchecked > 0 {
        let count = report.unchecked == 1 ? "1 event is" : "\(Quantity.count(report.unchecked)) events are"
        writeDiagnostic("\(directory): \(count) not checked, for the definitions are lost to damage")
      }
      if isDamaged || report.unchecked > 0 { throw ExitCode.damaged }
      if report.violations > 0 { throw ExitCode.violated }
    }

    private func write(_ buffer: inout [UInt8]) throws {
      do { try writeAll(buffer, to: STDOUT_FILENO) } catch { throw ToolError(writing: error) }
      buffer.removeAll(keepingCapacity: true)
    }
  }

  struct ContractDiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Print what differs between two contracts, and what of it breaks.",
      usage: "weir contract diff <old> <new> [--format <format>]",
      discussion: """
        A line for each difference: whether it breaks something, event, field, what, and \
        what it means. Breaking is what may flag an event that was right under the old \
        contract: a mandatory field without a default, values that are not allowed any \
        more, a narrower range or length, another type or pattern, a field or event that is \
        gone; and a field that was sensitive and is not any more. What is not sure to break \
        nothing counts as breaking.

        Exit codes: 0 nothing breaks; 1 something does; 2 can't run.

        Keys with --format json:
          breaking  how many of the changes are
          changes   an array of objects with the keys what, event, field, breaking
                    and why

        Examples:
          weir contract diff released.json shop.json
          git show main:shop.json >old.json; weir contract diff old.json shop.json
        """)

    @Argument(help: "The old contract: a JSON or YAML file.")
    var old: String

    @Argument(help: "The new contract: a JSON or YAML file.")
    var new: String

    @Option(help: "How it is printed: text or json.")
    var format: SchemaFormat = .text

    func run() throws {
      let report = DiffReport(
        try ContractSource.compiled(old).changes(to: ContractSource.compiled(new)))
      try writeOutput(format == .json ? try Table.json(report) : report.text)
      if report.breaking > 0 { throw ExitCode.breaking }
    }
  }
#endif

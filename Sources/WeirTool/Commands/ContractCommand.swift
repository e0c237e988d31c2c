// ContractCommand: `weir contract` and `weir contract check`: checks a log against a contract.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirContracts

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  struct ContractCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "contract",
      abstract: "Check a log against a contract; compare, approve and convert contracts.",
      usage: """
        weir contract check <directory> <contract> [--format <format>]
                                   [--limit <limit>] [--show-sensitive]
        weir contract report <directory> <contract> [--since <time>]
                                   [--until <time>] [--format <format>]
                                   [--examples <count>] [--show-sensitive]
        weir contract diff <old> <new> [--approvals <file>] [--format <format>]
        weir contract approve <old> <new> --approvals <file> --by <name>
                                   [--reason <reason>] [--breaking]
        weir contract schema <contract> [--output <output>]
        weir contract swift <contract> [--access <access>] [--output <output>]
        """,
      discussion: """
        A contract defines events, their fields, and the values that the fields may \
        have. A contract is a JSON file, or a YAML file (.yaml, .yml) if the tool is \
        built with swift build --traits YAML. The guide Contracts describes the format.

        See also: weir help contract check, weir help contract diff, and so on.

        Examples:
          weir contract check events shop.json
          weir contract report events shop.json > report.md
          weir contract diff released.json shop.json
        """,
      subcommands: [
        ContractCheckCommand.self, ContractReportCommand.self, ContractDiffCommand.self, ContractApproveCommand.self,
        ContractSchemaCommand.self, ContractSwiftCommand.self,
      ])
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
      abstract: "Check the events of a log against a contract.",
      usage: """
        weir contract check <directory> <contract> [--format <format>]
                                   [--limit <limit>] [--show-sensitive]
        """,
      discussion: """
        Reads the whole log and changes nothing. From a live log, the command reads the \
        drained events. Damage is skipped: each damaged place is a line on standard \
        error.

        Formats:
          text   A line for each event, field and violated rule, the most frequent
                 first: the count, the first offset, and an example. Then a line for
                 each default that was used for a missing field. Then the totals.
          json   The same as one object, with the keys kept, contract, version, events,
                 unchecked, violating, violations, defaulted, others, rules (event,
                 field, rule, count, first_offset, example) and defaults (event, field,
                 count, first_offset, default).
          jsonl  An object for each violation in the order of the log: offset, id,
                 event, field, rule, value. A default is an object too, with the rule
                 "default" and the default as value. Ends after --limit objects.
        A field is written as in the contract: items[].price, context.globals.app. An \
        example or a value is null if the event has no value. Sensitive values are shown \
        as "[redacted]". At most 100 violations of one event are listed; all are \
        counted. Different violations beyond 10,000 are counted together, as others.

        Events whose definitions are lost to damage can't be checked. They are counted \
        as unchecked, and a line on standard error reports them. If there are no \
        violations, kept is then null.

        Exit codes: 0 no violations; 1 violations, or a part of the log is damaged or \
        can't be checked; 2 can't run.

        Examples:
          weir contract check events shop.json
          weir contract check events shop.json --format jsonl | jq -r .field
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Argument(help: "The contract: a JSON or YAML file.", completion: .file())
    var contract: String

    @Option(help: "The output format: text, json or jsonl.")
    var format: Format = .text

    @Option(help: "The maximum number of lines, or of objects of rules and of defaults. All if omitted.")
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
        writeDiagnostic("\(directory): \(count) not checked, because the definitions are lost to damage")
      }
      if isDamaged || report.unchecked > 0 { throw ExitCode.damaged }
      if report.violations > 0 { throw ExitCode.violated }
    }

    private func write(_ buffer: inout [UInt8]) throws {
      do { try writeAll(buffer, to: STDOUT_FILENO) } catch { throw ToolError(writing: error) }
      buffer.removeAll(keepingCapacity: true)
    }
  }

#endif

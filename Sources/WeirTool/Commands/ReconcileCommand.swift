// ReconcileCommand: `weir reconcile`: holds a log against a control, event by event.

#if Tool
  import ArgumentParser
  import Foundation
  import Glibc
  import Weir
  import WeirDelivery
  import WeirReconcile

  extension ControlForm: ExpressibleByArgument {}

  struct ReconcileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "reconcile",
      abstract: "Hold a log against a control, event by event.",
      usage: """
        weir reconcile <directory> --against <path> [--form <form>]
                        [--key <fields>] [--tolerance <time>] [--late <time>]
                        [--ignore <pattern>]... [--clean <pattern=steps>]...
                        [--band <pattern=share>]... [--plan <plan>]
                        [--name <name>] [--foreign-id <field>] [--memory <size>]
                        [--scratch <directory>] [--json | --markdown]
                        [--show-sensitive]
        """,
      discussion: """
        The control is what another SDK, or a vendor, has of the same events: a file of \
        JSON Lines, a table with a header (.csv), or a log that a Control recorded. Every event of both sides gets a verdict, and every event that is on \
        one side only gets the reason, where an account of the log knows one.

        Events match, in this order:
          id          The control carries Weir's id: as id, in the vendor's id if
                      Weir delivered the event, or in the field weir_id.
          foreign_id  Both sides carry an id of another program: see --foreign-id.
          content     The name, the user and the fields of --key are equal, and the
                      times are within --tolerance. n equal events match n.

        Verdicts: identical, differing (by field: value, type, null, missing, truncated, \
        order), only_here (in the log), only_there (in the control), duplicate_here, \
        duplicate_there; of those that match also late and out_of_order (of one user, or \
        of one thread without a user); and unknown: on one side only, and nothing says why.

        --clean makes values alike on both sides: steps are trim, lowercase, round:DIGITS, \
        null (null and missing are alike) and untyped (41 and "41" are alike).

        The exit code is 1 if, of the events of a name, a larger share than --band allows \
        is differing, duplicate or unknown, or if a line of the control can't be read. \
        Without a band no event may be.

        Memory is bounded; scratch files take about 100 bytes an event.

        Examples:
          weir reconcile events --against control.jsonl --key order
          weir reconcile events --against export.jsonl --form mixpanel \\
            --plan plan.json --name mixpanel
          weir reconcile events --against control.jsonl --ignore 'sent_*' \\
            --clean 'email=trim,lowercase' --band 'page_*=0.02' --json
        """)

    @Argument(help: "The log's directory.")
    var directory: String

    @Option(help: ArgumentHelp("The control's file, or its log.", valueName: "path"))
    var against: String

    @Option(help: "The form of the control's lines. Told from each line if omitted.")
    var form: ControlForm?

    @Option(help: ArgumentHelp("Fields that tell events of a name and user apart.", valueName: "fields"))
    var key: String?

    @Option(
      help: ArgumentHelp("How far apart the times of a match by content may be: 5s.", valueName: "time"),
      transform: TimeSpan.init(parsing:))
    var tolerance: TimeSpan?

    @Option(
      help: ArgumentHelp("How much later the control has a late event: 10m.", valueName: "time"),
      transform: TimeSpan.init(parsing:))
    var late: TimeSpan?

    @Option(help: ArgumentHelp("Fields that are not compared; @user is the user.", valueName: "pattern"))
    var ignore: [String] = []

    @Option(help: ArgumentHelp("Changes of values before they are compared.", valueName: "pattern=steps"))
    var clean: [String] = []

    @Option(help: ArgumentHelp("The share of a name's events that may differ.", valueName: "pattern=share"))
    var band: [String] = []

    @Option(help: "The plan whose provider led to the control: events are mapped by it.")
    var plan: String?

    @Option(help: "The provider that led to the control: its accounts give reasons.")
    var name: String?

    @Option(help: ArgumentHelp("The log's field with an id of another program.", valueName: "field"))
    var foreignId: String?

    @Option(help: ArgumentHelp("The memory for matching: 512M.", valueName: "size"))
    var memory: ByteCount?

    @Option(help: ArgumentHelp("The directory for scratch files. Default: TMPDIR.", valueName: "directory"))
    var scratch: String?

    @Flag(help: "Print the report as one JSON object.")
    var json = false

    @Flag(help: "Print the report as Markdown.")
    var markdown = false

    @Flag(help: "Show sensitive values in examples as they are.")
    var showSensitive = false

    private struct Band {
      var names: TextPattern
      var share: Double
    }

    func validate() throws {
      if json, markdown { throw ValidationError("choose one of --json and --markdown") }
      if plan != nil, name == nil { throw ValidationError("--plan needs --name: which provider led to the control") }
      _ = try rules
      _ = try bands
    }

    private var rules: ComparisonRules {
      get throws {
        var rules = ComparisonRules()
        rules.keyFields = key?.split(separator: ",").map(String.init) ?? []
        if let tolerance { rules.tolerance = tolerance.nanoseconds }
        if let late { rules.lateAfter = late.nanoseconds }
        rules.ignored = ignore.map { TextPattern($0) }
        rules.cleanings = try clean.map { text in
          let (pattern, steps) = try Self.pair(text, "--clean", "'email=trim,lowercase'")
          return .init(pattern, try steps.split(separator: ",").map { try Self.step(String($0)) })
        }
        return rules
      }
    }

    private var bands: [Band] {
      get throws {
        try band.map { text in
          let (pattern, share) = try Self.pair(text, "--band", "'page_*=0.02'")
          guard let share = Double(share), (0...1).contains(share) else {
            throw ValidationError("--band \(text) has no share from 0 to 1; write for example 'page_*=0.02'")
          }
          return Band(names: TextPattern(pattern), share: share)
        }
      }
    }

    private static func pair(_ text: String, _ option: String, _ example: String) throws -> (String, String) {
      guard let sign = text.lastIndex(of: "="), sign > text.startIndex else {
        throw ValidationError("\(option) \(text) has no =; write for example \(example)")
      }
      return (String(text[..<sign]), String(text[text.index(after: sign)...]))
    }

    private static func step(_ text: String) throws -> ComparisonRules.Step {
      switch text {
      case "trim": return .trim
      case "lowercase": return .lowercase
      case "null": return .nullIsMissing
      case "untyped": return .untyped
      default:
        guard text.hasPrefix("round:"), let digits = Int(text.dropFirst(6)), (0...15).contains(digits) else {
          throw ValidationError(
            "there is no step \(Terminal.quoted(text)); steps are trim, lowercase, round:DIGITS, null, untyped")
        }
        return .round(digits: digits)
      }
    }

    func run() throws {
      var options = Reconciliation.Options()
      options.rules = try rules
      options.form = form
      options.provider = name
      options.foreignID = foreignId
      if let memory { options.memoryBytes = Int(clamping: memory.bytes) }
      options.showsSensitive = showSensitive
      if let plan {
        let entries = try PlanSource.plan(plan).routed.entries
        guard let entry = entries.first(where: { $0.name == name }) else {
          let names = entries.map(\.name).joined(separator: ", ")
          throw ToolError("the plan has no provider \(name ?? ""); there are \(names)")
        }
        options.entry = entry
      }
      let reconciliation = try Reconciliation(log: directory, against: against, options: options)
      let folder = try ScratchDirectory(in: scratch)
      defer { folder.remove() }
      let report = try reconciliation.run(scratch: folder.path) { step in
        if isatty(STDERR_FILENO) == 1 { writeDiagnostic("\(step) …") }
      }
      if json {
        try writeOutput(ReportJSON.text(report) + "\n")
      } else {
        let lines = ReportText(report, isMarkdown: markdown).text.split(
          separator: "\n", omittingEmptySubsequences: false)
        try writeOutput(lines.map { Terminal.printable(String($0)) }.joined(separator: "\n"))
      }
      if try report.unreadable > 0 || !outside(report).isEmpty { throw ExitCode(1) }
    }

    /// The names of whose events too many differ.
    private func outside(_ report: ReconciliationReport) throws -> [String] {
      let bands = try bands
      return report.byName.filter { name, counts in
        let bad = [.differing, .duplicateHere, .duplicateThere, .unknown].reduce(0) { $0 + counts[$1] }
        let all = [.identical, .differing, .onlyHere, .onlyThere].reduce(0) { $0 + counts[$1] }
        let share = bands.first { $0.names.matches(name) }?.share ?? 0
        return Double(bad) > share * Double(max(all, 1))
      }.map(\.key)
    }
  }

  extension TimeSpan {
    /// As much as a time can be.
    fileprivate var nanoseconds: Int64 {
      let (product, isOver) = Int64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
      return isOver ? .max : product
    }
  }
#endif

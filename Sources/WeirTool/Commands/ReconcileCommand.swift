// ReconcileCommand: `weir reconcile`: holds a log against a control, event by event.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirDelivery
  import WeirReconcile

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  struct ReconcileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "reconcile",
      abstract: "Hold a log against a control, event by event.",
      usage: """
        weir reconcile <directory> --against <path> [--and-again <path>]
                        [--form <form>] [--zone <zone>] [--key <fields>]
                        [--tolerance <time>] [--late <time>]
                        [--ignore <pattern>]... [--clean <pattern=steps>]...
                        [--band <pattern=share>]... [--plan <plan>]
                        [--name <name>] [--foreign-id <field>] [--memory <size>]
                        [--scratch <directory>] [--every <time>] [--delay <time>]
                        [--json | --markdown] [--show-sensitive]
        """,
      discussion: """
        The control is what another SDK, or a vendor, has of the same events: a file of \
        JSON Lines, a table with a header (.csv), or a log that a Control recorded. Every \
        event of both sides gets a verdict, and every event that is on one side only gets \
        the reason, where an account of the log knows one.

        Events match, in this order:
          id          The control carries Weir's id: as id, in the vendor's id if
                      Weir delivered the event, or in the field weir_id.
          foreign_id  Both sides carry an id of another program: see --foreign-id.
          content     The name, the user and the fields of --key are equal, and the
                      times are within --tolerance. n equal events match n.

        Verdicts: identical, differing (by field: value, type, null, missing, truncated, \
        order), noise (see --and-again), only_here (in the log), only_there (in the \
        control), duplicate_here, duplicate_there; of those that match also late and \
        out_of_order (of one user, or of one thread without a user); and unknown: on one \
        side only, and nothing says why.

        With --and-again, a second control that got the same events, a field is blamed \
        only if it differs more often than the two controls differ from each other (beyond \
        an interval of 99 %). Events that differ in no field that is blamed are noise.

        --clean makes values alike on both sides: steps are trim, lowercase, round:DIGITS, \
        null (null and missing are alike) and untyped (41 and "41" are alike).

        The exit code is 1 if, of the events of a name, a larger share than --band allows \
        is differing, duplicate or unknown, or if a line of the control can't be read. \
        Without a band no event may be.

        Memory is bounded; scratch files take about 200 bytes an event. If the command is \
        killed, the same command goes on behind the reading of both sides, if that was done. Sealed segments that \
        two copies of a log have in common are told by their checksums, and not read.

        With --every, the log and the control may be written meanwhile: each interval is \
        compared once, --delay after its end, and has a report of its own (with --json, a \
        line). The command runs until it is stopped, and the exit code tells of no report.

        Examples:
          weir reconcile events --against control.jsonl --key order
          weir reconcile events --against export.jsonl --form mixpanel \\
            --plan plan.json --name mixpanel
          weir reconcile events --against control.jsonl --ignore 'sent_*' \\
            --clean 'email=trim,lowercase' --band 'page_*=0.02' --json
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Option(help: ArgumentHelp("The control's file, or its log.", valueName: "path"), completion: .file())
    var against: String

    @Option(
      help: ArgumentHelp("A second control, for the control's own noise.", valueName: "path"), completion: .file())
    var andAgain: String?

    @Option(
      help: ArgumentHelp(
        "The form of the control's lines: \(forms). Told from each line if omitted.", valueName: "form"),
      completion: .list(ControlForm.allCases.map(\.rawValue)), transform: form)
    var form: ControlForm?

    @Option(help: "The zone of the control's times that have none. Universal Time if omitted.")
    var zone: String?

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

    @Option(help: "The plan whose provider led to the control: events are mapped by it.", completion: .file())
    var plan: String?

    @Option(help: "The provider that led to the control: its accounts give reasons.")
    var name: String?

    @Option(help: ArgumentHelp("The log's field with an id of another program.", valueName: "field"))
    var foreignId: String?

    @Option(help: ArgumentHelp("The memory for matching: 512M.", valueName: "size"))
    var memory: ByteCount?

    @Option(
      help: ArgumentHelp("The directory for scratch files. Default: TMPDIR.", valueName: "directory"),
      completion: .directory)
    var scratch: String?

    @Option(
      help: ArgumentHelp("Compare one interval after another, such as 1m.", valueName: "time"),
      transform: TimeSpan.init(parsing:))
    var every: TimeSpan?

    @Option(
      help: ArgumentHelp("With --every: how long the control may take: 2m.", valueName: "time"),
      transform: TimeSpan.init(parsing:))
    var delay: TimeSpan?

    @Flag(help: "Print the report as one JSON object.")
    var json = false

    @Flag(help: "Print the report as Markdown.")
    var markdown = false

    @Flag(help: "Show sensitive values in examples as they are.")
    var showSensitive = false

    func validate() throws {
      if json, markdown { throw ValidationError("choose one of --json and --markdown") }
      if plan != nil, name == nil { throw ValidationError("--plan needs --name: which provider led to the control") }
      if let every, every.seconds == 0 { throw ValidationError("--every is 0; write for example 1m") }
      if let memory, memory.bytes < 16 << 20 {
        throw ValidationError("--memory is \(memory.bytes) bytes; write 16M or more")
      }
      if form != nil, against.lowercased().hasSuffix(".csv") {
        throw ValidationError("--form is for JSON Lines; a table has its own header")
      }
      if let key, key.split(separator: ",").isEmpty { throw ValidationError("--key \(key) names no field") }
      if delay != nil, every == nil { throw ValidationError("--delay needs --every") }
      if every != nil, andAgain != nil {
        throw ValidationError("--and-again is for one comparison of all events; leave out --every")
      }
      _ = try rules
    }

    private var rules: ComparisonRules {
      get throws {
        var rules = ComparisonRules()
        rules.keyFields = key?.split(separator: ",").map(String.init) ?? []
        if let tolerance { rules.tolerance = tolerance.duration }
        if let late { rules.lateAfter = late.duration }
        rules.ignored = ignore
        rules.cleanings = try clean.map { text in
          let (pattern, steps) = try Self.pair(text, "--clean", "'email=trim,lowercase'")
          if steps.isEmpty { throw ValidationError("--clean \(text) names no step") }
          return .init(pattern, try steps.split(separator: ",").map { try Self.step(String($0)) })
        }
        rules.bands = try band.map { text in
          let (pattern, share) = try Self.pair(text, "--band", "'page_*=0.02'")
          guard let share = Double(share), (0...1).contains(share) else {
            throw ValidationError("--band \(text) has no share from 0 to 1; write for example 'page_*=0.02'")
          }
          return .init(pattern, share: share)
        }
        return rules
      }
    }

    private static let forms = ControlForm.allCases.map(\.rawValue).joined(separator: ", ")

    private static func form(_ text: String) throws -> ControlForm {
      guard let form = ControlForm(rawValue: text) else {
        throw ValidationError("there is no form \(Terminal.quoted(text)); the forms are \(forms)")
      }
      return form
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
      options.zone = zone
      options.provider = name
      options.foreignID = foreignId
      options.again = andAgain
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
      options.scratch = scratch
      if let every { return try run(every: every.duration, options) }
      let isShown = isatty(STDERR_FILENO) == 1
      defer { if isShown { Self.draw("") } }
      let report = try Reconciliation(log: directory, against: against, options: options).run { step in
        if isShown { Self.draw("\(step) …") }
      }
      try Self.print(report, asJSON: json, asMarkdown: markdown)
      if !report.passes { throw ExitCode(1) }
    }

    /// Replaces the line that shows the progress.
    private static func draw(_ text: String) { try? writeAll(Array("\r\u{1B}[K\(text)".utf8), to: STDERR_FILENO) }

    /// Compares until the command is stopped.
    private func run(every interval: Duration, _ options: Reconciliation.Options) throws {
      // What is missing is said now, and not after the first interval.
      _ = try Reconciliation(log: directory, against: against, options: options)
      let stop = try StopSwitch()
      stop.stopOnSignals()
      let ended = Alarm()
      let (log, control, delay) = (directory, against, delay?.duration ?? .seconds(120))
      let (json, markdown) = (json, markdown)
      let task = Task {
        defer { ended.ring() }
        try await Reconciliation.run(
          log: log, against: control, options: options, every: interval, delay: delay
        ) { try Self.print($0, asJSON: json, asMarkdown: markdown) }
      }
      stop.ring(ended)
      ended.block(until: nil, DeliveryClock(ContinuousClock()))
      task.cancel()
      do { try waitForEnd { try await task.value } } catch is CancellationError {}
      if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
    }

    private static func print(_ report: ReconciliationReport, asJSON json: Bool, asMarkdown markdown: Bool) throws {
      if json { return try writeOutput(report.json + "\n") }
      let lines = (markdown ? report.markdown : report.text).split(separator: "\n", omittingEmptySubsequences: false)
      try writeOutput(lines.map { Terminal.printable(String($0)) }.joined(separator: "\n"))
    }
  }
#endif

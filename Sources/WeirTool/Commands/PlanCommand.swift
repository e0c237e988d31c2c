// PlanCommand: `weir plan`: checks a delivery plan, and shows what each provider would get of an event.

#if Tool
  import ArgumentParser
  import Weir
  import WeirDelivery
  import WeirJSON

  struct PlanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "plan",
      abstract: "Check a delivery plan, or show what each provider would get.",
      usage: """
        weir plan check <plan>
        weir plan show <plan> <directory> <event> [--name <name>]
        weir plan schema
        """,
      discussion: """
        A delivery plan defines the providers of a log, what each provider gets, and \
        where each provider is. A plan is a JSON file, or a YAML file (.yaml, .yml) if \
        the tool is built with swift build --traits YAML. The guide Plans describes the \
        format.

        See also: weir help plan check, weir help plan show, weir help \
        plan schema, weir help deliver.

        Examples:
          weir plan check plan.json
          weir plan show plan.json events 4711
        """,
      subcommands: [PlanCheckCommand.self, PlanShowCommand.self, PlanSchemaCommand.self])
  }

  struct PlanCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Check a delivery plan.",
      discussion: """
        Prints the plan as it is understood, with all defaults of the plan applied to \
        each provider, as JSON. Each problem is a line on standard error, with the line \
        of the file, if the line is known, and the place in the plan. Keys and \
        certificates are not read. The exit code is 2 if the plan has problems.
        """)

    @Argument(help: "The plan.", completion: .file())
    var plan: String

    func run() throws {
      try writeOutput(String(decoding: PlanSource.deliverablePlan(plan).json(), as: UTF8.self))
    }
  }

  struct PlanSchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "schema",
      abstract: "Print the JSON Schema of delivery plans.",
      discussion: """
        Prints a JSON Schema (draft 2020-12), for editors. weir plan check finds more: \
        what a schema can't say, and the line of each problem.

        Example:
          weir plan schema >plan.schema.json
        """)

    func run() throws { try writeOutput(DeliveryPlan.jsonSchema) }
  }

  struct PlanShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show what each provider of a plan would get of an event.",
      discussion: """
        Prints one JSON object for each provider, one per line: {"provider":"…"} with \
        one of the keys gets (the event in the provider's form, as it would be a part of \
        a request or a line of a file), withheld (true: the plan withholds the event) or \
        rejected (why the provider can't accept the event). Nothing is delivered, and \
        keys are not read: a pseudonym is shown as [pseudonym]. An event is not compared \
        with its neighbours, so no event is flagged as a duplicate here.
        """)

    @Argument(help: "The plan.", completion: .file())
    var plan: String

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Argument(help: "The event's offset or id, as for weir journey.")
    var event: EventArgument

    @Option(help: "Show this provider only.")
    var name: String?

    func run() throws {
      let plan = try PlanSource.deliverablePlan(plan).routed
      let entries = plan.entries.filter { name == nil || $0.name == name }
      guard !entries.isEmpty else {
        let names = plan.entries.map(\.name).joined(separator: ", ")
        throw ToolError("the plan has no provider \(name ?? ""); there are \(names)")
      }
      let log = LogDirectory(directory)
      // Preparation redacts what the plan does not exempt.
      let stored =
        switch event {
        case .offset(let offset): try log.journey(at: offset, showsSensitive: true).event
        case .id(let id): try log.journey(of: id, showsSensitive: true).event
        }
      for entry in entries { try writeOutput(try Self.line(entry, stored)) }
    }

    private static func line(_ entry: DeliveryPlan.Entry, _ stored: StoredEvent) throws -> String {
      let opening = #"{"provider":"\#(entry.name)","#
      switch try PlanPreview(entry, stored) {
      case .gets(let bytes): return opening + #""gets":"# + String(decoding: bytes, as: UTF8.self) + "}\n"
      case .withheld: return opening + "\"withheld\":true}\n"
      case .rejected(let reason):
        var text: [UInt8] = []
        EventJSON().append(reason, to: &text)
        return opening + #""rejected":"# + String(decoding: text, as: UTF8.self) + "}\n"
      }
    }
  }
#endif

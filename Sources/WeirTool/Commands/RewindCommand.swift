// RewindCommand: `weir rewind`: sets a provider back, so that events are delivered again.

#if Tool
  import ArgumentParser
  import Weir
  import WeirDelivery

  struct RewindCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rewind",
      abstract: "Set a provider back, so that events are delivered again.",
      discussion: """
        Moves the provider's position in the log back. The next delivery under this \
        name begins there: every event from there on is delivered again, with the same \
        id. Nothing is delivered now.

        The ledger of weir stat counts anew from the position, and says that the \
        provider was rewound. Dead letters stay. Events that were removed from the log \
        can't be delivered again.

        A position after the first event that is not settled is refused, because the \
        events in between would never be delivered. While somebody delivers under the \
        name, the command is refused as locked.

        Examples:
          weir rewind events shop --to beginning
          weir rewind events shop --to offset:4711
          weir rewind events shop --to 2026-11-21T09:30:00Z
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Argument(help: "The provider's name, as weir stat shows it.")
    var name: String

    @Option(
      help: "The position: beginning, offset:N, or a time such as 2026-11-21T09:30:00Z.",
      transform: StartArgument.init(parsing:))
    var to: StartArgument

    func run() throws {
      guard try LogFamily.isLog(directory) else { throw ToolError("\(directory) holds no log; name a log's directory") }
      let rewind = try LogDirectory(directory).rewind(name, to: to.position)
      let count = Quantity.count(rewind.from - min(rewind.to, rewind.from))
      try writeReport(
        "\(name) is rewound from offset \(rewind.from) to \(rewind.to): \(count) offsets are delivered again\n")
    }
  }
#endif

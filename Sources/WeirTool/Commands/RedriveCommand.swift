// RedriveCommand: `weir redrive`: delivers rejected events to a provider again.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirDelivery

  struct RedriveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "redrive",
      abstract: "Deliver a provider's dead letters again.",
      discussion: """
        Run this command after the cause of the rejections has been repaired, at the \
        provider or by an option of weir deliver such as another preset. Each dead \
        letter is delivered once more, with the id of its event. A dead letter that is \
        rejected again stays among the dead letters, and is not delivered a third time. \
        Nothing is removed. The command may be killed at any moment and run again, and \
        may run beside the delivery of new events. A second redrive is refused as \
        locked. SIGINT and SIGTERM end the command in order, with the report; a second \
        signal ends it at once.

        The exit codes are those of weir deliver.

        Examples:
          weir dead-letters events shop
          weir redrive events shop --to http://localhost:8080 --preset segment
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Argument(help: "The provider's name, as weir stat shows it.")
    var name: String

    @OptionGroup var provider: ProviderOptions

    @Option(help: "The maximum time of the delivery, such as 90s or 10m.", transform: TimeSpan.init(parsing:))
    var budget: TimeSpan?

    private static let longest = Duration.seconds(365 * 86_400)
    /// How long the command may take to end after a signal: twice the time that a provider has to return.
    private static let patience: UInt64 = 12_000_000_000

    func run() throws {
      // Not in validate(): ArgumentParser calls it before it reports unknown options, such as a mistyped --to.
      guard provider.to.count == (provider.planFile == nil ? 1 : 0) || provider.to.count == 1, provider.names.isEmpty
      else {
        throw ValidationError("give one --to or --plan, and no --name; the second argument is the name")
      }
      guard !provider.batches else {
        throw ToolError("dead letters are events, and no batch segments; leave out --batches")
      }
      guard try LogFamily.isLog(directory) else { throw ToolError("\(directory) holds no log; name a log's directory") }
      let stop = try StopSwitch()
      stop.stopOnSignals()
      let start = MonotonicTime.now.nanoseconds
      var named = provider
      named.names = [name]
      try named.validate()
      guard let (provider, options) = try ProviderSource(named).providers(for: directory).first else { return }
      let log = LogDirectory(directory)
      let budget = budget?.duration ?? Self.longest
      let redriving = Task {
        var configuration = Dispatcher.Configuration()
        configuration.logger = nil
        return try await log.redrive(
          to: provider, options: options, configuration: configuration, timeout: budget)
      }
      let isDone = Latch()
      Task {
        _ = await redriving.result
        isDone.set()
      }
      while !isDone.isSet, !stop.isThrown { stop.sleep(milliseconds: 20) }
      if !isDone.isSet {
        redriving.cancel()
        let end = MonotonicTime.now.nanoseconds + Self.patience
        while !isDone.isSet, MonotonicTime.now.nanoseconds < end { Thread.sleep(forTimeInterval: 0.02) }
        // A provider that does not return is abandoned. The last settled events may be delivered again, as after a
        // kill.
        if !isDone.isSet, case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      }
      let report = try waitForEnd { try await redriving.value }
      let outcome = DeliveryOutcome(
        log: directory, entries: [DeliveryOutcome.Entry(report)], nanoseconds: MonotonicTime.now.nanoseconds - start)
      for line in outcome.lines { try writeReport(line + "\n") }
      for complaint in outcome.complaints { writeDiagnostic(complaint) }
      if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      if outcome.exitCode != .success { throw outcome.exitCode }
    }
  }
#endif

// DeliverCommand.swift: `weir deliver`: delivers the events of a log that were not delivered before, to a URL or into
// files.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirDelivery

  struct DeliverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "deliver",
      abstract: "Deliver a log's events to a URL or into files.",
      discussion: """
        Gives every event at least once, in order, and goes on where it was the next \
        time: its place is kept in the log's directory, in cursors/NAME, and moves only \
        when the provider has answered. Killed at any moment it loses nothing; what \
        was not settled comes again, with the same id. What a provider rejects is \
        kept as dead letters: see weir dead-letters and weir redrive.

        What a program does to its events on their way (defaults of a contract, derived \
        fields, hooks, mappers) is not done here. Sensitive values are replaced.

        It works beside a live writer, and after its death. It takes no lock but that of \
        its own name: a second one of the same name is refused as locked. It removes \
        nothing from the log, which its writer does if it is told to: weir record \
        --remove-delivered.

        If DIRECTORY holds no log, but directories that do, as the processes of a \
        pre-fork server leave them, these are delivered one after another. Logs whose \
        process is dead are recovered first, so that what is in their lanes goes too. \
        The last lines say which are delivered to the end; --remove-delivered removes \
        of these the ones whose process is dead, as a whole, unless somebody else is yet \
        to get something, or dead letters, damaged bytes, violations or anything that is \
        no part of a log are in it.

        Nobody has to read what it prints: it goes on, and its exit code tells how it \
        ended, where standard output was closed on the way.

        A trouble is told once, and delivery tried again, with pauses up to 5 minutes: \
        --budget bounds that. A provider that takes nothing before somebody mends \
        something (404, a wrong key, a proxy's page) stops: it is told at once, and again \
        each hour. It is tried again now and then while others go on, and with --follow; \
        otherwise weir ends when all that are left have stopped. weir stat shows it too. \
        SIGINT and SIGTERM end it in order, a second one at once.

        Presets for URLs: json posts an array of objects {"id","offset","time","name",\
        "fields","context","flags"}, jsonl the same a line each, the others what the \
        vendors take; a URL without a path gets the vendor's. Keys come from a file or \
        the environment, never from the command line.

        Exit codes, the gravest reason first: 130 and 143 ended by a signal, 2 could not \
        begin, 6 the provider takes nothing before somebody mends something (a wrong \
        key or address), 5 events are pending, 4 the provider rejected events, 1 \
        events were damaged or removed before they were delivered, 0 all are delivered.

        Examples:
          weir deliver events --to out
          weir deliver events --to http://localhost:8080 --preset segment --key-env KEY
          weir deliver events --to out --follow
          weir deliver /var/lib/workers --to out --remove-delivered
        """)

    @Argument(help: "The log's directory, or one whose subdirectories hold logs.")
    var directory: String

    @OptionGroup var provider: ProviderOptions

    @Option(
      help: """
        Where a name begins that has no place in the log yet: beginning, end, or a time such as 2026-11-21T09:30:00Z \
        (default: beginning).
        """,
      transform: StartArgument.init(parsing:))
    var from = StartArgument.beginning

    @Flag(help: "Go on as events come, until SIGINT or SIGTERM.")
    var follow = false

    @Option(help: "End after so long with what is pending, such as 90s or 10m.", transform: TimeSpan.init(parsing:))
    var budget: TimeSpan?

    @Flag(help: "Remove the directories of dead processes' logs that are delivered to the end.")
    var removeDelivered = false

    func validate() throws {
      guard !provider.to.isEmpty else { throw ValidationError("--to is missing: give a URL or a path") }
    }

    func run() throws {
      let stop = try StopSwitch()
      stop.stopOnSignals()
      let deadline = budget.map { ContinuousClock.now + $0.duration }
      let source = try ProviderSource(provider)
      let codes: [ExitCode]
      if try LogFamily.isLog(directory) {
        guard !removeDelivered else {
          throw ToolError("--remove-delivered is for a directory of logs; \(directory) is one, which its owner removes")
        }
        codes = [try deliver(directory, source, deadline, stop).exitCode]
      } else {
        guard !follow else { throw ToolError("--follow goes with one log; \(directory) holds several") }
        codes = try deliverFamily(source, deadline, stop)
      }
      if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      let code = DeliveryOutcome.gravest(codes)
      if code != .success { throw code }
    }

    private func deliver(
      _ log: String, _ source: ProviderSource, _ deadline: ContinuousClock.Instant?, _ stop: StopSwitch
    ) throws -> DeliveryOutcome {
      let providers = try source.providers()
      let options = Self.options(from.position)
      let outcome = try waitForEnd { [follow] in
        let run = try await DeliveryRun(log: log, to: providers, options)
        return await run.end(follows: follow, deadline: deadline, stop: stop)
      }
      for line in outcome.lines { try writeReport(line + "\n") }
      for complaint in outcome.complaints { writeDiagnostic(complaint) }
      return outcome
    }

    /// Larger batches than in a program, which delivers its events soon. Here the events are already in the log.
    static func options(_ start: DeliveryOptions.Start) -> DeliveryOptions {
      var options = DeliveryOptions()
      options.start = start
      options.flush.maximumEvents = 5_000
      options.flush.maximumBytes = 4 << 20
      return options
    }

    // MARK: Several logs

    private func deliverFamily(
      _ source: ProviderSource, _ deadline: ContinuousClock.Instant?, _ stop: StopSwitch
    ) throws -> [ExitCode] {
      let family = try LogFamily(directory)
      var codes: [ExitCode] = []
      var delivered: [String] = []
      for complaint in family.complaints {
        writeDiagnostic(complaint)
        codes.append(.cannotRun)
      }
      for log in family.logs where !stop.isThrown {
        do throws(WeirError) {
          tell(try LogFamily.takeOver(log), log)
        } catch {
          writeDiagnostic(error.message)
          codes.append(.cannotRun)
          continue
        }
        do {
          let outcome = try deliver(log, source, deadline, stop)
          codes.append(outcome.exitCode)
          if outcome.isEmpty { delivered.append(log) }
        } catch let error as WeirError {
          writeDiagnostic(error.message)
          codes.append(.cannotRun)
        }
      }
      for log in delivered where !stop.isThrown { try end(log, source) }
      return codes
    }

    private func tell(_ takeover: LogFamily.Takeover, _ log: String) {
      let log = Terminal.printable(log)
      switch takeover {
      case .live: writeDiagnostic("\(log) is live: delivered beside its writer")
      case .inOrder: return
      case .recovered(let events):
        writeDiagnostic("\(log) was left by a dead process: recovered, \(Quantity.count(events)) events from its lanes")
      }
    }

    private func end(_ log: String, _ source: ProviderSource) throws {
      let shown = Terminal.printable(log)
      guard removeDelivered else { return try writeReport("\(shown) is delivered to the end\n") }
      let names = source.addresses.map(\.name)
      if let reason = try LogRemoval.remove(log, deliveredTo: names) {
        try writeReport("\(shown) is delivered to the end, and stays: \(reason)\n")
      } else {
        try writeReport("\(shown) is delivered to the end, and removed\n")
      }
    }
  }
#endif

// DeliverCommand: `weir deliver`: delivers the events of a log that were not delivered before, to a URL or into
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
        Delivers every event at least once, in order. The next run continues where the \
        last run ended: the position is kept in the log's directory, in cursors/NAME, \
        and advances only when the provider has answered. A kill at any moment loses \
        nothing: events that were not settled are delivered again, with the same ids. \
        Events that a provider rejects are kept as dead letters: see weir dead-letters \
        and weir redrive.

        A delivery plan (--plan) names the providers, and says what is done to the events \
        of each: contract, derived fields, mapper, options. A program and this command \
        deliver the same events with the same plan: see weir help plan. Without a plan, \
        only sensitive values are replaced. The program's dispatcher records in the log \
        what it does to the events of each provider, and so does this command where no \
        program did. If the plan of this command differs from the program's, or if the \
        program has closures, which no file can hold, the command refuses to deliver in \
        the provider's name, unless --anyway is given. After a delivery by this command, \
        the plan may change, but not lose what keeps something from the provider: \
        pseudonyms, redaction, a contract, or a step that leaves fields out or shortens \
        addresses.

        The command may run beside a live writer, or after the writer's death. The \
        command locks only the provider's name: a second delivery under the same name \
        is refused as locked. The command removes nothing from the log. The writer \
        removes delivered segments if it is told to: weir record --remove-delivered.

        If DIRECTORY holds no log, but has subdirectories that hold logs, as the \
        processes of a pre-fork server leave them, these logs are delivered one after \
        another. Logs of dead processes are recovered first, so that the events in \
        their lanes are delivered too. The last lines name the logs that are completely \
        delivered. Of these, --remove-delivered removes the directories whose process \
        is dead. A directory is kept if another provider has pending events, or if it \
        contains dead letters, damaged bytes, violations or anything that is no part of \
        a log.

        With --batches, batch segments leave whole, as the LZ4 files that weir batch and \
        weir record --batch-threads make: no event is decoded, so this is the fastest way \
        out of a log. A path gets LOG/FIRST.weir.lz4 for each segment, which every weir \
        command reads as a log; a URL gets a PUT of each, which weir collect checks and \
        keeps at /batches. Events arrive as they were captured, with the same ids, and \
        with the sensitive values that other deliveries replace: --as-captured says that \
        the destination may have them. A plan with a mapper, routes, pseudonyms or a \
        contract is refused. A segment leaves once it is sealed: beside a live writer, \
        the events in the segment that is being filled stay pending.

        If the reader of standard output goes away, delivery continues, and the exit \
        code tells how it ended.

        A problem is reported once, and delivery is tried again, with pauses up to 5 \
        minutes; --budget limits the time. A provider stops if it accepts nothing until \
        somebody repairs something (404, a wrong key, a proxy's page). The stop is \
        reported at once, and again every hour. While other providers continue, and \
        with --follow, a stopped provider is tried again from time to time. Otherwise \
        the command ends when all remaining providers have stopped. weir stat shows \
        stopped providers too. SIGINT and SIGTERM end the command in order; a second \
        signal ends it at once.

        Presets for URLs: json posts an array of objects \
        {"id","offset","time","name","kind","fields","context","flags"}, jsonl posts the same \
        objects, one per line, and the other presets post the form of their vendor. A \
        URL without a path gets the vendor's path. Keys are read from a file or from \
        the environment, never from the command line.

        Exit codes, the most serious first: 130 and 143 ended by a signal, 2 could not \
        begin, 6 a provider accepts nothing until somebody repairs something (a wrong \
        key or address), 5 events are pending, 4 the provider rejected events, 1 events \
        were damaged or removed before they were delivered, 0 all events are delivered.

        Examples:
          weir deliver events --to out
          weir deliver events --to http://localhost:8080 --preset segment --key-env KEY
          weir deliver events --to out --follow
          weir deliver events --plan plan.json
          weir deliver events --to /mnt/archive --batches --as-captured
          weir deliver /var/lib/workers --to out --remove-delivered
        """)

    @Argument(help: "The log's directory, or a directory whose subdirectories hold logs.", completion: .directory)
    var directory: String

    @OptionGroup var provider: ProviderOptions

    @Option(
      help: """
        Where a provider begins that has no position in the log yet: beginning, end, offset:N, or a time such as \
        2026-11-21T09:30:00Z (default: the plan's, or beginning). To set a provider back that has a position, see weir \
        rewind.
        """,
      transform: StartArgument.init(parsing:))
    var from: StartArgument?

    @Flag(help: "Deliver new events as they arrive, until SIGINT or SIGTERM.")
    var follow = false

    @Option(help: "The maximum time of the delivery, such as 90s or 10m.", transform: TimeSpan.init(parsing:))
    var budget: TimeSpan?

    @Flag(help: "Remove the logs of dead processes that are completely delivered.")
    var removeDelivered = false

    func run() throws {
      // Not in validate(): ArgumentParser calls it before it reports unknown options, such as a mistyped --to.
      guard !provider.to.isEmpty || provider.planFile != nil else {
        throw ValidationError("--to is missing; give a URL, a path, or a plan with --plan")
      }
      let family = try LogFamily.isLog(directory) ? nil : LogFamily(directory)
      if follow, let family { throw family.refusal(of: "--follow", at: directory) }
      let stop = try StopSwitch()
      stop.stopOnSignals()
      let deadline = budget.map { ContinuousClock.now + $0.duration }
      let source = try ProviderSource(provider, start: from?.position)
      let codes: [ExitCode]
      if let family {
        codes = try deliverFamily(family, source, deadline, stop)
      } else {
        guard !removeDelivered else {
          throw ToolError("--remove-delivered needs a directory of logs; \(directory) is a log; leave the option out")
        }
        // Only what is sealed leaves as a file.
        if source.takesBatches { tell(try LogFamily.takeOver(directory), directory) }
        codes = [try deliver(directory, source, deadline, stop).exitCode]
      }
      if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      let code = DeliveryOutcome.gravest(codes)
      if code != .success { throw code }
    }

    private func deliver(
      _ log: String, _ source: ProviderSource, _ deadline: ContinuousClock.Instant?, _ stop: StopSwitch
    ) throws -> DeliveryOutcome {
      let providers = try source.providers(for: log)
      let outcome = try waitForEnd { [follow] in
        let run = try await DeliveryRun(log: log, to: providers)
        return await run.end(follows: follow, deadline: deadline, stop: stop)
      }
      for line in outcome.lines { try writeReport(line + "\n") }
      for complaint in outcome.complaints { writeDiagnostic(complaint) }
      return outcome
    }

    // MARK: Several logs

    private func deliverFamily(
      _ family: LogFamily, _ source: ProviderSource, _ deadline: ContinuousClock.Instant?, _ stop: StopSwitch
    ) throws -> [ExitCode] {
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
      case .live: writeDiagnostic("\(log) has a live writer: delivering beside the writer")
      case .inOrder: return
      case .recovered(let events):
        writeDiagnostic("\(log) has no live writer: recovered, with \(Quantity.count(events)) events from its lanes")
      }
    }

    private func end(_ log: String, _ source: ProviderSource) throws {
      let shown = Terminal.printable(log)
      guard removeDelivered else { return try writeReport("\(shown) is completely delivered\n") }
      if let reason = try LogRemoval.remove(log, deliveredTo: source.names) {
        try writeReport("\(shown) is completely delivered, and kept: \(reason)\n")
      } else {
        try writeReport("\(shown) is completely delivered, and removed\n")
      }
    }
  }
#endif

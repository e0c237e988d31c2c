// WeirTool: the command `weir`, its subcommands and its exit codes. Every error is one line on standard error
// that says what is wrong, where, and what to do. The exit code tells scripts how the command ended.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "weir",
      abstract: "Record events so that no kill loses them, and read them back.",
      discussion: """
        A log is a directory. One process at a time records into a log. Any number of \
        processes may read a log, during the recording or after the writer has died, \
        without changing the log.

        Examples:
          weir demo                                     a demonstration, under a minute
          weir record events access.log --format clf    record a web server's log
          tail -F app.log | weir record events          record lines as they arrive
          weir cat events --limit 10                    print ten events as JSON
          weir cat events --follow                      print events as they arrive
          weir export events --format csv               write a table for a spreadsheet
          weir verify events && weir stat events        check every byte; summarise
          weir schema events                            print the event types
          weir contract check events shop.json          check events against a contract
          weir deliver events --to http://localhost:8080   deliver the events
          weir deliver events --plan plan.json          deliver as the program does
          weir journey events 4711                      print one event's journey
          weir monitor events                           watch the events in a browser
          weir reconcile events --against export.jsonl  compare with a vendor's export
          weir collect collected --port 4100            receive events as vendors do

        Exit codes:
          0    success; or the reader of standard output has closed it (cat)
          1    damage: a part of the log can't be read (verify, cat, export, schema,
               contract check, contract report, dead-letters, batch); or events were
               damaged or removed before they were delivered (deliver, redrive,
               record --to); or events violate the contract (contract check, contract
               report); or there are breaking changes (schema diff, contract diff), or
               changes that nobody approved (contract diff --approvals); or more
               events differ from a control than its bands allow (reconcile)
          2    can't run: bad arguments, no such log, no permission, locked
          3    the disk is full; the events in the log are kept
          4    events of the input were refused as too large (record), or a provider
               rejected events (deliver, redrive, record --to)
          5    events are pending (deliver, redrive, record --to)
          6    a provider accepts nothing until somebody repairs a key, an address or
               the like (deliver, redrive, record --to), or a broker gives nothing
               (collect --until-end)
          130  ended by SIGINT; the log was closed in order
          143  ended by SIGTERM; the log was closed in order
          141  acknowledgements can't be written; the log was closed in order (record)
        """,
      version: weirVersion,
      subcommands: [
        RecordCommand.self, CatCommand.self, ExportCommand.self, VerifyCommand.self, RecoverCommand.self,
        StatCommand.self, SchemaCommand.self, ContractCommand.self, PlanCommand.self, DeliverCommand.self,
        RedriveCommand.self, RewindCommand.self,
        DeadLettersCommand.self, JourneyCommand.self, MonitorCommand.self, ReconcileCommand.self, CollectCommand.self,
        FleetCommand.self, BatchCommand.self, DemoCommand.self,
      ])

    static func main() {
      // If the reader closes the pipe, the write must fail, and the process must not end, because a log is open. The
      // same applies to a file that reaches its size limit (ulimit -f).
      signal(SIGPIPE, SIG_IGN)
      signal(SIGXFSZ, SIG_IGN)
      do {
        var command = try parseAsRoot()
        try command.run()
      } catch {
        end(with: error)
      }
    }

    /// Prints the error, if it has a message, and exits with its code.
    private static func end(with error: any Error) -> Never {
      switch error {
      case let error as ToolError:
        if !error.message.isEmpty { writeDiagnostic(error.message) }
        Foundation.exit(error.code.rawValue)
      case let error as WeirError:
        writeDiagnostic(error.message)
        Foundation.exit(error.exitCode.rawValue)
      case let code as ExitCode:
        Foundation.exit(code.rawValue)
      default:
        endParsing(with: error)
      }
    }

    /// Prints the help, the version, or what is wrong with the arguments, and exits. ArgumentParser throws all of these
    /// as errors. Its text for wrong arguments has several lines, which become one line.
    private static func endParsing(with error: any Error) -> Never {
      if exitCode(for: error).isSuccess {
        try? writeAll(Array((fullMessage(for: error) + "\n").utf8), to: STDOUT_FILENO)
        Foundation.exit(0)
      }
      let lines = message(for: error).split(separator: "\n", omittingEmptySubsequences: true)
      let text = lines.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
      writeDiagnostic(
        "\(text.hasSuffix(".") ? String(text.dropLast()) : text); see weir --help, or weir COMMAND --help")
      Foundation.exit(ExitCode.cannotRun.rawValue)
    }
  }

  /// Runs the tool with the arguments of the process, and ends the process.
  package func runTool() {
    RootCommand.main()
  }
#endif

// MonitorCommand: `weir monitor`: shows a log live, in a browser.

#if Tool
  import ArgumentParser
  import Foundation
  import Synchronization
  import Weir
  import WeirDelivery
  import WeirMonitor
  import WeirReconcile

  struct MonitorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "monitor",
      abstract: "Show a log live: each event, and what became of it.",
      usage: """
        weir monitor <directory> [--port <port>] [--host <host>] [--allow-remote]
                        [--no-browser] [--plan <plan>] [--against <path>]
                        [--key <fields>] [--show-sensitive]
        weir monitor <directory> --terminal [--once] [--filter <terms>]
                        [--log <name>] [--plan <plan>] [--show-sensitive]
        """,
      discussion: """
        Serves a page on this machine and prints its address, with a token, as the first \
        line. Where there is a desktop, the page is opened in the browser. The page \
        shows each event as it is captured, with its state at each provider; filters, \
        searches and exports events; shows one event's whole journey, and the log in \
        numbers. The command changes nothing, and may run beside a live writer and live \
        deliveries, or on the log of a dead process. It runs until SIGINT or SIGTERM.

        DIRECTORY is a log, or a directory with logs in its subdirectories. It need not \
        be there yet: the page waits for it.

        The address works once: the browser then has a cookie, for twelve hours, which \
        stays valid if the command is started again on the same port. For another \
        browser, the command prints another address. From another machine, use a \
        tunnel: ssh -L 4400:127.0.0.1:4400 HOST. With --host and --allow-remote, other \
        machines can reach the page without a tunnel, not encrypted, and still with the \
        token alone.

        With --terminal, the events are shown in this terminal, over ssh too: press ? for \
        the keys. With --once, one frame is printed as text, of the size of the terminal, \
        or of COLUMNS and LINES; a filter then has looked at the whole log.

        With --plan, an event's details show what each provider of the plan gets of it, \
        as weir plan show does; sensitive values are replaced all the same.

        With --against, the page Differences holds the log against a control, event by \
        event, as weir reconcile does; --key is the same. The log is compared when the page \
        is opened, and not more often than once a minute.

        The log of a collector (weir collect --from) has a page Fleet, which shows what \
        weir fleet does.

        The values of sensitive fields are shown as "[redacted]", also to filters and \
        exports. With --show-sensitive, the values are shown as they are.

        Examples:
          weir monitor events
          weir monitor /var/lib/shop --port 4400
          weir monitor events --against control --key order
          weir monitor events --terminal --filter 'at:*=rejected'
          weir monitor events --terminal --once | head -20
        """)

    @Argument(help: "The log's directory, or a directory with logs.", completion: .directory)
    var directory: String

    @Option(help: "The port to listen on; 0 for any free port.")
    var port = 0

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Flag(help: "Allow an address that other machines can reach.")
    var allowRemote = false

    @Flag(help: "Show sensitive values as they are.")
    var showSensitive = false

    @Flag(help: "Do not open the page in a browser.")
    var noBrowser = false

    @Option(help: "Show what each provider of this plan gets of an event.", completion: .file())
    var plan: String?

    @Option(help: ArgumentHelp("A control to hold the log against.", valueName: "path"), completion: .file())
    var against: String?

    @Option(help: ArgumentHelp("With --against: fields that tell events apart.", valueName: "fields"))
    var key: String?

    @Flag(help: "Show the events in this terminal.")
    var terminal = false

    @Flag(help: "With --terminal: print one frame, and end.")
    var once = false

    @Option(help: ArgumentHelp("With --terminal: a filter, such as 'name:checkout.* total>=100'.", valueName: "terms"))
    var filter = ""

    @Option(help: ArgumentHelp("With --terminal: which of the logs in the directory.", valueName: "name"))
    var log: String?

    func validate() throws {
      guard !terminal else {
        if port != 0 || host != "127.0.0.1" || allowRemote || noBrowser || against != nil {
          throw ValidationError(
            "--port, --host, --allow-remote, --no-browser and --against are for the page; leave out --terminal")
        }
        return
      }
      if key != nil, against == nil { throw ValidationError("--key needs --against") }
      if once { throw ValidationError("--once needs --terminal") }
      if !filter.isEmpty { throw ValidationError("--filter needs --terminal; the page has a field for filters") }
      if log != nil { throw ValidationError("--log needs --terminal; the page has a list of the logs") }
    }

    #if Monitor
      func run() throws {
        let stop = try StopSwitch()
        stop.stopOnSignals()
        if terminal { return try runInTerminal(stop) }
        let configuration = try configuration()
        let monitor = try Self.explained { try Monitor(directory: directory, configuration: configuration) }
        let ended = Alarm()
        let task = Task {
          defer { ended.ring() }
          try await monitor.run()
        }
        stop.ring(ended)
        ended.block(until: nil, DeliveryClock(ContinuousClock()))
        task.cancel()
        try Self.explained { try waitForEnd { try await task.value } }
        if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      }

      private func runInTerminal(_ stop: StopSwitch) throws {
        let monitor = try TerminalMonitor(
          directory: directory, log: log, filter: filter, showsSensitive: showSensitive, preview: try preview
        ) { stop.isThrown }
        if once {
          let size = TerminalSize.current
          let lines = try monitor.frame(width: size.columns, height: size.lines)
          try writeOutput(lines.map { $0 + "\n" }.joined())
        } else {
          try monitor.run()
        }
        if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      }

      /// What each provider of the plan gets of an event; `nil` without a plan.
      private var preview: (@Sendable (StoredEvent) -> [(provider: String, text: String)])? {
        get throws {
          guard let plan else { return nil }
          var entries = try PlanSource.deliverablePlan(plan).routed.entries
          // What the monitor does not show must not come in through a plan that does not redact.
          for index in entries.indices where !showSensitive { entries[index].options.redactsSensitive = true }
          return { [entries] event in entries.map { ($0.name, Self.text($0, event)) } }
        }
      }

      private static func text(_ entry: DeliveryPlan.Entry, _ event: StoredEvent) -> String {
        do {
          switch try PlanPreview(entry, event) {
          case .gets(let bytes): return String(decoding: bytes, as: UTF8.self)
          case .withheld: return "nothing: the plan withholds the event"
          case .rejected(let reason): return "nothing: the provider can't accept the event: \(reason)"
          }
        } catch {
          return "\(error)"
        }
      }

      private func configuration() throws -> Monitor.Configuration {
        var configuration = Monitor.Configuration()
        configuration.preview = try preview
        if let against {
          let log = directory
          var options = Reconciliation.Options()
          options.rules.keyFields = key?.split(separator: ",").map(String.init) ?? []
          options.showsSensitive = showSensitive
          let page = DifferencesPage { [options] () throws(WeirError) in
            try Reconciliation(log: log, against: against, options: options).run()
          }
          configuration.pages.append(LinkedPage("differences") { page.html })
        }
        configuration.pages.append(FleetPage(directory).linked)
        configuration.port = port
        configuration.host = host
        configuration.allowsRemote = allowRemote
        configuration.showsSensitive = showSensitive
        configuration.keyFile = Self.keyFile
        let opens = Atomic(!noBrowser)
        configuration.onAddress = { address in
          try? writeReport(address + "\n")
          // The second address is for another browser.
          if opens.exchange(false, ordering: .relaxed) { DesktopBrowser.open(address) }
        }
        return configuration
      }

      /// The state of this user's programs, as freedesktop.org places it. Without a home, sessions end with the
      /// command.
      private static var keyFile: String? {
        let environment = ProcessInfo.processInfo.environment
        let state = environment["XDG_STATE_HOME"] ?? environment["HOME"].map { $0 + "/.local/state" }
        return state.flatMap { $0.hasPrefix("/") ? $0 + "/weir/monitor-key" : nil }
      }

      /// Runs `body`, and names the options in the monitor's errors.
      private static func explained<Value>(_ body: () throws -> Value) throws -> Value {
        do {
          return try body()
        } catch let error as WeirError where error.code == .invalid || error.code == .io {
          throw ToolError(
            error.message.replacing("allow remote readers", with: "use --allow-remote")
              .replacing("choose another port", with: "choose another --port")
              .replacing("choose another host", with: "choose another --host"))
        }
      }
    #else
      func run() throws {
        throw ToolError(
          "this build of weir has no monitor; build it with swift build -c release --traits Tool,Monitor --product weir"
        )
      }
    #endif
  }
#endif

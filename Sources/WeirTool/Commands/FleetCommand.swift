// FleetCommand: `weir fleet`: shows how each log is doing that a collector reads from a broker.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirFleet

  struct FleetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "fleet",
      abstract: "Show the hosts whose logs a collector reads from a broker.",
      discussion: """
        Reads the file fleet.json, which weir collect --from keeps in the directory of the \
        collecting log, about once a second while parts come. Everything in it is from \
        the headers of the parts. Changes nothing.

        Columns, a line for each log:
          HOST      the host's name; LOG, the first half of the log's id
          STARTS    openings: how often the host's process began
          EVENTS    events that were collected
          PENDING   events at the host behind its last part, and their bytes
          AGE       how long the oldest of these has waited, at least
          LAG       from the capture of the last event to its arrival here
          SEEN      the time since the last part
          MISSING   offsets that never came: see weir collect
          VERSION   of Weir, at the host

        Keys with --json: written, behind, trouble, and rows with host, log, opening, \
        openings, events, bytes, next, missing, pending, last_event, taken and version. \
        Times are nanoseconds since 1970.

        Examples:
          weir fleet collected
          weir fleet collected --follow
          weir fleet collected --json | jq '.rows[] | select(.missing > 0)'
        """)

    @Argument(help: "The directory of the collecting log.", completion: .directory)
    var directory: String

    @Flag(help: "Show the table again each second, until SIGINT.")
    var follow = false

    @Flag(help: "Print one JSON object.")
    var json = false

    @Option(help: "Show only so many logs: those with the most events pending.")
    var top: Int?

    func validate() throws {
      guard !(json && follow) else { throw ValidationError("--json and --follow exclude each other") }
      guard top ?? 1 >= 1 else { throw ValidationError("--top must be at least 1") }
    }

    func run() throws {
      let stop = try StopSwitch()
      if follow { stop.stopOnSignals() }
      repeat {
        guard var status = FleetStatus.read(in: directory) else {
          throw ToolError(
            "\(directory) has no \(FleetStatus.fileName); name the directory of a log that weir collect --from fills")
        }
        if let top {
          status.rows = Array(status.rows.sorted { $0.pending > $1.pending }.prefix(top))
        }
        if follow, isatty(STDOUT_FILENO) == 1 { try writeOutput("\u{1B}[H\u{1B}[J") }
        try writeOutput(json ? try Table.json(status) : FleetTable.text(status, at: Timestamp.now.nanosecondsSince1970))
        if follow { stop.sleep(milliseconds: 1_000) }
      } while follow && !stop.isThrown
      if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
    }
  }

  /// What is shown of a fleet: a line for each log, and sums.
  enum FleetTable {
    static let head = ["HOST", "LOG", "STARTS", "EVENTS", "PENDING", "AGE", "LAG", "SEEN", "MISSING", "VERSION"]

    static func text(_ status: FleetStatus, at now: Int64) -> String {
      let lines = lines(status, at: now).map { $0.map { Terminal.printable($0) } }
      return Table.columns([head] + lines) + sums(status, at: now).map { Terminal.printable($0) + "\n" }.joined()
    }

    static func lines(_ status: FleetStatus, at now: Int64) -> [[String]] {
      status.rows.map { row in
        [
          row.host, String(row.log.prefix(8)), Quantity.count(row.openings), Quantity.count(row.events),
          row.pending == 0 ? "0" : "\(Quantity.count(row.pending)), \(Quantity.bytes(row.pendingBytes))",
          row.pending == 0 ? "-" : text(row.pendingAge(at: now)), text(row.lag),
          text(FleetStatus.span(from: row.taken, to: now)),
          Quantity.count(row.missing), row.version,
        ]
      }
    }

    /// One line, and a second one if nothing is collected.
    static func sums(_ status: FleetStatus, at now: Int64) -> [String] {
      let events = status.rows.reduce(0) { $0 &+ $1.events }
      var text = "\(Quantity.count(UInt64(status.rows.count))) logs, \(Quantity.count(events)) events"
      if let behind = status.behind { text += "; \(Quantity.count(behind)) messages at the broker" }
      text += "; written \(self.text(FleetStatus.span(from: status.written, to: now))) ago"
      return [text] + (status.trouble.map { ["nothing is collected: \($0)"] } ?? [])
    }

    private static func text(_ nanoseconds: Int64) -> String { Quantity.seconds(UInt64(max(0, nanoseconds))) }
  }
#endif

// Command: the command. `FleetBench --help` says what it takes.

#if Tool && NATS
  import ArgumentParser

  @main
  struct Command: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "FleetBench",
      abstract: "Measures hosts that deliver through NATS JetStream, beside producers without a log.",
      discussion: """
        Each subcommand is a number of hosts in one process. All make the same events, in bursts, at a rate or as fast \
        as the bounds let them. A line of JSON a second says how many events there were so far, and how many the \
        broker has acknowledged. The last line has the totals. Tests/Fleet/fleet_bench.py runs the subcommands in \
        turns, against a cluster whose nodes are killed.
        """,
      subcommands: [HostsCommand.self, PlainCommand.self])
  }

  /// What the hosts of either kind do.
  struct Load: ParsableArguments {
    @Option(help: "The servers: nats://host:port,host:port.")
    var servers: String

    @Option(help: "The stream.")
    var stream = "events"

    @Option(help: "The number of hosts.")
    var hosts = 100

    @Option(help: "The number of the first host: host-0017 is the host with the number 17.")
    var first = 0

    @Option(help: "For how many seconds events are made.")
    var seconds = 30

    @Option(help: "Events a second of all hosts together; 0 for as many as the bounds allow.")
    var rate = 0

    @Option(help: "Events that a host makes at a time.")
    var burst = 500

    @Option(help: "For how many seconds the rest may be delivered afterwards.")
    var rest = 30

    func validate() throws {
      for (name, value, least) in [
        ("--hosts", hosts, 1), ("--first", first, 0), ("--seconds", seconds, 1), ("--rate", rate, 0),
        ("--burst", burst, 1), ("--rest", rest, 0),
      ] where value < least {
        throw ValidationError("\(name) must be at least \(least)")
      }
    }

    /// The names of the hosts.
    var names: [String] {
      (first..<first + hosts).map { number in "host-" + String("0000\(number)".suffix(4)) }
    }
  }
#else
  @main
  struct Command {
    static func main() { print("FleetBench: built without the traits Tool and NATS") }
  }
#endif

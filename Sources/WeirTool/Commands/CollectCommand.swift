// CollectCommand: `weir collect`: an endpoint on this machine that accepts batches as the vendors do.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirCollector
  import WeirContracts

  struct CollectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "collect",
      abstract: "Receive events over HTTP or from a broker, and store them.",
      usage: """
        weir collect <directory> [--port <port>] [--host <host>]
                            [--allow-remote] [--durability <durability>]
                            [--contract <file>] [--max-bytes <size>]
                            [--fail <faults>] [--seed <seed>]
        weir collect <directory> --from <broker> [--stream <stream>]
                            [--user <user>] [--key-file <file>]
                            [--max-bytes <size>] [--remove-delivered]
                            [--keep-repetitions] [--until-end]
        """,
      discussion: """
        For tests of delivery, and as the end of a developer's local pipeline. Listens \
        on 127.0.0.1, prints the address on standard output, and runs until SIGINT or \
        SIGTERM. Any key is accepted, and no key is needed. Bodies may be compressed \
        with gzip.

        Accepts POST at:
          /v1/batch, /v1/track …   Segment
          /import, /engage         Mixpanel
          /2/httpapi, /batch       Amplitude
          /batch, /capture         PostHog
          /mp/collect              Google Analytics 4; /debug/mp/collect keeps nothing
          /?query=INSERT…          ClickHouse, FORMAT JSONEachRow
          /v1/logs                 OpenTelemetry logs, OTLP as JSON
          /events                  Weir's own form, an array or one event per line
        Accepts PUT at:
          /batches/LOG/FIRST.weir.lz4   a batch segment of another log
        Each path has the limits of its vendor, and answers as the vendor would.

        An accepted event is in the log in the directory before the request is \
        answered. From then on no kill -9 loses the event, and with --durability \
        power-loss no power cut does. The fields of the event are vendor, id, time, \
        name, type, user, properties and context. Rejected events are in the log in the \
        subdirectory rejected, with the reason. Violations of the contract are in the \
        log in the subdirectory violations. weir cat reads all three logs.

        A batch segment is checked whole before it is accepted, and then kept in the \
        directory batches/LOG, which is a log with the same events under the same ids: \
        weir cat, verify, stat and export read it. A segment that comes again is kept \
        once. A damaged one is refused with 422, and kept nowhere. --max-bytes and \
        --contract do not apply to batches.

        As JSON, with GET:
          /_weir/events?after=OFFSET&limit=N&name=NAME
          /_weir/rejected, /_weir/violations, /_weir/stats, /_weir/health

        With --from, the parts come from a broker that weir deliver --to nats://… or \
        kafka://… sends: the logs of many hosts become one log, each event once, however \
        often its message comes, with its id, its time and the name of its host. How far \
        the broker was read is known to the log, and to nobody else: a kill at any \
        moment loses nothing and doubles nothing. What is missing is told, by host and \
        offsets. Nothing is removed from the broker. Several collectors may read one \
        stream, each into its own log.

        Faults are set with --fail, at run time with POST /_weir/faults \
        {"faults":"status=500:0.1","seed":7}, or for one request with its header \
        X-Weir-Fault. The number after the colon is the fraction of the requests that \
        have the fault. The number after * is the maximum number of times. The same \
        seed gives the same faults, request by request.
          status=500       nothing is stored; the answer has this status, 400 to 599
          retry-after=2s   nothing is stored; the answer is 429, with Retry-After
          redirect         nothing is stored; the answer is 302
          partial          some of the events are refused
          slow=2s          all is stored; the answer comes late
          cut              all is stored; the answer ends in the middle
          drop-answer      all is stored; the connection is closed without an answer
          garbage          all is stored; the answer has a meaningless body
          stranger         all is stored; the answer reports an event that was not sent

        Examples:
          weir collect collected --port 4100
          weir collect collected --fail status=503:0.1,drop-answer:0.05 --seed 7
          curl -s localhost:4100/_weir/events?limit=5 | jq
          weir cat collected --follow
          weir collect fleet --from nats://n1,n2,n3 --stream events
        """)

    @Argument(help: "The directory of the log. It is created if it does not exist.", completion: .directory)
    var directory: String

    @Option(help: "The port to listen on; 0 for any free port.")
    var port = 0

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Flag(help: "Allow an address that other machines can reach. The collector checks no keys.")
    var allowRemote = false

    @Option(
      help: "What an acknowledged event survives: process-crash or power-loss.",
      completion: .list(["process-crash", "power-loss"]))
    var durability = "process-crash"

    @Option(
      help: "A contract, a JSON or YAML file. Violations are recorded; the events are accepted.", completion: .file())
    var contract: String?

    @Option(help: "The maximum size of the log on disk, such as 1G; beyond it, requests get 503. No limit if omitted.")
    var maxBytes: ByteCount?

    @Option(help: "The faults to inject, such as status=500:0.1,cut:0.05.")
    var fail = ""

    @Option(help: "The seed that determines which requests fail.")
    var seed: UInt64 = 0

    @OptionGroup var broker: CollectFromOptions

    func validate() throws {
      guard broker.from != nil else { return }
      let given: [(String, Bool)] = [
        ("--port", port != 0), ("--host", host != "127.0.0.1"), ("--allow-remote", allowRemote),
        ("--durability", durability != "process-crash"), ("--contract", contract != nil), ("--fail", !fail.isEmpty),
      ]
      if let option = given.first(where: \.1)?.0 {
        throw ValidationError("\(option) is for HTTP; leave it out with --from")
      }
    }

    func run() throws {
      guard let from = broker.from else { return try receive() }
      let stop = try StopSwitch()
      stop.stopOnSignals()
      try broker.collect(from, into: directory, byteLimit: maxBytes.map { Int(clamping: $0.bytes) }, stop)
    }

    #if Collector
      private func receive() throws {
        let stop = try StopSwitch()
        stop.stopOnSignals()
        let collector = try Self.explained { try Collector(configuration) }
        do {
          let port = try waitForEnd { try await collector.start() }
          try writeReport("listening on \(collector.address ?? "port \(port)")\n")
        } catch {
          try? waitForEnd { try await collector.stop() }
          if error is ToolError { throw error }
          throw ToolError("can't listen on \(host):\(port): \(error); choose another port, or 0 for any free port")
        }
        while !stop.isThrown { stop.sleep(milliseconds: 1_000) }
        try waitForEnd { try await collector.stop() }
        if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      }

      private var configuration: Collector.Configuration {
        get throws {
          var configuration = Collector.Configuration(directory: directory)
          configuration.port = port
          configuration.host = host
          configuration.allowsRemote = allowRemote
          guard let level = Collector.Durability(rawValue: durability) else {
            throw ToolError("--durability is \(durability); it must be process-crash or power-loss")
          }
          configuration.durability = level
          configuration.contract = try contract.map { try ContractSource.compiled($0).contract }
          configuration.byteLimit = maxBytes.map { Int(clamping: $0.bytes) }
          configuration.faults = try Self.explained { try Faults(fail, seed: seed) }
          return configuration
        }
      }

      /// Runs `body`, and throws the collector's errors as errors of the tool.
      private static func explained<Value>(_ body: () throws -> Value) throws -> Value {
        do {
          return try body()
        } catch let error as CollectorError {
          throw ToolError(error.message)
        } catch let error as WeirError {
          throw error.named(["byteLimit": "--max-bytes"])
        }
      }
    #else
      private func receive() throws {
        throw ToolError(
          "this build of weir has no collector; build it with swift build -c release --traits Collector,YAML")
      }
    #endif
  }
#endif

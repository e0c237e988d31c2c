// CollectCommand.swift: `weir collect`: an endpoint on this machine that takes batches as the vendors do.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirCollector
  import WeirContracts

  struct CollectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "collect",
      abstract: "Take events over HTTP, as the vendors do, and keep them.",
      usage: """
        weir collect <directory> [--port <port>] [--host <host>]
                            [--allow-remote] [--durability <durability>]
                            [--contract <file>] [--max-bytes <size>]
                            [--fail <faults>] [--seed <seed>]
        """,
      discussion: """
        For tests of delivery, and as the end of a developer's local pipeline. Listens on \
        127.0.0.1, prints the address on standard output, and goes on until SIGINT or \
        SIGTERM. Any key will do, or none. Bodies may be packed with gzip.

        Takes POST at:
          /v1/batch, /v1/track …   Segment
          /import, /engage         Mixpanel
          /2/httpapi, /batch       Amplitude
          /batch, /capture         PostHog
          /?query=INSERT…          ClickHouse, FORMAT JSONEachRow
          /v1/logs                 OpenTelemetry logs, OTLP as JSON
          /events                  Weir's own form, an array or a line an event
        with each vendor's limits, and answers as each would.

        A good event goes into the log in the directory, before it is answered as taken: \
        no kill -9 loses it then, and with --durability power-loss no power cut. Its fields \
        are vendor, id, time, name, type, user, properties and context. What is not taken \
        goes into the log in the directory's subdirectory rejected, with the reason. What \
        is against the contract goes into violations. All are read with weir cat.

        As JSON, with GET:
          /_weir/events?after=OFFSET&limit=N&name=NAME
          /_weir/rejected, /_weir/violations, /_weir/stats, /_weir/health

        Told to fail, with --fail, at run time by POST /_weir/faults \
        {"faults":"status=500:0.1","seed":7}, or for one request by its header X-Weir-Fault. \
        After the colon comes the part of the requests that it happens to, after * how \
        often at most; the same seed gives the same faults, request by request.
          status=500       nothing is stored, and this is the status, 400 to 599
          retry-after=2s   nothing is stored: 429, with Retry-After
          redirect         nothing is stored: 302
          partial          some of the events are refused
          slow=2s          all is stored, and the answer comes late
          cut              all is stored, and the answer ends in its middle
          drop-answer      all is stored, and the connection closed without an answer
          garbage          all is stored, and nobody understands the answer
          stranger         all is stored, and the answer tells of an event too many

        Examples:
          weir collect collected --port 4100
          weir collect collected --fail status=503:0.1,drop-answer:0.05 --seed 7
          curl -s localhost:4100/_weir/events?limit=5 | jq
          weir cat collected --follow
        """)

    @Argument(help: "The directory of the log. It is made if it is missing.")
    var directory: String

    @Option(help: "The port to listen on; 0 for any that is free.")
    var port = 0

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Flag(help: "Listen on an address that other machines reach. It refuses nobody.")
    var allowRemote = false

    @Option(help: "What an acknowledged event survives: process-crash or power-loss.")
    var durability = "process-crash"

    @Option(help: "A contract, a JSON or YAML file: what is against it is flagged, and taken.")
    var contract: String?

    @Option(help: "What the log may take on the disk, such as 1G; at it requests get 503. No limit if it is left out.")
    var maxBytes: ByteCount?

    @Option(help: "How to fail, such as status=500:0.1,cut:0.05.")
    var fail = ""

    @Option(help: "What decides which requests fail.")
    var seed: UInt64 = 0

    #if Collector
      func run() throws {
        let stop = try StopSwitch()
        stop.stopOnSignals()
        let collector = try Self.explained { try Collector(configuration) }
        do {
          let port = try waitForEnd { try await collector.start() }
          try writeReport("listening on \(collector.address ?? "port \(port)")\n")
        } catch {
          try? waitForEnd { try await collector.stop() }
          if error is ToolError { throw error }
          throw ToolError("\(host):\(port) can't be listened on: \(error); choose another port, or 0 for any")
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

      /// The collector's own errors as the tool's.
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
      func run() throws {
        throw ToolError(
          "this build of the tool has no collector; build it with swift build -c release --traits Collector,YAML")
      }
    #endif
  }
#endif

// CollectFromOptions: `weir collect --from`: reads the logs of many hosts from a broker into one.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirDelivery
  import WeirFleet

  struct CollectFromOptions: ParsableArguments {
    @Option(
      help: """
        Collect from a broker, in place of HTTP: nats://host or tls://host with --stream, kafka://host/topic or \
        kafka+ssl://host/topic.
        """)
    var from: String?

    @OptionGroup var broker: BrokerOptions

    @Option(help: "NATS: make the stream if there is none, on the disks of so many servers.")
    var replicas: Int?

    @Option(help: "The user of the broker. The key is the password.")
    var user = ""

    @Option(help: "A file that contains the broker's key and nothing else.", completion: .file())
    var keyFile: String?

    @Option(help: "The environment variable that contains the broker's key.")
    var keyEnv: String?

    @Option(
      name: .customLong("cacert"), help: "A PEM file with the certificate authorities to trust for TLS.",
      completion: .file())
    var authorities: String?

    @Option(
      name: .customLong("cert"), help: "A PEM file with the client certificate, and its chain.", completion: .file())
    var certificate: String?

    @Option(
      name: .customLong("cert-key"), help: "The PEM file of the private key for --cert (default: that of --cert).",
      completion: .file())
    var certificateKey: String?

    @Flag(help: "With --from: remove what every provider of the collecting log has received.")
    var removeDelivered = false

    @Flag(help: "With --from: keep events that come again, in the log DIRECTORY/repetitions.")
    var keepRepetitions = false

    @Flag(help: "With --from: end once everything that the broker has is collected.")
    var untilEnd = false

    func validate() throws {
      if keyFile != nil, keyEnv != nil { throw ValidationError("--key-file and --key-env exclude each other") }
      guard replicas ?? 1 >= 1 else { throw ValidationError("--replicas must be at least 1") }
      guard from == nil else { return }
      let given: [(String, Bool)] = [
        ("--replicas", replicas != nil), ("--user", !user.isEmpty), ("--key-file", keyFile != nil),
        ("--key-env", keyEnv != nil),
        ("--cacert", authorities != nil), ("--cert", certificate != nil), ("--cert-key", certificateKey != nil),
        ("--remove-delivered", removeDelivered), ("--keep-repetitions", keepRepetitions), ("--until-end", untilEnd),
      ]
      if let option = broker.first ?? given.first(where: \.1)?.0 {
        throw ValidationError("\(option) needs --from, a broker")
      }
    }

    /// Collects into a log until the switch is thrown.
    func collect(_ address: String, into directory: String, byteLimit: Int?, _ stop: StopSwitch) throws {
      guard BrokerDestination.isAddress(address) else {
        throw ToolError("--from \(Terminal.printable(address)) is no broker; write nats://host or kafka://host/topic")
      }
      var destination = BrokerDestination(address, broker)
      destination.user = user
      destination.key = keyFile.map { .file($0) } ?? keyEnv.map { .environment($0) }
      (destination.authorities, destination.certificate) = (authorities, certificate)
      destination.certificateKey = certificateKey
      var configuration = FleetReader.Configuration()
      configuration.log.removeDelivered = removeDelivered
      configuration.limits.keepsRepetitions = keepRepetitions
      if let byteLimit { configuration.log.byteLimit = byteLimit }
      let source = try destination.source(replicas: replicas)
      let reader = FleetReader(directory: directory, configuration: configuration)
      try writeReport("collecting from \(Terminal.printable(source.description))\n")
      let ended = Latch()
      let watch = try FleetWatch(reader, stop: stop, ended: ended, endsAtEnd: untilEnd)
      defer { ended.set() }
      do throws(WeirError) {
        try reader.run(source) { stop.isThrown || watch.isAtEnd }
      } catch {
        throw error.named(["byteLimit": "--max-bytes"])
      }
      for line in Self.lines(of: reader.report) { try writeReport(line + "\n") }
      for complaint in Self.complaints(of: reader.report) { writeDiagnostic(complaint) }
      if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      let report = reader.report
      if untilEnd, report.needsRepair { throw ExitCode.deliveryStopped }
      if report.counts.unreadable > 0 || report.missing > 0 || report.gone > 0 { throw ExitCode.damaged }
    }

    private static func lines(of report: FleetReader.Report) -> [String] {
      let counts = report.counts
      return [
        "\(Quantity.count(counts.events)) events collected from \(Quantity.count(UInt64(report.logs))) logs, in "
          + "\(Quantity.count(counts.parts)) parts; \(Quantity.count(counts.repeated)) came again and were dropped; "
          + "\(Quantity.count(report.missing)) missing"
      ]
    }

    static func complaints(of report: FleetReader.Report) -> [String] {
      var lines: [String] = []
      if let trouble = report.trouble { lines.append(Terminal.printable(trouble)) }
      if report.counts.unreadable > 0 {
        lines.append(
          "\(Quantity.count(report.counts.unreadable)) messages are no parts of a log, or damaged, and were left out; "
            + "the first: \(Terminal.printable(report.firstUnreadable ?? ""))")
      }
      if report.gone > 0 {
        lines.append("\(Quantity.count(report.gone)) messages had been removed by the broker before they were read")
      }
      return lines
        + report.gaps.prefix(20).map { gap in
          "missing: \(Terminal.printable(gap.host)), log \(gap.log), offsets \(gap.offsets.lowerBound) to "
            + "\(gap.offsets.upperBound - 1)"
        }
    }
  }

  /// Shows how a reader is doing, on a thread of its own.
  private final class FleetWatch: Sendable {
    private let end = Latch()

    var isAtEnd: Bool { end.isSet }

    init(_ reader: FleetReader, stop: StopSwitch, ended: Latch, endsAtEnd: Bool) throws {
      let end = end
      try startThread("weir-watch") {
        let progress = Progress()
        var told: String?
        var quiet = 0
        while !ended.isSet, !stop.isThrown {
          stop.sleep(milliseconds: 100)
          let report = reader.report
          progress?.show(events: report.counts.events, fraction: nil)
          if report.trouble != told {
            progress?.end()
            if let trouble = report.trouble {
              let isLast = endsAtEnd && report.needsRepair
              let what = isLast ? "repair this" : report.needsRepair ? "repair this; trying again" : "trying again"
              writeDiagnostic("\(Terminal.printable(trouble)); \(what)")
            } else if told != nil {
              writeDiagnostic("collecting continues")
            }
            told = report.trouble
          }
          // The broker may say so before the last message was taken.
          quiet = report.isAtEnd ? quiet + 1 : 0
          if endsAtEnd, quiet > 5 || report.needsRepair { end.set() }
        }
        progress?.end()
      }
    }
  }
#endif

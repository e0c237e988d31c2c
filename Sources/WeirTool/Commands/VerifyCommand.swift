// VerifyCommand: `weir verify`: checks every byte of a log against its checksum.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir

  struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Check every byte of a log.",
      discussion: """
        Checks headers, blocks, records, padding and reserved bytes, and that each \
        segment continues the previous segment. Changes nothing. In a live log, the \
        command checks the drained events. A torn tail, which a kill may leave in an \
        unsealed segment, is no damage: its events were never accepted, or are still in \
        a lane.

        Prints a line for each damaged place, with its file and the offsets of the \
        events that can't be read because of it, then the totals. The exit code is 1 if \
        there is damage.

        Keys with --json:
          intact, live, segments, blocks, events, bytes, torn_bytes, lane_events,
          missing_events, removed_events (by retention), and findings: an array of
          objects with the keys file, position, bytes, first_offset, count, problem

        Examples:
          weir verify events
          weir verify events --json | jq .missing_events
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
      var findings: [VerifyReport.Finding] = []
      let verification = try LogDirectory(directory).verify { findings.append(VerifyReport.Finding($0)) }
      let report = VerifyReport(verification, findings)
      try writeOutput(json ? try Table.json(report) : report.text(of: directory))
      if !report.intact { throw ExitCode.damaged }
    }
  }

  /// The keys of `weir verify --json`.
  struct VerifyReport: Encodable {
    struct Finding: Encodable {
      var file: String
      var position: UInt64
      var bytes: UInt64
      var firstOffset: UInt64
      var count: UInt64
      var problem: String

      init(_ finding: LogDirectory.Finding) {
        file = finding.file
        position = finding.position
        bytes = finding.bytes
        firstOffset = finding.firstOffset
        count = finding.count
        problem = finding.problem
      }

      /// One line: the place, the damage, and the events that are lost.
      var text: String {
        Damage.describe(
          file: file, problem: problem, position: position, bytes: bytes, firstOffset: firstOffset, count: count)
      }
    }

    var intact: Bool
    var live: Bool
    var segments: UInt64
    var blocks: UInt64
    var events: UInt64
    var bytes: UInt64
    var tornBytes: UInt64
    var laneEvents: UInt64
    var missingEvents: UInt64
    var removedEvents: UInt64
    var findings: [Finding]

    init(_ verification: LogDirectory.Verification, _ findings: [Finding]) {
      intact = verification.findings == 0
      live = verification.isLive
      segments = verification.segments
      blocks = verification.blocks
      events = verification.events
      bytes = verification.bytes
      tornBytes = verification.tornBytes
      laneEvents = verification.laneEvents
      missingEvents = verification.missingEvents
      removedEvents = verification.removedEvents
      self.findings = findings
    }

    func text(of directory: String) -> String {
      let places = findings.count == 1 ? "1 place" : "\(Quantity.count(UInt64(findings.count))) places"
      return findings.map { $0.text + "\n" }.joined()
        + Table.text([
          ("log", directory + (live ? " (live: drained events only)" : "")),
          ("result", intact ? "intact" : "damaged in \(places)"),
          ("segments", Quantity.count(segments)),
          ("blocks", Quantity.count(blocks)),
          ("events", Quantity.count(events)),
          ("events in lanes", Quantity.count(laneEvents)),
          ("missing events", Quantity.count(missingEvents)),
          ("removed events", Quantity.count(removedEvents)),
          ("bytes checked", Quantity.count(bytes)),
          ("torn bytes", Quantity.count(tornBytes)),
        ])
    }
  }
#endif

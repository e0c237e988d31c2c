// StatCommand: `weir stat`: summarises a log.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirDelivery

  struct StatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "stat",
      abstract: "Summarise a log: segments, bytes, events, losses, times.",
      discussion: """
        Reads headers and seals, and blocks only in unsealed segments. Changes nothing. \
        The numbers of refusals are those that the log has reported so far.

        Keys with --json:
          live, damaged, ring_vanished, segments, segment_bytes, total_bytes,
          first_offset, next_offset, events, lane_events, accepted (the sum of these
          two), removed (accepted events that retention or the byte limit removed, not
          counted in accepted), notices, lanes, lanes_in_use, lane_bytes, dropped (an
          object with a number for each reason), first_time, last_time (RFC 3339, or
          null without events), ledger
        The ledger has an object for each provider that the log knows: provider, from \
        (the offset where the provider began), offset (the first that is not settled), \
        accepted (events since the provider began), acknowledged, rejected (and not \
        accepted in a redrive since), pending, pending_since (when the oldest pending \
        event was captured: RFC 3339, or null), lost (an object: removed, damaged, \
        withheld, overwritten), balanced (whether accepted is the sum of the others), \
        stopped (the provider's reason if its last call stopped delivery, or null), \
        rewound (an object with count, from and to if the provider was rewound, or \
        null: then the numbers are about the events since to), durability (what an \
        acknowledgement of a broker promises, or null).

        The reasons in dropped: full, no_lane, too_large, closed, detached, storage, \
        invalid, sampled (left out on purpose; from a live writer, the number up to \
        now). Three further reasons count accepted events that are lost: overwritten \
        (in a full lane that drops the oldest events), expired (removed by retention \
        before delivery), displaced (removed before delivery to make room at the byte \
        limit).

        Examples:
          weir stat events
          weir stat events --json | jq .dropped
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
      let log = LogDirectory(directory)
      let report = StatReport(try log.statistics(), try log.ledger())
      try writeOutput(json ? try Table.json(report) : report.text(of: directory))
    }
  }

  /// The keys of `weir stat --json`.
  struct StatReport: Encodable {
    var live: Bool
    var damaged: Bool
    var ringVanished: Bool
    var segments: UInt64
    var segmentBytes: UInt64
    var totalBytes: UInt64
    var firstOffset: UInt64
    var nextOffset: UInt64
    var events: UInt64
    var notices: UInt64
    var laneEvents: UInt64
    var accepted: UInt64
    var removed: UInt64
    var lanes: UInt64
    var lanesInUse: UInt64
    var laneBytes: UInt64
    var dropped: [String: UInt64]
    @Nullable var firstTime: String?
    @Nullable var lastTime: String?
    var ledger: [LedgerReport]

    init(_ statistics: LogDirectory.Statistics, _ ledger: Ledger = Ledger([])) {
      self.ledger = ledger.entries.map { LedgerReport($0) }
      live = statistics.isLive
      damaged = statistics.isDamaged
      ringVanished = statistics.ringVanished
      segments = statistics.segments
      segmentBytes = statistics.segmentBytes
      totalBytes = statistics.totalBytes
      firstOffset = statistics.firstOffset
      nextOffset = statistics.nextOffset
      events = statistics.events
      notices = statistics.notices
      laneEvents = statistics.laneEvents
      accepted = statistics.events + statistics.laneEvents
      removed = statistics.removed
      lanes = UInt64(statistics.lanes)
      lanesInUse = UInt64(statistics.lanesInUse)
      laneBytes = statistics.laneBytes
      dropped = Dictionary(
        uniqueKeysWithValues: DropReason.allCases.map { ($0.name, statistics.dropped[$0] ?? 0) })
      firstTime = statistics.firstTime?.description
      lastTime = statistics.lastTime?.description
    }

    func text(of directory: String) -> String {
      let losses = dropped.filter { $0.value > 0 }.sorted { $0.key < $1.key }
      // Counters in the ring have no checksum: the sum of damaged counters may overflow.
      let total = losses.reduce(UInt64(0)) { sum, loss in
        let (next, isTooMuch) = sum.addingReportingOverflow(loss.value)
        return isTooMuch ? .max : next
      }
      let reasons = losses.map { "\($0.key): \(Quantity.count($0.value))" }.joined(separator: ", ")
      return Table.text(
        [
          ("log", directory + (live ? " (live)" : "")),
          ("segments", "\(Quantity.count(segments)), \(Quantity.bytes(segmentBytes))"),
          ("on disk", Quantity.bytes(totalBytes)),
          ("offsets", nextOffset > firstOffset ? "\(firstOffset) to \(nextOffset - 1)" : "none"),
          ("accepted", Quantity.count(accepted)),
          ("in segments", Quantity.count(events)),
          ("in lanes", "\(Quantity.count(laneEvents)), \(Quantity.bytes(laneBytes))"),
          ("removed", Quantity.count(removed)),
          ("notices", Quantity.count(notices)),
          ("dropped", losses.isEmpty ? "0" : "\(Quantity.count(total)) (\(reasons))"),
          ("lanes in use", "\(lanesInUse) of \(lanes)"),
          ("first event", firstTime ?? "none"),
          ("last event", lastTime ?? "none"),
          ("damage", damaged ? "yes: see weir verify" : "none seen"),
          ("ring", ringVanished ? "vanished: its events are lost, and their number is unknown" : "in its place"),
        ] + ledger.map { ("to \($0.provider)", $0.text) })
    }
  }
#endif

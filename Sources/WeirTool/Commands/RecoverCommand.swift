// RecoverCommand: `weir recover`: opens a log, which recovers the events that a dead writer left, and closes the
// log.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir

  struct RecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "recover",
      abstract: "Recover a log after its writer has died.",
      discussion: """
        Moves the events in the lanes into segments, cuts torn tails, copies damaged \
        bytes to quarantine/, and seals the segments. Every opening for writing does \
        the same, so recording needs no recovery before it; the command is for a log \
        that is to be copied or kept. Events keep the offsets and ids that `weir cat` \
        showed before. The command may be killed at any moment and run again. A live \
        log is refused as locked, exit code 2. A directory that holds other files and \
        no log is refused too.

        Keys with --json:
          previous_opening (null if there was none) and opening, each 16 hex digits as
          in ids; segments_scanned, bytes_scanned, events_in_segments, lanes_drained,
          events_from_lanes, torn_bytes, damaged_blocks, damaged_bytes,
          damaged_records, unkept_bytes, missing_events, dropped, sampled (left out on
          purpose, and not in dropped), overwritten, first_offset,
          duration_nanoseconds, was_clean, ring_replaced, ring_vanished, start_damaged
          (events that retention removed count as missing), rebooted, unknown_tail

        Examples:
          weir recover events
          weir recover events --json | jq .events_from_lanes
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
      try refuseUnlessLog()
      var configuration = Tracker.Configuration()
      configuration.createDirectory = false
      configuration.logger = nil
      let tracker = try Tracker(directory: directory, configuration: configuration)
      let report = tracker.recovery
      try tracker.close()
      try writeOutput(json ? try Table.json(RecoverReport(report)) : Self.text(report, directory))
    }

    /// Refuses a directory that has other files and no log, because the name was probably mistyped. An empty directory
    /// is accepted: a recorder may have been killed while creating the log. The opening detects all other errors.
    private func refuseUnlessLog() throws {
      do throws(WeirError) {
        _ = try EventReader(directory: directory)
      } catch {
        guard error.code == .missing else { return }
        let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
        if names?.isEmpty != true { throw error }
      }
    }

    static func text(_ report: RecoveryReport, _ directory: String) -> String {
      Table.text([
        ("log", directory),
        ("was closed in order", report.wasClean ? "yes" : "no"),
        ("segments scanned", Quantity.count(report.segmentsScanned)),
        ("bytes scanned", Quantity.count(report.bytesScanned)),
        ("events in segments", Quantity.count(report.eventsInSegments)),
        ("lanes drained", Quantity.count(report.lanesDrained)),
        ("events from lanes", Quantity.count(report.eventsFromLanes)),
        ("torn bytes cut", Quantity.count(report.tornBytes)),
        ("damaged blocks", Quantity.count(report.damagedBlocks)),
        ("damaged bytes", Quantity.count(report.damagedBytes)),
        ("damaged records", Quantity.count(report.damagedRecords)),
        ("damaged bytes not kept", Quantity.count(report.unkeptBytes)),
        ("missing events", Quantity.count(report.missingEvents)),
        ("dropped", Quantity.count(report.dropped)),
        ("sampled out", Quantity.count(report.sampled)),
        ("overwritten", Quantity.count(report.overwritten)),
        ("ring replaced", report.ringReplaced ? "yes: its events are lost, and their number is unknown" : "no"),
        ("ring vanished", report.ringVanished ? "yes: it was in another directory, and no longer exists" : "no"),
        ("record of removals", report.startDamaged ? "damaged: removed events count as missing" : "in order"),
        ("machine restarted", report.rebooted ? "yes: only what was on disk is left" : "no"),
        (
          "unknown tail", report.unknownTail ? "yes: events after the last ones may be lost, in unknown number" : "no"
        ),
        ("first new offset", Quantity.count(report.firstOffset)),
        ("took", Quantity.seconds(report.durationNanoseconds)),
      ])
    }
  }

  /// The keys of `weir recover --json`.
  struct RecoverReport: Encodable {
    @Nullable var previousOpening: String?
    var opening: String
    var segmentsScanned: UInt64
    var bytesScanned: UInt64
    var eventsInSegments: UInt64
    var lanesDrained: UInt64
    var eventsFromLanes: UInt64
    var tornBytes: UInt64
    var damagedBlocks: UInt64
    var damagedBytes: UInt64
    var damagedRecords: UInt64
    var unkeptBytes: UInt64
    var missingEvents: UInt64
    var dropped: UInt64
    var sampled: UInt64
    var overwritten: UInt64
    var firstOffset: UInt64
    var durationNanoseconds: UInt64
    var wasClean: Bool
    var ringReplaced: Bool
    var ringVanished: Bool
    var startDamaged: Bool
    var rebooted: Bool
    var unknownTail: Bool

    init(_ report: RecoveryReport) {
      previousOpening = report.previousOpening == 0 ? nil : Self.name(report.previousOpening)
      opening = Self.name(report.opening)
      segmentsScanned = report.segmentsScanned
      bytesScanned = report.bytesScanned
      eventsInSegments = report.eventsInSegments
      lanesDrained = report.lanesDrained
      eventsFromLanes = report.eventsFromLanes
      tornBytes = report.tornBytes
      damagedBlocks = report.damagedBlocks
      damagedBytes = report.damagedBytes
      damagedRecords = report.damagedRecords
      unkeptBytes = report.unkeptBytes
      missingEvents = report.missingEvents
      dropped = report.dropped
      sampled = report.sampled
      overwritten = report.overwritten
      firstOffset = report.firstOffset
      durationNanoseconds = report.durationNanoseconds
      wasClean = report.wasClean
      ringReplaced = report.ringReplaced
      ringVanished = report.ringVanished
      startDamaged = report.startDamaged
      rebooted = report.rebooted
      unknownTail = report.unknownTail
    }

    /// Returns the beginning of the opening's ids, as text, because not every JSON reader keeps a 64-bit number.
    private static func name(_ opening: UInt64) -> String {
      String(EventID(opening: opening, sequence: 0).description.prefix(16))
    }
  }
#endif

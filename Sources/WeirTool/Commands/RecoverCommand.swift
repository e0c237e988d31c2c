// RecoverCommand.swift: `weir recover`: opens a log, which recovers what a dead writer left, and closes it.

import ArgumentParser
import Foundation
import Weir

struct RecoverCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recover",
    abstract: "Bring a log in order after its writer has died.",
    discussion: """
      Moves what is in the lanes into segments, cuts torn tails, copies damaged bytes to quarantine/, and seals the \
      segments. Every opening for writing does the same, so this is never needed before recording on; it is for a log \
      that shall be copied or kept. Events keep the offsets and ids that `weir cat` showed before. It may be killed at any \
      point and run again. A live log is refused as locked (exit code 2).

      With --json: one object with the keys of the report below.

      Examples:
        weir recover events
        weir recover events --json | jq .events_from_lanes
      """)

  @Argument(help: "The log's directory.")
  var directory: String

  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    var configuration = Tracker.Configuration()
    configuration.createDirectory = false
    let tracker = try Tracker(directory: directory, configuration: configuration)
    let report = tracker.recovery
    try tracker.close()
    try writeOutput(json ? try Table.json(report) : Self.text(report, directory))
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
      ("missing events", Quantity.count(report.missingEvents)),
      ("dropped", Quantity.count(report.dropped)),
      ("ring replaced", report.ringReplaced ? "yes: what was in it is lost, and how much is unknown" : "no"),
      ("first new offset", Quantity.count(report.firstOffset)),
      ("took", Quantity.seconds(report.durationNanoseconds)),
    ])
  }
}

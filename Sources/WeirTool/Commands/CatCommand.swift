// CatCommand.swift: `weir cat`: prints the events of a log.

import ArgumentParser
import Foundation
import Glibc
import Weir

struct CatCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cat",
    abstract: "Print the events of a log.",
    discussion: """
      Reads a log without changing it. Of a live log it prints the events that are drained, at most some milliseconds \
      old; of a log whose writer has died also those still in the lanes, with the offsets that recovery will give them.

      Formats:
        jsonl  one object a line, with exactly the keys offset, id (32 hex digits), time (RFC 3339, UTC, nanoseconds), \
      event and fields, in this order. In fields: bytes are base64, dates RFC 3339 in UTC (seconds since 2001 outside \
      the years 0 to 9999), not-a-number and the infinities "NaN", "Infinity" and "-Infinity"; 64-bit integers have \
      all their digits.
        csv    offset,id,time,event,fields with a header row; fields is JSON.
        text   for people: offset, time, event, and name=value for each field.
      Events whose name starts with "weir." are the log's own: weir.gap (captures that were refused), weir.hole \
      (offsets that no event has).

      Damage is passed over: each stretch is a line on standard error, every event outside it is printed, and the exit \
      code is 1. With --follow it prints on as events come, also through the death of the writer and a new one, until \
      SIGINT or SIGTERM.

      Examples:
        weir cat events --limit 10
        weir cat events --from 5000 --format text
        weir cat events --follow | grep '"event":"malformed"'
      """)

  @Argument(help: "The log's directory.")
  var directory: String

  @Option(help: "How an event is printed: jsonl, csv or text.")
  var format: EventFormat = .jsonl

  @Option(help: "The first offset to print.")
  var from: Offset = 0

  @Option(help: "How many events to print at most. All if it is left out.")
  var limit: UInt64?

  @Flag(help: "Go on and print events as they come.")
  var follow = false

  /// Events that are turned into text together.
  private static let batch = 8_192
  /// Between two looks for new events.
  private static let pollMilliseconds: Int32 = 50

  func run() throws {
    let stop = try StopSwitch()
    if follow { stop.stopOnSignals() }
    let reader = try EventReader(directory: directory, from: from)
    try writeOutput(format.header)
    var reported = 0
    var left = limit ?? .max
    var events: [StoredEvent] = []
    while left > 0, !stop.isThrown {
      let event = try reader.next()
      for skip in reader.skipped.dropFirst(reported) { writeDiagnostic("\(directory): \(Damage.describe(skip))") }
      reported = reader.skipped.count
      if let event {
        events.append(event)
        left -= 1
      }
      if event == nil || events.count == Self.batch {
        try write(events)
        events.removeAll(keepingCapacity: true)
      }
      if event == nil {
        guard follow else { break }
        stop.sleep(milliseconds: Self.pollMilliseconds)
      }
    }
    try write(events)
    if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
    if reported > 0 { throw ExitCode.damaged }
  }

  private func write(_ events: [StoredEvent]) throws {
    guard !events.isEmpty else { return }
    for lines in format.lines(of: events) {
      do { try writeAll(lines, to: STDOUT_FILENO) } catch { throw ToolError(writing: error) }
    }
  }
}

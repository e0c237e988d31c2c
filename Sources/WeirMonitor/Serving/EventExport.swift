// EventExport: the events that match a filter, as a file, piece by piece.

import Weir
import WeirDelivery

/// Writes the events that match, of those that were in the log when the export began.
///
/// Sendable, although the compiler can't see it: an answer's body is written by one task, which alone calls ``next()``.
final class EventExport: @unchecked Sendable {
  enum Format: String {
    case jsonl
    case csv

    var contentType: String { self == .jsonl ? "application/x-ndjson" : "text/csv; charset=utf-8" }
  }

  private static let pieceBytes = 64 << 10
  private static let blockEvents = 256
  /// How long one call looks at events.
  private static let turn = Duration.milliseconds(20)

  private let watch: LogWatch
  private let filter: EventFilter
  private let showsSensitive: Bool
  private let end: Offset
  private var reader: EventReader
  /// The columns of a table, until all events were looked at for them.
  private var unfinished: CSVColumns?
  private var table: CSVTable?
  private var isDone = false

  /// Begins an export. A table has the columns of the events that match, for which the log is read twice.
  ///
  /// Throws what `EventReader` throws.
  init(_ watch: LogWatch, _ filter: EventFilter, _ format: Format, showsSensitive: Bool) throws(WeirError) {
    self.watch = watch
    self.filter = filter
    self.showsSensitive = showsSensitive
    unfinished = format == .csv ? CSVColumns() : nil
    end = try watch.log.tally(from: .max).nextOffset
    reader = try EventReader(directory: watch.log.path, from: filter.offsets.lowerBound)
    if filter.needsStates { try watch.refreshWhole() }
  }

  /// The next bytes, which may be none; `nil` after the last ones. Takes some milliseconds, so that others have their
  /// turn.
  func next() throws(WeirError) -> [UInt8]? {
    var bytes: [UInt8] = []
    let end = ContinuousClock.now + Self.turn
    repeat {
      guard let events = try matches() else {
        guard let columns = unfinished else { return bytes.isEmpty ? nil : bytes }
        return try begin(CSVTable(columns.names))
      }
      do throws(WeirError) {
        for event in events { try take(event, &bytes) }
      } catch {
        // The answer has begun: a table with too many columns says so in its only line.
        guard unfinished != nil, !isDone else { throw error }
        (unfinished, isDone) = (nil, true)
        return Array("\(error.message)\n".utf8)
      }
    } while bytes.count < Self.pieceBytes && ContinuousClock.now < end
    return bytes
  }

  private func take(_ event: StoredEvent, _ bytes: inout [UInt8]) throws(WeirError) {
    if unfinished != nil {
      try unfinished?.add(event)
    } else if let table {
      table.append(event, to: &bytes)
    } else {
      EventJSON().append(event, to: &bytes)
      bytes.append(UInt8(ascii: "\n"))
    }
  }

  /// All columns are known: the rows are read from the beginning. Returns the header.
  private func begin(_ table: CSVTable) throws(WeirError) -> [UInt8] {
    unfinished = nil
    self.table = table
    reader = try EventReader(directory: watch.log.path, from: filter.offsets.lowerBound)
    isDone = false
    return table.header()
  }

  /// The events that match of the next block; `nil` at the end.
  private func matches() throws(WeirError) -> [StoredEvent]? {
    guard !isDone, let block = try reader.nextBlock(most: Self.blockEvents, bytes: Self.pieceBytes) else { return nil }
    var events: [StoredEvent] = []
    for index in 0..<block.count {
      let encoded = block[index]
      if encoded.offset >= end || encoded.offset > filter.offsets.upperBound {
        isDone = true
        break
      }
      guard filter.mayMatch(encoded) else { continue }
      let event = showsSensitive ? encoded.stored : encoded.stored.redacted()
      if filter.matches(event, { watch.findings(of: event) }) { events.append(event) }
    }
    return events
  }
}

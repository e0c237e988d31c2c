// EventExport: the events that match a filter, as a file, piece by piece.

import Weir
import WeirDelivery

/// Writes the events that match, of those that were in the log when the export began. Belongs to one task at a time.
final class EventExport: @unchecked Sendable {
  enum Format: String {
    case jsonl
    case csv

    var contentType: String { self == .jsonl ? "application/x-ndjson" : "text/csv; charset=utf-8" }
  }

  private static let pieceBytes = 64 << 10
  private static let blockEvents = 256

  private let watch: LogWatch
  private let filter: EventFilter
  private let format: Format
  private let showsSensitive: Bool
  private let end: Offset
  private var reader: EventReader
  private var table: CSVTable?
  private var isDone = false

  /// Begins an export. A table has the columns of the events that match, for which the log is read twice.
  ///
  /// Throws what `EventReader` throws, and `invalid` if a table would have too many columns.
  init(_ watch: LogWatch, _ filter: EventFilter, _ format: Format, showsSensitive: Bool) throws(WeirError) {
    self.watch = watch
    self.filter = filter
    self.format = format
    self.showsSensitive = showsSensitive
    end = try watch.log.tally(from: .max).nextOffset
    reader = try EventReader(directory: watch.log.path, from: filter.offsets.lowerBound)
    _ = try watch.refresh()
  }

  /// The next bytes; `nil` after the last ones.
  func next() throws(WeirError) -> [UInt8]? {
    if format == .csv, table == nil { return try header() }
    let lines = EventJSON()
    var bytes: [UInt8] = []
    while bytes.count < Self.pieceBytes, let events = try matches() {
      for event in events {
        if let table {
          table.append(event, to: &bytes)
        } else {
          lines.append(event, to: &bytes)
          bytes.append(UInt8(ascii: "\n"))
        }
      }
    }
    return bytes.isEmpty ? nil : bytes
  }

  private func header() throws(WeirError) -> [UInt8] {
    var columns = CSVColumns()
    while let events = try matches() { for event in events { try columns.add(event) } }
    reader = try EventReader(directory: watch.log.path, from: filter.offsets.lowerBound)
    isDone = false
    let table = CSVTable(columns.names)
    self.table = table
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

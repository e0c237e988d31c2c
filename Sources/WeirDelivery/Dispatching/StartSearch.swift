// StartSearch: finds the offset at which a provider without a cursor starts.

import Weir

extension LogDirectory {
  /// The maximum disorder of times in the log, in nanoseconds. An event of one lane may wait for its drain while later
  /// events of another lane are already in the log.
  private static let disorder: Int64 = 10_000_000_000

  /// Returns the offset of a start position. `end` is the offset after the log's last event.
  ///
  /// For a time, a binary search finds the place ten seconds before that time. From there, the events are read one by
  /// one to find the first event captured at that time or later. If the wall clock was set back by more than ten
  /// seconds, there may be several such places, and the search may find a later one.
  func offset(of start: DeliveryOptions.Start, end: Offset) throws(WeirError) -> Offset {
    switch start {
    case .beginning: return 0
    case .end: return end
    case .offset(let offset):
      guard offset <= end else {
        throw WeirError(
          .invalid, "the log \(path) has no offset \(offset) yet; start at \(end), the next offset, at the latest",
          path: path)
      }
      return offset
    case .time(let time):
      var low: Offset = 0
      var high = end
      let early = Timestamp(
        nanosecondsSince1970: time.nanosecondsSince1970.subtractingReportingOverflow(Self.disorder).overflow
          ? .min : time.nanosecondsSince1970 - Self.disorder)
      while low < high {
        let middle = low + (high - low) / 2
        let event = try EventReader(directory: path, from: middle).next()
        // Nothing can be read in between, so any place in between is as good.
        if let event, event.offset < high, event.time < early { low = event.offset + 1 } else { high = middle }
      }
      let reader = try EventReader(directory: path, from: low)
      while let event = try reader.next(), event.offset < end {
        if event.time >= time { return event.offset }
      }
      return end
    }
  }
}

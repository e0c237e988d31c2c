// StartSearch: the offset at which a provider begins that has no cursor yet.

import Weir

extension LogDirectory {
  /// How much earlier than a time events may still follow later ones in the log: those of one lane wait for their
  /// drain while those of another are in the log already.
  private static let disorder: Int64 = 10_000_000_000

  /// Where in the log a start position is; `end` is the offset after its last event.
  ///
  /// The place of a time is found by halving the log, and from ten seconds before it event by event: the first event
  /// that was captured at that time or later. Where the wall clock was set back by more, the halving may find a later
  /// one of several such places.
  func offset(of start: DeliveryOptions.Start, end: Offset) throws(WeirError) -> Offset {
    switch start {
    case .beginning: return 0
    case .end: return end
    case .time(let time):
      var low: Offset = 0
      var high = end
      let early = Timestamp(
        nanosecondsSince1970: time.nanosecondsSince1970.subtractingReportingOverflow(Self.disorder).overflow
          ? .min : time.nanosecondsSince1970 - Self.disorder)
      while low < high {
        let middle = low + (high - low) / 2
        let event = try EventReader(directory: path, from: middle).next()
        // Of what lies in between nothing can be read, so it makes no difference where in it to begin.
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

// ResumePoint: where a page that lost its connection goes on.

import Weir

/// The offset behind the last event that a page's stream looked at, and that event's id. As text: `4714-5c1d…`, or the
/// offset alone.
struct ResumePoint: Hashable, Sendable, CustomStringConvertible {
  var next: Offset
  /// `nil` if no event was looked at.
  var last: EventID?

  init(next: Offset, last: EventID?) {
    self.next = next
    self.last = last
  }

  /// Reads the text; `nil` for any other text.
  init?(_ text: String) {
    let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard let next = Offset(parts[0]) else { return nil }
    self.next = next
    guard parts.count > 1 else { return }
    guard let last = EventID(String(parts[1])) else { return nil }
    self.last = last
  }

  var description: String { last.map { "\(next)-\($0)" } ?? "\(next)" }

  /// Whether a log has the events up to here, as far as its files tell: `false` if the log was replaced, or lost its
  /// end to a power cut.
  func isValid(for log: LogDirectory) throws(WeirError) -> Bool {
    guard next <= (try log.tally(from: .max).nextOffset) else { return false }
    guard next > 0, let last, let event = try EventReader(directory: log.path, from: next - 1).next() else {
      return true
    }
    // Without the event, nothing says that the log is another one: retention may have removed it.
    return event.offset != next - 1 || event.id == last
  }
}

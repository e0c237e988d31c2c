// ResumePoint: where a page that lost its connection goes on.

import Weir

/// Where a page's stream was. As text: `4714-5c1d…-12`, or the first offset alone.
struct ResumePoint: Hashable, Sendable, CustomStringConvertible {
  /// The offset behind the last event that was looked at.
  var next: Offset
  /// The id of that event; `nil` if no event was looked at.
  var last: EventID?
  /// The lowest offset of an event that the page may have; `nil` if it has none.
  var first: Offset?

  init(next: Offset, last: EventID? = nil, first: Offset? = nil) {
    self.next = next
    self.last = last
    self.first = first
  }

  /// Reads the text; `nil` for any other text.
  init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
    guard parts.count <= 3, let next = Offset(parts[0]) else { return nil }
    self.init(next: next)
    guard parts.count > 1 else { return }
    guard let last = EventID(parts[1]) else { return nil }
    self.last = last
    guard parts.count > 2 else { return }
    guard let first = Offset(parts[2]) else { return nil }
    self.first = first
  }

  var description: String {
    guard let last else { return "\(next)" }
    return "\(next)-\(last)" + (first.map { "-\($0)" } ?? "")
  }

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

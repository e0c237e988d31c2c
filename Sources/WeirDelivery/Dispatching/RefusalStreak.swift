// RefusalStreak: whether refusals are the events' fault, or that of something on the way.

import Weir

/// Counts events that a provider refused one by one, in a row and for the same reason, before it accepted any. A pure
/// value.
///
/// Where everything is refused the events are hardly at fault: a proxy wants something else, a path or a form is wrong.
/// To go on would be two calls for each event of the log, and a dead letter for each.
struct RefusalStreak: Sendable {
  /// So many in a row are enough.
  static let limit = 100

  private var hasAccepted: Bool
  private var reason: [Substring]?
  private(set) var count = 0

  /// `hasAccepted`: the provider accepted an event at some time before.
  init(hasAccepted: Bool) {
    self.hasAccepted = hasAccepted
  }

  /// An event was accepted.
  mutating func accepted() {
    hasAccepted = true
  }

  /// An event that was alone in its call was refused. True if nothing was ever accepted, and so many were refused for
  /// this reason that delivery is to stop.
  mutating func refused(_ text: String) -> Bool {
    guard !hasAccepted else { return false }
    let words = Self.words(text)
    count = words == reason ? min(count + 1, Self.limit) : 1
    reason = words
    return count >= Self.limit
  }

  /// Without what differs from one answer to the next: numbers, times, ids of requests.
  private static func words(_ text: String) -> [Substring] {
    text.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.filter { !$0.contains(where: \.isNumber) }
  }
}

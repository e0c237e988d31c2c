// RefusalStreak: determines whether the events cause refusals, or something between the log and the provider.

import Weir

/// Counts the events that a provider refused one by one, in a row and for the same reason, before it accepted any
/// event. A pure value.
///
/// If all events are refused, the events are hardly the cause: a proxy requires something else, or a path or a format
/// is wrong. Continuing would cost two calls and a dead letter for each event of the log.
struct RefusalStreak: Sendable {
  /// The number of refusals in a row that stops delivery.
  static let limit = 100

  private var hasAccepted: Bool
  private var reason: [Substring]?
  private(set) var count = 0

  /// `hasAccepted` is whether the provider has ever accepted an event.
  init(hasAccepted: Bool) {
    self.hasAccepted = hasAccepted
  }

  /// Notes that an event was accepted.
  mutating func accepted() {
    hasAccepted = true
  }

  /// Notes that an event that was alone in its call was refused. Returns `true` if delivery must stop: no event was
  /// ever accepted, and ``limit`` events were refused for this reason.
  mutating func refused(_ text: String) -> Bool {
    guard !hasAccepted else { return false }
    let words = Self.words(text)
    count = words == reason ? min(count + 1, Self.limit) : 1
    reason = words
    return count >= Self.limit
  }

  /// Returns the words of the text without the parts that differ between answers: numbers, times, ids of requests.
  private static func words(_ text: String) -> [Substring] {
    text.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.filter { !$0.contains(where: \.isNumber) }
  }
}

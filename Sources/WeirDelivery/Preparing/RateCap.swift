// RateCap: the most events of some names that a provider gets in a time.

import Weir

/// Limits how many events of some names a provider gets in a time. Further events are withheld, and the ledger counts
/// them as ``Ledger/LossReason/withheld``.
///
/// The time is the time of capture, in windows that begin at multiples of ``per``. So the result does not depend on
/// when the events are delivered. A restart begins to count anew.
public struct RateCap: Hashable, Sendable {
  /// The names of the events, as they were captured. `*` matches any text. All of them count together.
  public var events: [String]

  /// The maximum number of events in a window; at least 0.
  public var most: Int

  /// The length of a window; at least a millisecond.
  public var per: Duration

  /// Creates a cap.
  public init(_ events: String..., most: Int, per: Duration) {
    self.init(events: events, most: most, per: per)
  }

  init(events: [String], most: Int, per: Duration) {
    self.events = events
    self.most = most
    self.per = per
  }
}

/// Counts the events of a cap.
struct RateCapCounter: Sendable {
  private let names: NamePatterns
  private let most: Int
  private let width: Int64
  /// The counts of the latest windows: events of different lanes come out of order.
  private var windows: [(number: Int64, count: Int)] = []

  init(_ cap: RateCap) {
    names = NamePatterns(cap.events)
    most = cap.most
    width = max(Int64(clamping: cap.per.wholeNanoseconds), 1)
  }

  /// Counts an event. Returns `false` if the event is beyond the cap.
  mutating func admit(_ event: StoredEvent) -> Bool {
    guard names.match(event.name) else { return true }
    let number = event.time.nanosecondsSince1970 / width
    if let place = windows.firstIndex(where: { $0.number == number }) {
      guard windows[place].count < most else { return false }
      windows[place].count += 1
      return true
    }
    windows.append((number, 1))
    if windows.count > 4 { windows.removeFirst() }
    return most > 0
  }
}

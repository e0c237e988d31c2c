// RateCap: the most events of some names that a provider gets in a time.

import Weir

/// Limits how many events of some names a provider gets in a time. Further events are withheld, and the ledger counts
/// them as ``Ledger/LossReason/withheld``. Events that the provider's mapper withholds do not count.
///
/// The time is the time of capture, in windows that begin at multiples of ``per``. So the result does not depend on
/// when the events are delivered. The 1,024 latest windows are remembered; an event of an older window, from a thread
/// whose events reach the log late, begins its window anew. A restart begins to count anew.
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
  private static let maximumWindows = 1_024

  private let names: NamePatterns
  private let most: Int
  private let width: Int64
  /// The counts of the latest windows, by their numbers: events of different lanes come out of order.
  private var windows: [Int64: Int] = [:]

  init(_ cap: RateCap) {
    names = NamePatterns(cap.events)
    most = cap.most
    width = max(Int64(clamping: cap.per.wholeNanoseconds), 1)
  }

  /// Whether the provider may get the event.
  func admits(_ event: StoredEvent) -> Bool {
    !names.match(event.name) || windows[number(of: event), default: 0] < most
  }

  /// Counts an event that the provider gets.
  mutating func count(_ event: StoredEvent) {
    guard names.match(event.name) else { return }
    windows[number(of: event), default: 0] += 1
    // Many at once, so that an event costs little.
    guard windows.count > 2 * Self.maximumWindows else { return }
    let oldest = windows.keys.sorted()[windows.count - Self.maximumWindows]
    windows = windows.filter { $0.key >= oldest }
  }

  private func number(of event: StoredEvent) -> Int64 { event.time.nanosecondsSince1970 / width }
}

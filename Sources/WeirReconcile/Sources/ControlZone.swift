// ControlZone: the zone of times that have none.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The zone in which a control's times without a zone are.
struct ControlZone: Sendable {
  private let zone: TimeZone

  /// Throws `invalid` for a name that no zone has.
  init(_ name: String) throws(WeirError) {
    guard let zone = TimeZone(identifier: name) else {
      throw WeirError(.invalid, "there is no time zone \(name); write for example America/Los_Angeles, or GMT-8")
    }
    self.zone = zone
  }

  /// Moves the event's time, which was read as Universal Time, if the time had no zone. Of two moments that a clock
  /// shows alike when it is set back, the later one.
  func apply(to event: inout ComparedEvent) {
    guard event.isZoneless, event.time != .min else { return }
    func offset(at time: Int64) -> Int64 {
      Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time) / 1e9))) * 1_000_000_000
    }
    let first = event.time.subtractingClamped(offset(at: event.time))
    event.time = event.time.subtractingClamped(offset(at: first))
  }
}

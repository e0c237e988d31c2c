// Outcomes: numbers of events by outcome, and the counts of a cursor.

import Weir

extension DeliveryCounts {
  /// The number of all events below the cursor since ``from``.
  var settled: UInt64 { acknowledged &+ rejected &+ removed &+ damaged &+ withheld }

  /// The number of events that the provider will not get, for any reason.
  var lostInAll: UInt64 { removed &+ damaged &+ withheld }

  /// The numbers of lost events by reason, without zeros.
  var lost: [Ledger.LossReason: UInt64] {
    let all: [Ledger.LossReason: UInt64] = [.removed: removed, .damaged: damaged, .withheld: withheld]
    return all.filter { $0.value > 0 }
  }

  /// Adds the outcomes of further events.
  mutating func add(_ outcomes: Outcomes) {
    acknowledged &+= outcomes.acknowledged
    rejected &+= outcomes.rejected
    removed &+= outcomes.removed
    damaged &+= outcomes.damaged
    withheld &+= outcomes.withheld
  }
}

extension DeliveryCounts {
  /// Creates the counts of a delivery that starts at `offset`, where the tally was taken.
  init(from offset: Offset, _ tally: LogTally) {
    self.init(
      from: offset, baseline: tally.acceptedBelow, overwrittenBaseline: tally.overwritten,
      inHolesBaseline: tally.inHoles)
  }
}

/// Numbers of events by outcome.
struct Outcomes: Hashable, Sendable {
  var acknowledged: UInt64 = 0
  var rejected: UInt64 = 0
  var removed: UInt64 = 0
  var damaged: UInt64 = 0
  var withheld: UInt64 = 0
  /// The number of events that were overwritten before they had offsets, as reported by a notice at an offset. They are
  /// in no count of offsets, and therefore not in ``all``.
  var overwritten: UInt64 = 0
  /// The number of events that were damaged in their lane before they had offsets. Not in ``all`` either.
  var inHoles: UInt64 = 0

  /// The number of events with offsets.
  var all: UInt64 { acknowledged &+ rejected &+ removed &+ damaged &+ withheld }

  static func + (left: Outcomes, right: Outcomes) -> Outcomes {
    Outcomes(
      acknowledged: left.acknowledged &+ right.acknowledged, rejected: left.rejected &+ right.rejected,
      removed: left.removed &+ right.removed, damaged: left.damaged &+ right.damaged,
      withheld: left.withheld &+ right.withheld, overwritten: left.overwritten &+ right.overwritten,
      inHoles: left.inHoles &+ right.inHoles)
  }

  /// The outcomes of as many events, each with these outcomes.
  func times(_ count: UInt64) -> Outcomes {
    guard count > 1 else { return self }
    return Outcomes(
      acknowledged: acknowledged &* count, rejected: rejected &* count, removed: removed &* count,
      damaged: damaged &* count, withheld: withheld &* count, overwritten: overwritten &* count,
      inHoles: inHoles &* count)
  }

  static func - (left: Outcomes, right: Outcomes) -> Outcomes {
    Outcomes(
      acknowledged: left.acknowledged &- right.acknowledged, rejected: left.rejected &- right.rejected,
      removed: left.removed &- right.removed, damaged: left.damaged &- right.damaged,
      withheld: left.withheld &- right.withheld, overwritten: left.overwritten &- right.overwritten,
      inHoles: left.inHoles &- right.inHoles)
  }

  /// The numbers of lost events by reason, without zeros.
  var lost: [Ledger.LossReason: UInt64] {
    let all: [Ledger.LossReason: UInt64] = [
      .removed: removed, .damaged: damaged &+ inHoles, .withheld: withheld, .overwritten: overwritten,
    ]
    return all.filter { $0.value > 0 }
  }
}

extension Outcomes {
  /// Reads from a notice of the log how many accepted events never had an offset.
  init(notice: StoredEvent) {
    self.init()
    switch notice.name {
    case "weir.hole": inHoles = (try? notice["events"] as UInt64) ?? 0
    case "weir.gap" where (try? notice["reason"] as String) == DropReason.overwritten.name:
      overwritten = (try? notice["dropped"] as UInt64) ?? 0
    default: break
    }
  }
}

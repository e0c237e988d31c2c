// Outcomes: what became of events, and what a cursor's counts say of it.

import Weir

extension DeliveryCounts {
  /// All events below the cursor since ``from``.
  var settled: UInt64 { acknowledged &+ rejected &+ removed &+ damaged &+ withheld }

  /// Events that it will not get, whatever the reason.
  var lostInAll: UInt64 { removed &+ damaged &+ withheld }

  /// By reason, without those that are 0.
  var lost: [Ledger.LossReason: UInt64] {
    let all: [Ledger.LossReason: UInt64] = [.removed: removed, .damaged: damaged, .withheld: withheld]
    return all.filter { $0.value > 0 }
  }

  /// Adds what became of further events.
  mutating func add(_ outcomes: Outcomes) {
    acknowledged &+= outcomes.acknowledged
    rejected &+= outcomes.rejected
    removed &+= outcomes.removed
    damaged &+= outcomes.damaged
    withheld &+= outcomes.withheld
  }
}

extension DeliveryCounts {
  /// A delivery that begins at `offset`, which the tally was taken from.
  init(from offset: Offset, _ tally: LogTally) {
    self.init(
      from: offset, baseline: tally.acceptedBelow, overwrittenBaseline: tally.overwritten,
      inHolesBaseline: tally.inHoles)
  }
}

/// What became of some events.
struct Outcomes: Hashable, Sendable {
  var acknowledged: UInt64 = 0
  var rejected: UInt64 = 0
  var removed: UInt64 = 0
  var damaged: UInt64 = 0
  var withheld: UInt64 = 0
  /// Events that had no offset yet when they were overwritten, as a notice at an offset tells. They are in no count of
  /// offsets, and so not in ``all``.
  var overwritten: UInt64 = 0
  /// The same of events that were damaged in their lane.
  var inHoles: UInt64 = 0

  /// Of events that have an offset.
  var all: UInt64 { acknowledged &+ rejected &+ removed &+ damaged &+ withheld }

  static func + (left: Outcomes, right: Outcomes) -> Outcomes {
    Outcomes(
      acknowledged: left.acknowledged &+ right.acknowledged, rejected: left.rejected &+ right.rejected,
      removed: left.removed &+ right.removed, damaged: left.damaged &+ right.damaged,
      withheld: left.withheld &+ right.withheld, overwritten: left.overwritten &+ right.overwritten,
      inHoles: left.inHoles &+ right.inHoles)
  }

  static func - (left: Outcomes, right: Outcomes) -> Outcomes {
    Outcomes(
      acknowledged: left.acknowledged &- right.acknowledged, rejected: left.rejected &- right.rejected,
      removed: left.removed &- right.removed, damaged: left.damaged &- right.damaged,
      withheld: left.withheld &- right.withheld, overwritten: left.overwritten &- right.overwritten,
      inHoles: left.inHoles &- right.inHoles)
  }

  /// What was lost, by reason, without those that are 0.
  var lost: [Ledger.LossReason: UInt64] {
    let all: [Ledger.LossReason: UInt64] = [
      .removed: removed, .damaged: damaged &+ inHoles, .withheld: withheld, .overwritten: overwritten,
    ]
    return all.filter { $0.value > 0 }
  }
}

extension Outcomes {
  /// What a notice of the log tells of events that were accepted and never had an offset.
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

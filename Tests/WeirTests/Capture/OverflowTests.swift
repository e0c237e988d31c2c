// What a capture does on a full lane, as Configuration.whenFull says; a lane that overwrites its oldest events.

import CWeir
import Foundation
import TestSupport
import Testing

@testable import Weir

struct OverflowTests {
  /// A lane of 128 events of a thousand bytes.
  private func small(_ policy: Tracker.OverflowPolicy) -> Tracker.Configuration {
    quiet {
      $0.laneBytes = 128 << 10
      $0.drainInterval = .seconds(10)
      $0.whenFull = policy
    }
  }

  private static let text = String(repeating: "x", count: 1_000)

  @Test func `the oldest events are overwritten, and counted`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: small(.dropOldest))
      var ids: [EventID] = []
      var refused: UInt64 = 0
      // The drainer may keep up for a while; it can't for ever.
      while ids.count < 200_000 || (tracker.counters.overwritten == 0 && ids.count < 5_000_000) {
        switch tracker.track(Single(Self.text)) {
        case .accepted(let id): ids.append(id)
        case .dropped(.full): refused += 1
        case .dropped(let reason): Issue.record("dropped as \(reason)")
        }
      }
      let counters = tracker.counters
      #expect(counters.overwritten > 0)
      #expect(counters.accepted == UInt64(ids.count))
      #expect(counters.dropped[.overwritten] == nil, "no capture was refused for it")
      #expect(counters.dropped[.full] ?? 0 == refused)
      try tracker.close()

      let all = try EventReader(directory: directory).all()
      let found = all.filter { !$0.isNotice }.map(\.id)
      #expect(UInt64(found.count) + counters.overwritten == UInt64(ids.count))
      #expect(found.last == ids.last, "the newest event is never the one to go")
      #expect(Set(found).isSubset(of: ids))
      #expect(zip(found, found.dropFirst()).allSatisfy { $0.sequence < $1.sequence })
      var gaps: [String: UInt64] = [:]
      for gap in all where gap.name == "weir.gap" {
        let reason: String = try gap["reason"]
        let count: UInt64 = try gap["dropped"]
        gaps[reason, default: 0] += count
      }
      #expect(gaps["overwritten"] == counters.overwritten)
      #expect(gaps["full"] ?? 0 == refused)
      let statistics = try LogDirectory(directory).statistics()
      #expect(statistics.dropped[.overwritten] == counters.overwritten)
      #expect(statistics.events == UInt64(found.count))
      #expect(!statistics.isDamaged)
      #expect(try LogDirectory(directory).verify().findings == 0)
    }
  }

  @Test func `nothing is overwritten unless asked for`() throws {
    for policy in [.dropNewest, .block, .block(upTo: .milliseconds(1))] as [Tracker.OverflowPolicy] {
      try withDirectory { directory in
        let tracker = try Tracker(directory: directory, configuration: small(policy))
        var accepted: [EventID] = []
        for _ in 0..<5_000 {
          if let id = tracker.track(Single(Self.text)).id { accepted.append(id) }
        }
        #expect(policy != .block || accepted.count == 5_000)
        #expect(tracker.counters.overwritten == 0)
        try tracker.close()
        #expect(try EventReader(directory: directory).all().filter { !$0.isNotice }.map(\.id) == accepted)
      }
    }
  }

  @Test func `a policy that waits no time drops, and one that waits for ever blocks`() {
    #expect(Tracker.Configuration().whenFull == .dropNewest)
    #expect(Tracker.OverflowPolicy.dropOldest != .dropNewest)
    #expect(Tracker.OverflowPolicy.block(upTo: .zero) == .dropNewest)
    #expect(Tracker.OverflowPolicy.block(upTo: .seconds(-1)) == .dropNewest)
    #expect(Tracker.OverflowPolicy.block(upTo: .seconds(Int64.max)) == .block)
  }

  /// Every number of the core arrives under its own name.
  @Test func `reports of the core keep their numbers`() {
    var core = weir_counters()
    core.accepted = 9
    core.drained = 5
    core.damaged = 3
    core.overwritten = 4
    withUnsafeMutableBytes(of: &core.dropped) { $0.bindMemory(to: UInt64.self)[Int(WEIR_LOST_OVERWRITTEN)] = 4 }
    let counters = Counters(core)
    #expect(counters.accepted == 9)
    #expect(counters.drained == 5)
    #expect(counters.damaged == 3)
    #expect(counters.overwritten == 4)
    #expect(counters.dropped == [.overwritten: 4])

    var found = weir_recovery()
    found.dropped = 7
    found.sampled = 8
    found.overwritten = 6
    found.unkept_bytes = 5
    found.ring_vanished = 1
    found.ring_replaced = 1
    let report = RecoveryReport(found)
    #expect(report.sampled == 8)
    #expect(report.dropped == 7)
    #expect(report.overwritten == 6)
    #expect(report.ringVanished)
    #expect(report.ringReplaced)
    #expect(report.description.contains("7 events had been refused; 8 events had been left out by sampling; 6"))
    #expect(report.description.contains("quarantine/ is full: 5 damaged bytes were not kept"))
    #expect(report.description.contains("the ring no longer exists"))

    var cut = weir_recovery()
    cut.missing_events = 3
    cut.rebooted = 1
    cut.unknown_tail = 1
    let afterCut = RecoveryReport(cut)
    #expect(afterCut.rebooted)
    #expect(afterCut.unknownTail)
    #expect(afterCut.missingEvents == 3)
    #expect(!afterCut.isComplete)
    #expect(afterCut.description.contains("3 events are missing; the machine was restarted"))
  }
}

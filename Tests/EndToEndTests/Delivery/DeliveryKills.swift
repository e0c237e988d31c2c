// DeliveryKills.swift: real requests recorded and delivered over HTTP to a collector that fails at random, everybody killed
// on the way again and again: every event whose capture was acknowledged arrives, duplicates under the same id, and the
// ledger balances. `make delivery-crash` runs it at length.
import Foundation
import Testing

#if HTTP && Collector
  extension EndToEnd {
    @Suite struct DeliveryKills {
      /// A part of the requests meets each of these: nothing stored, or all stored and the answer lost in some way.
      static let faults =
        "status=500:0.06,status=429:0.03,drop-answer:0.06,cut:0.04,garbage:0.03,stranger:0.02,slow=50ms:0.05"

      @Test func `every acknowledged event arrives, whoever is killed`() throws {
        let events = Run.isLong ? 1_000_000 : 20_000
        let kills = Run.isLong ? 50 : 8
        try Self.run(events: events, kills: kills, collectorKills: Run.isLong ? 6 : 2, deadToo: false)
      }

      @Test func `with a second destination that is dead all the time`() throws {
        let events = Run.isLong ? 1_000_000 : 6_000
        try Self.run(events: events, kills: Run.isLong ? 20 : 3, collectorKills: 1, deadToo: true)
      }

      static func run(events: Int, kills: Int, collectorKills: Int, deadToo: Bool) throws {
        let seed = Run.seed()
        Run.say("delivery kills: \(events) events, WEIR_SEED=\(seed)")
        var random = SeededRandom(seed: seed)
        let world = try DeliveryWorld(seed: seed, faults: faults, deadToo: deadToo)
        // Two lives of a recorder on one of a deliverer, and a little more than is owed, for what kills cut off.
        let chunk = events * 3 / (kills * 2) + 1
        var round = 0
        while world.kills < kills {
          round += 1
          let seconds = Double.random(in: 0...(Run.isLong ? 1.5 : 0.5), using: &random)
          if world.acknowledged.count >= events || round % 3 == 0 {
            try world.deliver(seconds: seconds)
          } else {
            try world.record(chunk, seconds: seconds)
          }
          if world.kills % max(1, kills / collectorKills) == 1 { try world.restartCollector() }
          world.collector.serve()
        }
        while world.acknowledged.count < events {
          try world.record(min(100_000, events - world.acknowledged.count), seconds: 0)
        }
        try world.finish()
        let problems = try world.judge()
        if problems.isEmpty { return }
        let kept = Files.keepEvidence(
          [world.log, world.collector.log], name: "delivery-\(seed)", note: problems.joined(separator: "\n"))
        Issue.record("\(problems.joined(separator: "\n"))\nWEIR_SEED=\(seed)\nevidence: \(kept)")
      }
    }
  }
#endif

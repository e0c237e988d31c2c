// DeliveryKills.swift: real requests recorded and delivered over HTTP to a collector that fails at random, everybody
// killed on the way again and again: every event whose capture was acknowledged arrives, duplicates under the same id,
// and the ledger balances. `make delivery-crash` runs it at length.
import Foundation
import Testing

#if HTTP && Collector
  extension EndToEnd {
    @Suite struct DeliveryKills {
      /// A part of the requests meets each of these: nothing stored, or all stored and the answer lost in some way.
      static let faults =
        "status=500:0.06,status=429:0.03,drop-answer:0.06,cut:0.04,garbage:0.03,stranger:0.02,slow=50ms:0.05"

      @Test func `every acknowledged event arrives, whoever is killed`() throws {
        if Run.isLongDelivery {
          try Self.run(events: 1_000_000, kills: 50, collectorKills: 6, deadToo: false)
        } else {
          try Self.run(events: 20_000, kills: 8, collectorKills: 2, deadToo: false)
        }
      }

      @Test func `every acknowledged event arrives beside a provider that is dead all the time`() throws {
        if Run.isLongDelivery {
          try Self.run(events: 1_000_000, kills: 50, collectorKills: 6, deadToo: true)
        } else {
          try Self.run(events: 6_000, kills: 3, collectorKills: 1, deadToo: true)
        }
      }

      @Test func `a recorder killed with most events still to deliver has removed none of them`() throws {
        let world = try DeliveryWorld(seed: Run.seed(), faults: "slow=100ms")
        try world.record(14_000, untilDelivered: 5_000)
        let statistics = try Tool.run("stat", world.log, "--json")
        #expect(!statistics.text.contains("\"first_offset\" : 0,"), "nothing was removed at all: \(statistics.text)")
        try world.finish()
        let problems = try world.judge()
        #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
      }

      /// A time, so not for every machine: at length only. Rounds of both kinds in turns, so that what else the machine
      /// does falls on both alike.
      @Test(.enabled(if: Run.isLongDelivery)) func `a dead provider does not slow the other one down`() throws {
        let scratch = try Scratch()
        let lines = try RealLines()
        let count = 200_000
        try Tool.record(scratch("log"), sending: lines.lines(1..<count + 1))
        let dead = try RefusingPort()
        var seconds: [[Double]] = [[], []]
        for round in 0..<10 {
          let kind = round % 2
          let collector = try Collecting(log: scratch("collected-\(round)"))
          let name = "main-\(round)"
          let others = kind == 1 ? ["--to", dead.url, "--name", "dead-\(round)"] : []
          let began = Moment.now
          let child = try Child(
            Tool.path, ["deliver", scratch("log"), "--to", collector.url, "--name", name] + others)
          try child.waitUntil { _ in (try? LedgerLine.read(scratch("log"), name).pending) == 0 }
          seconds[kind].append(Moment.now - began)
          _ = try child.kill()
          try collector.stop()
          #expect(try LedgerLine.read(scratch("log"), name).acknowledged == UInt64(count))
        }
        let medians = seconds.map { $0.sorted()[$0.count / 2] }
        let ratio = medians[1] / medians[0]
        Run.say("\(count) events alone \(medians[0]) s, beside a dead provider \(medians[1]) s: \(ratio)")
        #expect(ratio < 1.2)
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
          let seconds = Double.random(in: 0...(Run.isLongDelivery ? 1.5 : 0.5), using: &random)
          let collectorToo = world.kills * collectorKills / kills >= world.collectorKills
          if world.acknowledged.count >= events || round % 3 == 0 {
            try world.deliver(seconds: seconds, collectorToo: collectorToo)
          } else {
            try world.record(chunk, seconds: seconds, collectorToo: collectorToo)
          }
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

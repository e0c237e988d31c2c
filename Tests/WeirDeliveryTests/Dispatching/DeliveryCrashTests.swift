// Delivery killed at its calls of the system: of the cursors' files, the dead letters, and the core's, from a
// provider's answer to the removal of what was delivered.
//
// WEIR_LONG=1 kills at every call, and goes on for a hundred lives. WEIR_SEED repeats a run's choices.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirDelivery

#if DEBUG
  @Suite(.serialized)
  struct DeliveryCrashTests {
    private static let isLong = ProcessInfo.processInfo.environment["WEIR_LONG"] == "1"
    /// More than a segment of them.
    private static let events = 400

    private struct SplitMix: RandomNumberGenerator {
      var state: UInt64
      init(_ seed: UInt64) { state = seed }
      mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
      }
    }

    /// One life of a victim in a process of its own.
    private func kill(in world: VictimWorld, events: Int, at last: Int, seed: UInt64) async {
      let path = world.path
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, events = events as Int, last = last as Int, seed = seed as UInt64] in
        try await VictimWorld(path: path).live(events: events, last: last, seed: seed)
      }
    }

    /// The last life, and what has to be true after it.
    private func judge(_ world: VictimWorld, _ what: String, seed: UInt64) async throws {
      try await world.run(events: 5, seed: seed)
      let problems = try world.problems()
      guard !problems.isEmpty else { return }
      let kept = FileManager.default.temporaryDirectory.path + "/weir-evidence-\(UUID().uuidString)"
      try? FileManager.default.copyItem(atPath: world.path, toPath: kept)
      Issue.record("\(what): \(problems.prefix(10).joined(separator: "; "))\nWEIR_SEED=\(seed)\nevidence: \(kept)")
    }

    /// How many calls a whole life makes.
    private func callsOfALife(seed: UInt64) async throws -> Int {
      var calls = 0
      try await VictimWorld.with { world in
        await kill(in: world, events: Self.events, at: .max, seed: seed)
        calls = try #require(world.said("calls").last?.first.flatMap { Int($0) })
        #expect(try LogDirectory(world.log).tally(from: 0).firstOffset > 0, "nothing that was delivered was removed")
        try await judge(world, "killed at the end", seed: seed)
      }
      return calls
    }

    @Test(.timeLimit(.minutes(30)))
    func `case 6, 7, 10 and 28: a kill at any call from the cursor's making to a removal loses nothing`() async throws {
      let seed = testSeed()
      var random = SplitMix(seed)
      let calls = try await callsOfALife(seed: seed)
      #expect(calls > 300, "a cursor, its slots, dead letters and removals take more calls than that")
      let samples = Self.isLong ? calls : 16
      var (again, kills) = (0, 1)
      for sample in 0..<samples {
        // One of each part of a life, in every run another.
        let number = calls * sample / samples + Int.random(in: 1...max(calls / samples, 1), using: &random)
        try await VictimWorld.with { world in
          await kill(in: world, events: Self.events, at: number, seed: seed)
          kills += 1
          var what = "killed at call \(number) of \(calls)"
          if Bool.random(using: &random) {
            let second = Int.random(in: 1...calls, using: &random)
            await kill(in: world, events: 40, at: second, seed: seed &+ 1)
            kills += 1
            what += ", then at call \(second)"
          }
          try await judge(world, what, seed: seed)
          again += world.duplicates
        }
      }
      print("delivery: \(kills) kills at \(calls) calls, \(again) events came again, WEIR_SEED=\(seed)")
      #expect(again > 0)
    }

    @Test(.timeLimit(.minutes(30)))
    func `case 53: conservation holds over random kills together with random lost answers`() async throws {
      let seed = testSeed()
      var random = SplitMix(seed)
      try await VictimWorld.with { world in
        for life in 0..<(Self.isLong ? 100 : 8) {
          let last = Int.random(in: 1...1200, using: &random)
          await kill(in: world, events: Int.random(in: 0...300, using: &random), at: last, seed: seed &+ UInt64(life))
          guard FileManager.default.fileExists(atPath: world.log + "/cursors/" + VictimWorld.provider) else { continue }
          let entry = try #require(try LogDirectory(world.log).ledger()[VictimWorld.provider])
          #expect(entry.isBalanced, "life \(life): \(entry)")
          #expect(entry.lostInAll == 0, "life \(life): \(entry)")
        }
        try await judge(world, "after many lives", seed: seed)
        print("delivery: \(world.said("accepted").count) accepted, \(world.duplicates) came again, WEIR_SEED=\(seed)")
      }
    }
  }
#endif

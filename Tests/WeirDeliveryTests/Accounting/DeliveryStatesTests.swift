// DeliveryStates: the states of events, as a list shows them, agree with what the provider did.

import TestSupport
import Testing
import Weir
import WeirContracts
import WeirTesting

@testable import WeirDelivery

@Suite struct DeliveryStatesTests {
  private func states(_ directory: String, _ offsets: Range<Offset>) throws -> [DeliveryStates.State] {
    let states = DeliveryStates(LogDirectory(directory))
    _ = try states.update()
    return offsets.flatMap { states.states(of: $0) }
  }

  @Test func `an event is pending, then given, then acknowledged, and a follower is told of each change`() async throws
  {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(name: "shop", answers: [.fail("503 busy")])
      let states = DeliveryStates(LogDirectory(directory))
      #expect(try states.update().ranges.isEmpty)
      #expect(states.providers.isEmpty)
      try stage.capture(2)
      try stage.dispatcher.add(provider)
      // The clock stands still from the failure on, and with it the back-off.
      #expect(await stage.run { (try? states.update().ranges.isEmpty) == false && states.states(of: 1) == [.given] })
      #expect(states.providers == ["shop"])
      try stage.capture(1, from: 2)
      #expect(states.states(of: 0) == [.given])
      #expect(states.states(of: 2) == [.pending])
      #expect(
        await stage.run {
          (try? states.update().ranges.isEmpty) == false && states.states(of: 2) == [.acknowledged]
        })
      #expect(states.states(of: 0) == [.acknowledged])
    }
  }

  @Test func `rejected, withheld and earlier events, and flags`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(2)
      let rule = EventRule("e", fields: [FieldRule("n", mandatory: true, .integer, [.range(0...3)])])
      let contract = try Contract("shop", version: "1", events: [rule]).compiled()
      var options = DeliveryOptions()
      options.start = .offset(1)
      options.contract = contract
      let provider = ScriptedProvider(
        name: "shop", answers: [], finally: .each { $0.fields["n"] == .int(2) ? .rejected("no") : .accepted })
      let notThree = EventMapper.only { $0.fields["n"] != .int(3) }
      try stage.dispatcher.add(provider.mapped(by: notThree), options: options)
      try stage.capture(3, from: 2)
      #expect(await stage.run { stage.dispatcher.ledger["shop"].map { $0.offset >= 5 } ?? false })
      #expect(
        try states(directory, 0..<5) == [.before, .acknowledged, .rejected, .withheld, .acknowledged])
      let known = DeliveryStates(LogDirectory(directory))
      _ = try known.update()
      #expect(known.flags(of: 4) == .violating)
      #expect(known.flags(of: 1) == [])
      for offset in Offset(0)..<8 {
        let stretch = known.stretch(around: offset)
        #expect(stretch.contains(offset))
        for other in stretch.clamped(to: 0...8) {
          #expect(known.states(of: other) == known.states(of: offset), "\(other), as \(offset)")
          #expect(known.flags(of: other) == known.flags(of: offset), "\(other), as \(offset)")
        }
      }
    }
  }

  @Test func `a follower is told which events have changed, and of no others`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let states = DeliveryStates(LogDirectory(directory))
      try stage.dispatcher.add(
        ScriptedProvider(name: "shop", finally: .each { $0.fields["n"] == .int(2) ? .rejected("no") : .accepted }))
      _ = try states.update()
      try stage.capture(4)
      var changed = OffsetSet()
      #expect(
        await stage.run {
          for range in (try? states.update().ranges) ?? [] { changed.insert(range) }
          return states.states(of: 3) == [.acknowledged]
        })
      #expect(states.states(of: 2) == [.rejected])
      #expect(changed.ranges.last?.upperBound == 3)
      #expect((0..<4).allSatisfy { changed.contains($0) })
    }
  }

  @Test func `after a rewind all events are pending again, whatever was answered before`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(4)
      let provider = ScriptedProvider(
        name: "shop", finally: .each { $0.fields["n"] == .int(2) ? .rejected("no") : .accepted })
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.dispatcher.ledger["shop"].map { $0.offset >= 4 } ?? false })
      _ = try await stage.running { [dispatcher = stage.dispatcher] in
        await dispatcher.shutdown(budget: .seconds(50_000))
      }
      try stage.tracker.close()
      let known = DeliveryStates(LogDirectory(directory))
      _ = try known.update()
      #expect((0..<4).flatMap { known.states(of: $0) } == [.acknowledged, .acknowledged, .rejected, .acknowledged])
      _ = try LogDirectory(directory).rewind("shop", to: .offset(1))
      #expect(try !known.update().ranges.isEmpty)
      #expect((0..<4).flatMap { known.states(of: $0) } == [.acknowledged, .pending, .pending, .pending])
      // The same for who begins to look now.
      #expect(try states(directory, 0..<4) == [.acknowledged, .pending, .pending, .pending])
    }
  }

  @Test func `a log without deliveries has no providers, and a missing one is an error`() throws {
    try withDirectory { directory in
      _ = try Tracker(directory: directory, configuration: quiet())
      let states = DeliveryStates(LogDirectory(directory))
      #expect(try states.update().ranges.isEmpty)
      #expect(states.states(of: 0).isEmpty)
      let missing = DeliveryStates(LogDirectory(directory + "/nowhere"))
      #expect(throws: WeirError.self) { try missing.update() }
    }
  }
}

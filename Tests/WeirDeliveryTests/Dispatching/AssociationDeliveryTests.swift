// Changes of the default user are told in order with the events, once more after a restart, and redacted.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct AssociationDeliveryTests {
  private typealias Call = ScriptedProvider.Call

  /// What a provider was told, with events as their numbers.
  private func story(_ provider: ScriptedProvider, _ numbers: [EventID: Int]) -> [String] {
    provider.calls.map { call in
      switch call {
      case .setup: "setup"
      case .associate(let user): "user \(user.id)"
      case .disassociate: "nobody"
      case .identify(let user): "traits of \(user.id)"
      case .deliver(let ids): ids.map { "\(numbers[$0] ?? -1)" }.joined(separator: " ")
      case .shutdown: "shutdown"
      }
    }
  }

  private func numbered(_ ids: [EventID]) -> [EventID: Int] {
    Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1, $0) })
  }

  @Test func `an association is told in order, after the events before it`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(answers: [.each { $0.fields["n"] == .int(0) ? .retry(after: nil) : .accepted }])
      var ids = try stage.capture(2)
      try stage.tracker.associate("ann", traits: ["plan": "paid"])
      ids += try stage.capture(2, from: 2)
      try stage.tracker.disassociate()
      try stage.tracker.associate("bob")
      ids += try stage.capture(1, from: 4)
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset == 8 })
      #expect(
        story(provider, numbered(ids)) == [
          "setup", "0 1", "0", "user ann", "traits of ann", "2 3", "nobody", "user bob", "traits of bob", "4",
        ])
      // Each change is an event that was accepted.
      #expect(stage.entry().acknowledged == 8)
      #expect(stage.entry().accepted == 8)
      #expect(stage.entry().isBalanced)
    }
  }

  @Test func `a change that could not be told is told again, and nothing goes past it`() async throws {
    struct Picky: Provider {
      let inner: ScriptedProvider
      var name: String { inner.name }
      let failures: Shared
      final class Shared: Sendable {
        let left = Mutex(2)
      }
      func associate(_ user: EventUser) async throws {
        try await inner.associate(user)
        if failures.left.withLock({ left in
          left -= 1
          return left >= 0
        }) {
          throw ScriptedProvider.Failure("not now")
        }
      }
      func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] { try await inner.deliver(events) }
    }
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let inner = ScriptedProvider()
      try stage.tracker.associate("ann")
      try stage.capture(3)
      try stage.dispatcher.add(Picky(inner: inner, failures: Picky.Shared()))
      #expect(await stage.run { stage.entry().offset == 4 })
      let user = Call.associate(EventUser(id: "ann"))
      #expect(inner.calls.prefix(3) == [user, user, user])
      #expect(inner.callSizes == [3])
      #expect(stage.clock.now.sinceStart >= .milliseconds(750))
    }
  }

  @Test func `the last association is told once more after a restart, before anything else`() async throws {
    try await withDirectoryAsync { directory in
      do {
        let stage = try DeliveryStage(directory)
        let provider = ScriptedProvider()
        try stage.dispatcher.add(provider)
        try stage.tracker.associate("ann")
        try stage.tracker.associate("bob", traits: ["plan": "paid", "email": "b@example.com"], sensitive: ["email"])
        try stage.capture(2)
        #expect(await stage.run { stage.entry().offset == 4 })
        try await stage.close()
      }
      for round in 0..<2 {
        let stage = try DeliveryStage(directory)
        let provider = ScriptedProvider()
        try stage.dispatcher.add(provider)
        let ids = try stage.capture(1, from: round)
        #expect(await stage.run { stage.entry().offset == UInt64(5 + round) })
        let bob = EventUser(id: "bob", traits: ["plan": "paid", "email": .redacted])
        #expect(provider.calls == [.setup, .associate(bob), .deliver(ids)])
        #expect(stage.entry().acknowledged == UInt64(5 + round))
        #expect(stage.entry().isBalanced)
        try await stage.close()
      }
      // Without the file the log tells, and with neither nobody does.
      try FileManager.default.removeItem(atPath: directory + "/cursors/scripted.user")
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      try stage.capture(1)
      #expect(await stage.run { stage.entry().offset == 7 })
      #expect(provider.calls.contains(.associate(EventUser(id: "bob", traits: ["plan": "paid", "email": .redacted]))))
    }
  }

  /// A log of `n 0`, ann, `n 1`, `n 2`, bob, `n 3`, all of it delivered.
  private func delivered(_ directory: String) async throws -> (DeliveryStage, ScriptedProvider, [EventID: Int]) {
    let stage = try DeliveryStage(directory)
    let provider = ScriptedProvider()
    var ids = try stage.capture(1)
    try stage.tracker.associate("ann", traits: ["plan": "paid"])
    ids += try stage.capture(2, from: 1)
    try stage.tracker.associate("bob")
    ids += try stage.capture(1, from: 3)
    try stage.dispatcher.add(provider)
    #expect(await stage.run { stage.entry().offset == 6 })
    return (stage, provider, numbered(ids))
  }

  @Test func `a rewind tells of the user of its position first`() async throws {
    try await withDirectoryAsync { directory in
      let (stage, provider, numbers) = try await delivered(directory)
      var known = provider.calls.count
      for (position, expected) in [
        (3, ["user ann", "2", "user bob", "traits of bob", "3"]),
        (5, ["user bob", "3"]),
        (1, ["nobody", "user ann", "traits of ann", "1 2", "user bob", "traits of bob", "3"]),
        (3, ["user ann", "2", "user bob", "traits of bob", "3"]),
      ] as [(Offset, [String])] {
        let dispatcher = stage.dispatcher
        _ = try await stage.running { try? await dispatcher.rewind("scripted", to: .offset(position)) }
        #expect(await stage.run { stage.entry().offset == 6 && stage.entry().from == position })
        #expect(Array(story(provider, numbers)[known...]) == expected, "\(position)")
        known = provider.calls.count
      }
      await stage.kill()
    }
  }

  @Test func `a start after a rewind tells of the user of its position`() async throws {
    try await withDirectoryAsync { directory in
      let (first, _, numbers) = try await delivered(directory)
      await first.kill()
      _ = first.dispatcher.close()
      try LogDirectory(directory).rewind("scripted", to: .offset(3))
      for (round, expected) in [["setup", "user ann", "2", "user bob"], ["setup", "user bob", "4"]].enumerated() {
        let stage = try DeliveryStage(on: first.tracker)
        let provider = ScriptedProvider()
        try stage.dispatcher.add(provider)
        var numbers = numbers
        if round == 1, let id = try stage.capture(1, from: 4).first { numbers[id] = 4 }
        #expect(await stage.run { stage.entry().offset == Offset(6 + round) })
        #expect(story(provider, numbers).starts(with: expected))
        await stage.kill()
        _ = stage.dispatcher.close()
      }
    }
  }

  @Test func `the change before a position is found however far it lies back, and in the file if it was removed`()
    throws
  {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      tracker.track("e")
      try tracker.associate("ann")
      for _ in 0..<20_000 { tracker.track("e") }
      try tracker.associate("bob")
      try tracker.drain()
      _ = try CursorLock("p", of: directory, calls: SystemCalls())
      var file = try AssociationFile("p", of: directory, calls: SystemCalls())
      #expect(try file.back(from: nil, before: 9, first: 0) == nil)
      #expect(try file.back(from: 1, before: 9, first: 0) == 1)
      #expect(try file.back(from: 20_002, before: 19_000, first: 0) == 1)
      #expect(try AssociationFile("p", of: directory, calls: SystemCalls()).find(1)?.user == EventUser(id: "ann"))
      // The log begins after the change.
      #expect(try file.back(from: 20_002, before: 19_000, first: 7) == 1)
      #expect(try file.back(from: 20_002, before: 1, first: 0) == nil)
    }
  }

  @Test func `the change that the cursor names stays in the file beside it`() throws {
    try withDirectory { directory in
      _ = try Tracker(directory: directory, configuration: quiet())
      _ = try CursorLock("p", of: directory, calls: SystemCalls())
      var file = try AssociationFile("p", of: directory, calls: SystemCalls())
      // Told to 50, rewound to 10, told to 50 again, and to 100.
      for (offset, named) in [(50, nil), (10, 50), (50, 10), (100, 50)] as [(Offset, Offset?)] {
        file.add(HeldAssociation(offset: offset, bytes: 0, user: EventUser(id: "\(offset)")))
        try file.write(upTo: offset, named: named)
      }
      let read = try AssociationFile("p", of: directory, calls: SystemCalls())
      #expect(read.find(50)?.user?.id == "50")
      #expect(read.find(100)?.user?.id == "100")
    }
  }

  @Test func `the file beside the cursor is read whole, and passed over damaged`() throws {
    try withDirectory { directory in
      try withDirectory { _ in }
      _ = try Tracker(directory: directory, configuration: quiet())
      _ = try CursorLock("p", of: directory, calls: SystemCalls())
      var file = try AssociationFile("p", of: directory, calls: SystemCalls())
      let users: [EventUser?] = [EventUser(id: "a", traits: ["x": 1]), nil, EventUser(id: "ü", traits: [:])]
      for (offset, user) in users.enumerated() {
        file.add(HeldAssociation(offset: Offset(offset), bytes: 0, user: user))
        try file.write(upTo: Offset(offset), named: offset == 0 ? nil : Offset(offset - 1))
      }
      let read = try AssociationFile("p", of: directory, calls: SystemCalls())
      #expect(read.find(2)?.user == users[2])
      #expect(read.find(2)?.isRepeated == true)
      #expect(read.find(1)?.offset == 1)
      #expect(read.find(1)?.user == nil)
      #expect(read.find(nil) == nil)
      let url = URL(filePath: directory + "/cursors/p.user")
      let whole = try Data(contentsOf: url)
      for place in whole.indices {
        var bytes = whole
        bytes[place] ^= 0x41
        try bytes.write(to: url)
        #expect(try AssociationFile("p", of: directory, calls: SystemCalls()).find(2) == nil, "\(place)")
        try whole[..<place].write(to: url)
        #expect(try AssociationFile("p", of: directory, calls: SystemCalls()).find(2) == nil, "\(place)")
      }
    }
  }
}

// Which events tell the provider of their user: once for each change of the traits, in order, and not again after a
// restart.

import Foundation
import Synchronization
import TestSupport
import Testing
import Weir
import WeirTesting

@testable import WeirDelivery

struct ToldUsersTests {
  /// Captures an event for a user.
  private func capture(_ stage: DeliveryStage, _ number: Int, _ user: String, _ plan: String?) throws {
    let traits: FieldObject = plan.map { ["plan": .string($0), "age": 7] } ?? [:]
    try Bindings.with(user: user, traits: traits) { _ = try stage.capture(1, from: number) }
  }

  /// The delivered events that tell of a user, as `number user plan`.
  private func told(_ provider: ScriptedProvider) -> [String] {
    provider.delivered.filter(\.identifies).map { event in
      guard case .int(let number)? = event.fields["n"], let user = event.context.user,
        case .string(let plan)? = user.traits["plan"]
      else { return "?" }
      return "\(number) \(user.id) \(plan)"
    }
  }

  @Test func `each change is told once, with the first event after the change`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try capture(stage, 0, "ann", "free")
      try Bindings.with(user: "ann", traits: ["age": 7, "plan": "free"]) { _ = try stage.capture(1, from: 1) }
      try capture(stage, 2, "bob", nil)
      try capture(stage, 3, "ann", "paid")
      try capture(stage, 4, "bob", "free")
      try capture(stage, 5, "ann", "paid")
      try stage.capture(1, from: 6)
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset == 7 })
      #expect(told(provider) == ["0 ann free", "3 ann paid", "4 bob free"])
      try await stage.close()
    }
  }

  @Test func `a restart repeats nothing, and a removed provider knows nobody`() async throws {
    try await withDirectoryAsync { directory in
      for (round, plan) in ["free", "free", "paid"].enumerated() {
        let stage = try DeliveryStage(directory)
        let provider = ScriptedProvider()
        try capture(stage, round, "ann", plan)
        try stage.dispatcher.add(provider)
        #expect(await stage.run { stage.entry().offset == Offset(round + 1) })
        #expect(told(provider) == [["0 ann free"], [], ["2 ann paid"]][round])
        try await stage.close()
      }
      try Cursor.remove("scripted", of: directory, calls: SystemCalls())
      #expect(!FileManager.default.fileExists(atPath: directory + "/cursors/scripted.users"))
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset == 3 })
      #expect(told(provider) == ["0 ann free", "2 ann paid"])
      try await stage.close()
    }
  }

  @Test func `a rewind tells again, and so does a cursor that is gone`() async throws {
    try await withDirectoryAsync { directory in
      for round in 0..<3 {
        let stage = try DeliveryStage(directory)
        let provider = ScriptedProvider()
        if round == 0 { for number in 0..<2 { try capture(stage, number, "ann", "free") } }
        try stage.dispatcher.add(provider)
        #expect(await stage.run { stage.entry().offset == 2 })
        #expect(told(provider) == ["0 ann free"])
        try await stage.close()
        if round == 0 { _ = try LogDirectory(directory).rewind("scripted", to: .beginning) }
        if round == 1 { try FileManager.default.removeItem(atPath: directory + "/cursors/scripted") }
      }
    }
  }

  @Test func `an event that was not accepted has told nothing`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      for number in 0..<4 { try capture(stage, number, "ann", number < 3 ? "free" : "paid") }
      let provider = ScriptedProvider(answers: [
        .each { event in
          switch event.fields["n"] {
          case .int(0)?: .rejected("no")
          case .int(1)?: .retry(after: nil)
          default: .accepted
          }
        }
      ])
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset == 4 })
      // Of the first batch, the rejected event told of the free plan. The retried event is older than what was told
      // last.
      #expect(told(provider) == ["3 ann paid"])
      try capture(stage, 4, "ann", "free")
      #expect(await stage.run { stage.entry().offset == 5 })
      #expect(told(provider) == ["3 ann paid", "4 ann free"])
      try await stage.close()
    }
  }

  /// The users that `identify(_:)` was called for.
  private func identified(_ provider: ScriptedProvider) -> [EventUser] {
    provider.calls.compactMap { if case .identify(let user) = $0 { user } else { nil } }
  }

  @Test func `a user whose telling event is rejected is told without an event`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      for number in 0..<2 { try capture(stage, number, "ann", "free") }
      for number in 2..<4 { try capture(stage, number, "bob", "free") }
      let provider = ScriptedProvider(answers: [
        .each { event in [.int(0), .int(2)].contains(event.fields["n"]) ? .rejected("no") : .accepted }
      ])
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset == 4 })
      #expect(told(provider).isEmpty)
      #expect(identified(provider) == ["ann", "bob"].map { EventUser(id: $0, traits: ["plan": "free", "age": 7]) })
      #expect(try LogDirectory(directory).deadLetters(of: "scripted").count == 2)
      // Who takes users with events alone is told with the next.
      try capture(stage, 4, "ann", "free")
      #expect(await stage.run { stage.entry().offset == 5 })
      #expect(told(provider) == ["4 ann free"])
      #expect(identified(provider).count == 2)
      try await stage.close()
    }
  }

  /// Rejects every event, and fails in the first calls that tell of users.
  private final class Stubborn: Provider {
    struct Failure: Error {}

    let name = "scripted"
    let failures: [any Error]
    let identified = Mutex<[String]>([])
    let delivered = Mutex(0)

    init(_ failures: [any Error]) { self.failures = failures }

    func identify(_ user: EventUser) async throws {
      let count = identified.withLock { users in
        users.append(user.id)
        return users.count
      }
      if count <= failures.count { throw failures[count - 1] }
    }

    func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
      delivered.withLock { $0 += 1 }
      return events.map { _ in .rejected("never") }
    }
  }

  @Test func `an event whose user could not be told is not settled before`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try capture(stage, 0, "ann", "free")
      let provider = Stubborn([Stubborn.Failure(), Stubborn.Failure()])
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset == 1 })
      #expect(provider.identified.withLock { $0 } == ["ann", "ann", "ann"])
      #expect(provider.delivered.withLock { $0 } == 3)
      #expect(try LogDirectory(directory).deadLetters(of: "scripted").count == 1)
      #expect(stage.entry().isBalanced)
      try await stage.close()
    }
  }

  @Test func `a user that the provider refuses costs nothing`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try capture(stage, 0, "ann", "free")
      let provider = Stubborn([BatchRefused("no such user")])
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset == 1 })
      #expect(provider.identified.withLock { $0 } == ["ann"])
      #expect(provider.delivered.withLock { $0 } == 1)
      try await stage.close()
    }
  }

  @Test func `a kill before the user is told loses neither the event nor the user`() async throws {
    try await withDirectoryAsync { directory in
      let first = try DeliveryStage(directory)
      try capture(first, 0, "ann", "free")
      let failing = Stubborn(Array(repeating: Stubborn.Failure(), count: 1_000))
      try first.dispatcher.add(failing)
      #expect(await first.run { failing.identified.withLock { $0.count } >= 2 })
      await first.kill()
      #expect(try LogDirectory(directory).deadLetters(of: "scripted").isEmpty)
      let provider = Stubborn([])
      let second = try Dispatcher(directory: directory)
      try second.add(provider)
      try second.start()
      #expect(await second.shutdown(budget: .seconds(900)).isComplete)
      #expect(provider.identified.withLock { $0 } == ["ann"])
      #expect(try LogDirectory(directory).deadLetters(of: "scripted").count == 1)
      try first.tracker.close()
    }
  }

  @Test func `the default user is told once, and by events only after a change`() async throws {
    try await withDirectoryAsync { directory in
      let ann = EventUser(id: "ann", traits: ["plan": "free", "age": 7])
      for round in 0..<2 {
        let stage = try DeliveryStage(directory)
        let provider = ScriptedProvider()
        try stage.dispatcher.add(provider)
        if round == 0 { try stage.tracker.associate("ann", traits: ann.traits) }
        try stage.capture(1)
        try capture(stage, 1, "ann", "free")
        #expect(await stage.run { stage.entry().offset == [3, 5][round] })
        #expect(provider.calls.filter { $0 == .associate(ann) }.count == 1)
        #expect(provider.calls.filter { $0 == .identify(ann) }.count == 1 - round)
        #expect(told(provider).isEmpty)
        try await stage.close()
      }
    }
  }

  @Test(arguments: ["", "WEIRUSRS", "other", "cut", "flipped"])
  func `a damaged file costs a repetition`(_ damage: String) async throws {
    try await withDirectoryAsync { directory in
      let path = URL(filePath: directory + "/cursors/scripted.users")
      let repeated = ["cut", "flipped"].contains(damage) ? 1 : 2
      for (round, expected) in [2, repeated, 0].enumerated() {
        let stage = try DeliveryStage(directory)
        let provider = ScriptedProvider()
        for user in ["ann", "bob"] { try capture(stage, round, user, "free") }
        try stage.dispatcher.add(provider)
        #expect(await stage.run { stage.entry().offset == Offset(2 * round + 2) })
        #expect(told(provider).count == expected)
        try await stage.close()
        guard round == 0 else { continue }
        var bytes = try Data(contentsOf: path)
        #expect(bytes.count == 96)
        switch damage {
        case "cut": bytes.removeLast()
        case "flipped": bytes[40] ^= 1
        default: bytes = Data(damage.utf8)
        }
        try bytes.write(to: path)
      }
    }
  }

  @Test func `the file stays small, and the users told first are forgotten first`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      var options = DeliveryOptions()
      options.userMemory = 100
      try stage.dispatcher.add(provider, options: options)
      for number in 0..<3_000 { try capture(stage, number, "user-\(number)", "free") }
      #expect(await stage.run { stage.entry().offset == 3_000 })
      try capture(stage, 3_000, "user-2999", "free")
      try capture(stage, 3_001, "user-0", "free")
      #expect(await stage.run { stage.entry().offset == 3_002 })
      #expect(told(provider).count == 3_001)
      #expect(told(provider).last == "3001 user-0 free")
      try await stage.close()
      let size = try Data(contentsOf: URL(filePath: directory + "/cursors/scripted.users")).count
      #expect(size <= 32 * (4 * 100 + 1_024 + 1))
    }
  }

  @Test func `a provider whose memory is zero is told nothing`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      var options = DeliveryOptions()
      options.userMemory = 0
      try stage.dispatcher.add(provider, options: options)
      try capture(stage, 0, "ann", "free")
      #expect(await stage.run { stage.entry().offset == 1 })
      #expect(told(provider).isEmpty)
      try await stage.close()
      #expect(!FileManager.default.fileExists(atPath: directory + "/cursors/scripted.users"))
    }
  }
}

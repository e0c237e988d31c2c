// A scripted provider answers as it was told, in order, and remembers every call.

import Testing
import Weir
import WeirDelivery
import WeirTesting

@Suite(.timeLimit(.minutes(5))) struct ScriptedProviderTests {
  private func events(_ names: String...) -> [PreparedEvent] {
    names.enumerated().map { index, name in
      PreparedEvent(
        StoredEvent(
          offset: Offset(index), id: EventID(opening: 1, sequence: UInt64(index)),
          time: Timestamp(nanosecondsSince1970: 0), name: name, fields: [:]))
    }
  }

  @Test func `a scripted provider accepts everything unless told`() async throws {
    let provider = ScriptedProvider()
    let batch = events("a", "b")
    #expect(try await provider.deliver(batch) == [.accepted, .accepted])
    #expect(try await provider.deliver([]) == [])
    #expect(provider.delivered == batch)
    #expect(provider.name == "scripted")
  }

  @Test func `a scripted provider answers in the order of the script`() async throws {
    let provider = ScriptedProvider(
      answers: [
        .reject("no"), .retry(after: .seconds(3)), .each { $0.name == "a" ? .accepted : .rejected("not a") },
        .verdicts([.accepted]), .fail("503"), .acceptAndFail("lost"),
      ], finally: .retry(after: nil))
    let batch = events("a", "b")
    #expect(try await provider.deliver(batch) == [.rejected("no"), .rejected("no")])
    #expect(try await provider.deliver(batch) == [.retry(after: .seconds(3)), .retry(after: .seconds(3))])
    #expect(provider.delivered == [])
    #expect(try await provider.deliver(batch) == [.accepted, .rejected("not a")])
    #expect(provider.delivered == [batch[0]])
    #expect(try await provider.deliver(batch) == [.accepted])
    #expect(provider.delivered == [batch[0], batch[0]])
    await #expect(throws: ScriptedProvider.Failure("503")) { try await provider.deliver(batch) }
    #expect(provider.delivered.count == 2)
    #expect(provider.unusedAnswers == 1)
    await #expect(throws: ScriptedProvider.Failure("lost")) { try await provider.deliver(batch) }
    #expect(provider.delivered.count == 4)
    #expect(try await provider.deliver(batch) == [.retry(after: nil), .retry(after: nil)])
    provider.then(.accept, .fail("again"))
    #expect(try await provider.deliver(batch) == [.accepted, .accepted])
    await #expect(throws: ScriptedProvider.Failure("again")) { try await provider.deliver(batch) }
    #expect(provider.delivered.count == 6)
  }

  @Test func `a scripted provider remembers every call`() async throws {
    let provider = ScriptedProvider(setupFailures: ["not yet"])
    let user = EventUser(id: "u1", traits: ["plan": "pro"])
    let batch = events("a", "b")
    await #expect(throws: ScriptedProvider.Failure("not yet")) { try await provider.setup() }
    try await provider.setup()
    try await provider.associate(user)
    _ = try await provider.deliver(batch)
    try await provider.disassociate()
    await provider.shutdown()
    #expect(
      provider.calls == [
        .setup, .setup, .associate(user), .deliver(batch.map(\.stored.id)), .disassociate, .shutdown,
      ])
  }

  @Test func `a scripted provider is slow by the clock that is given`() async throws {
    let clock = VirtualClock()
    let provider = ScriptedProvider(answers: [.slow(.seconds(30), then: .reject("late"))], clock: clock)
    let batch = events("a")
    let task = Task { try await provider.deliver(batch) }
    await clock.sleepers(atLeast: 1)
    #expect(clock.next == VirtualClock.Instant(.seconds(30)))
    // A dispatcher that does not wait is found out.
    #expect(try await provider.deliver(batch) == [.accepted])
    #expect(provider.overlaps == 1)
    clock.advance(by: .seconds(30))
    #expect(try await task.value == [.rejected("late")])
    #expect(try await provider.deliver(batch) == [.accepted])
    #expect(provider.overlaps == 1)
  }

  @Test func `a scripted provider hangs until it is cancelled`() async throws {
    let provider = ScriptedProvider(answers: [.hang])
    let batch = events("a")
    let task = Task { try await provider.deliver(batch) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(provider.delivered == [])
  }
}

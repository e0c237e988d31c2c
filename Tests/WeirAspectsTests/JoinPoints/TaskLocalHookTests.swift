// Hooks that are bound to a task: they hear its calls and its children's, whatever else runs in the process.

import Foundation
import Synchronization
import TestSupport
import Testing
import Weir
import WeirAspects
import WeirScopes

private final class Lamp: Sendable {
  static let point = JoinPoint<Lamp, (number: Int, ()), Int>("Lamp.light(_:)")

  @discardableResult
  func light(_ number: Int) -> Int { withJoinPoint(Self.point, self, (number: number, ())) { number } }
}

extension AspectTests {
  @Suite struct TaskLocal {
    /// Every kind of hook, and all that they heard.
    private func attach(_ heard: Heard, to object: Lamp) -> [Hook] {
      [
        Lamp.point.before(.everything) { _, call in heard.say("every \(call.number)") },
        Lamp.point.before(.exactly(Lamp.self)) { _, call in heard.say("exactly \(call.number)") },
        Lamp.point.after(.kind(of: Lamp.self)) { _, call, _ in heard.say("kind \(call.number)") },
        Lamp.point.after(.instance(object)) { _, call, _ in heard.say("one \(call.number)") },
      ]
    }

    @Test func `tests beside each other hear themselves alone`() async {
      let shared = Lamp()
      let attached = AsyncGate(parties: 2)
      await withTaskGroup(of: [String].self) { group in
        for number in 1...2 {
          group.addTask {
            await withTaskLocalHooks {
              let heard = Heard()
              let hooks = attach(heard, to: shared)
              // Both have hooks on the class and on the object when the first call is made.
              await attached.arrive()
              async let child = shared.light(number)
              _ = await child
              await Task { _ = shared.light(number) }.value
              await attached.arrive()
              for hook in hooks { hook.detach() }
              return heard.all
            }
          }
        }
        var found: [[String]] = []
        for await lines in group { found.append(lines) }
        let expected = (1...2).map { number in
          (1...2).flatMap { _ in ["every", "exactly", "kind", "one"].map { "\($0) \(number)" } }
        }
        #expect(found.sorted { $0.joined() < $1.joined() } == expected)
      }
    }

    @Test func `a call from outside is not heard`() async throws {
      let heard = Heard()
      let lamp = Lamp()
      let hook = await withTaskLocalHooks {
        let hook = Lamp.point.before(.everything) { _, call in heard.say("\(call.number)") }
        await Task.detached { _ = lamp.light(1) }.value
        onThreads(1) { _ in lamp.light(2) }
        lamp.light(3)
        return hook
      }
      lamp.light(4)
      withTaskLocalHooks { lamp.light(5) }
      #expect(heard.all == ["3"])
      withExtendedLifetime(hook) {}
    }

    @Test func `an outer hook hears what is called inside`() {
      let heard = Heard()
      let lamp = Lamp()
      withTaskLocalHooks {
        let outer = Lamp.point.before(.everything) { _, call in heard.say("outer \(call.number)") }
        withTaskLocalHooks {
          let inner = Lamp.point.before(.everything) { _, call in heard.say("inner \(call.number)") }
          lamp.light(1)
          withExtendedLifetime(inner) {}
        }
        let listed = JoinPointListing().joinPoints.flatMap(\.hooks)
        #expect(listed.contains { $0.hasPrefix("before, every call, in one task   ") })
        lamp.light(2)
        withExtendedLifetime(outer) {}
      }
      #expect(heard.all == ["outer 1", "inner 1", "outer 2"])
    }

    /// One that was attached outside hears all, as ever.
    @Test func `any other hook hears everything`() {
      let heard = Heard()
      let hook = Lamp.point.before(.everything) { _, call in heard.say("\(call.number)") }
      withTaskLocalHooks { Lamp().light(1) }
      Lamp().light(2)
      #expect(heard.all == ["1", "2"])
      hook.detach()
    }

    @Test func `an error keeps its type, and work its actor`() async {
      func refuse() throws(Refused) { throw Refused(item: 3) }
      func refuseLater() async throws(Refused) { throw Refused(item: 4) }
      do throws(Refused) {
        try withTaskLocalHooks { () throws(Refused) in try refuse() }
      } catch {
        #expect(error.item == 3)
      }
      do throws(Refused) {
        try await withTaskLocalHooks { () async throws(Refused) in try await refuseLater() }
      } catch {
        #expect(error.item == 4)
      }
    }
  }
}

/// A place where so many tasks wait for each other, over and over.
private actor AsyncGate {
  private let parties: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(parties: Int) { self.parties = parties }

  func arrive() async {
    guard waiting.count + 1 == parties else { return await withCheckedContinuation { waiting.append($0) } }
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}

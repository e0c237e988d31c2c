// What an adopter's program and its tests do with Weir, from several tasks and threads at once: ThreadSanitizer is to
// have nothing to say about it.

import Synchronization
import Weir
import WeirAspects
import WeirDelivery
import WeirScopes
import WeirTesting

/// A class with a join point, as the macro writes it.
final class Page: Sendable {
  static let open = JoinPoint<Page, (number: Int, ()), Int>("Page.open(_:)")
  static let close = JoinPoint<Page, (), Void>("Page.close()")

  func open(_ number: Int) -> Int { withJoinPoint(Self.open, self, (number: number, ())) { number } }
  func close() { withJoinPoint(Self.close, self, ()) {} }
}

struct Visit: Codable, Event {
  var page: Int
}

final class Count: Sendable {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }
  func up() { count.wrappingAdd(1, ordering: .relaxed) }
}

@main
struct Adopter {
  static let tasks = 8
  static let rounds = 200

  static func main() async throws {
    let spy = try SpyTracker()
    let tracker = spy.tracker
    let lifeCycle = try LifeCycle(tracker)
    let providers = ["one", "two"].map { ScriptedProvider(name: $0) }
    let dispatcher = try Dispatcher(tracker)
    for provider in providers { try dispatcher.add(provider) }
    let delivery = Task { try await dispatcher.run(budget: .seconds(60)) }
    let opened = Count()
    let shared = Page()
    let tracking = PageTracking("shared", of: .instance(shared), tracker: tracker)
    tracking.enters(on: Page.open)
    tracking.exits(on: Page.close)
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask { await use(tracker, shared, task, opened) }
      }
      group.addTask {
        for _ in 0..<20 {
          _ = await dispatcher.flush(timeout: .seconds(60))
          _ = tracker.ledger
        }
      }
    }
    try tracker.associate("ada")
    let report = await dispatcher.flush(timeout: .seconds(300))
    let delivered = providers.map { $0.delivered.filter { $0.name == "Visit" }.count }
    delivery.cancel()
    _ = try await delivery.value
    let all = tasks * rounds
    guard report.isComplete, opened.value == all, delivered == [all, all], spy.events(of: Visit.self).count == all
    else { fatalError("opened \(opened.value), delivered \(delivered), \(report)") }
    withExtendedLifetime((lifeCycle, tracking)) {}
    print("\(all) visits to each of \(providers.count) providers")
  }

  /// A request after the other, each with a user, a scope, and hooks that come and go.
  static func use(_ tracker: Tracker, _ shared: Page, _ task: Int, _ opened: Count) async {
    for round in 0..<rounds {
      await Bindings.with(user: "user-\(task)") {
        await tracker.withScope("request") { _ in
          let own = Page()
          let hook = Page.open.after(.instance(own)) { _, call, _ in
            tracker.track(Visit(page: call.number))
          }
          _ = own.open(round)
          _ = shared.open(round)
          shared.close()
          hook.detach()
          opened.up()
          await Task.yield()
        }
      }
    }
  }
}

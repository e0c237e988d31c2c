// A spy gives what was captured, at once, by type, and nothing of another test's.

import Foundation
import Testing
import Weir
import WeirContracts
import WeirDelivery
import WeirTesting

@Suite struct SpyTrackerTests {
  @Test func `a spy gives the events of a type in order`() throws {
    let spy = try SpyTracker()
    spy.tracker.track(Order.placed(number: 1, total: 19.9))
    spy.tracker.track(Page.viewed(path: "/cart"))
    spy.tracker.track(Order.paid(number: 1))

    #expect(spy.events(of: Order.self) == [.placed(number: 1, total: 19.9), .paid(number: 1)])
    #expect(spy.events(of: Page.self) == [.viewed(path: "/cart")])
    #expect(spy.last(of: Order.self) == .paid(number: 1))
    #expect(spy.names == ["Order.placed", "Page.viewed", "Order.paid"])
    #expect(spy.all.map(\.offset) == [0, 1, 2])
    #expect(spy.accepted == 3)
    #expect(spy.failures.isEmpty)
  }

  @Test func `a spy that saw nothing is empty`() throws {
    let spy = try SpyTracker()
    #expect(spy.events(of: Order.self) == [])
    #expect(spy.last(of: Order.self) == nil)
    #expect(spy.all == [])
    #expect(spy.notices == [])
    #expect(spy.accepted == 0)
    #expect(spy.dropped == [:])
    #expect(spy.failures == [])
  }

  @Test func `a recorded event has the id of its receipt, and a time`() throws {
    let spy = try SpyTracker()
    let before = Date().timeIntervalSince1970
    let receipt = spy.tracker.track(Order.paid(number: 2))
    let recorded = try #require(spy.recorded(of: Order.self).first)
    #expect(recorded.id == receipt.id)
    #expect(recorded.event == .paid(number: 2))
    let seconds = Double(recorded.time.nanosecondsSince1970) / 1e9
    #expect(abs(seconds - before) < 60)
  }

  @Test func `a spy is asked again and again`() throws {
    let spy = try SpyTracker()
    for number in 0..<200 {
      spy.tracker.track(Order.paid(number: number))
      #expect(spy.events(of: Order.self).count == number + 1)
    }
  }

  @Test func `an event that cannot be read is a failure once`() throws {
    let spy = try SpyTracker()
    spy.tracker.track(Unreadable())
    spy.tracker.track(Order.paid(number: 1))
    #expect(spy.events(of: Unreadable.self).isEmpty)
    #expect(spy.events(of: Unreadable.self).isEmpty)
    #expect(spy.failures.count == 1)
    #expect(spy.failures.first?.event?.name == "unreadable")
    #expect(spy.failures.first?.message.contains("value") == true)
    #expect(spy.events(of: Order.self) == [.paid(number: 1)])
  }

  @Test func `refusals are counted by reason`() throws {
    let spy = try SpyTracker { $0.maximumEventBytes = 64 }
    spy.tracker.track(Page.viewed(path: String(repeating: "x", count: 1000)))
    spy.tracker.track("")
    spy.tracker.track("weir.own")
    #expect(spy.dropped == [.tooLarge: 1, .invalid: 2])
    #expect(spy.accepted == 0)
    #expect(spy.all.isEmpty)
    #expect(!spy.notices.isEmpty)
    #expect(spy.notices.allSatisfy { $0.name == "weir.gap" })
  }

  @Test func `a reset forgets what was before`() throws {
    let spy = try SpyTracker()
    spy.tracker.track(Order.paid(number: 1))
    spy.tracker.track(Unreadable())
    spy.tracker.track("")
    _ = spy.events(of: Unreadable.self)
    spy.reset()
    #expect(spy.all.isEmpty)
    #expect(spy.failures.isEmpty)
    #expect(spy.accepted == 0)
    #expect(spy.dropped == [:])
    spy.tracker.track(Order.paid(number: 2))
    spy.tracker.track("")
    #expect(spy.events(of: Order.self) == [.paid(number: 2)])
    #expect(spy.accepted == 1)
    #expect(spy.dropped == [.invalid: 1])
  }

  @Test func `events of many threads are all there, each thread's in order`() throws {
    let spy = try SpyTracker()
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for number in 0..<2000 { spy.tracker.track(Order.placed(number: number, total: Double(thread))) }
    }
    var next: [Double: Int] = [:]
    for case .placed(let number, let thread) in spy.events(of: Order.self) {
      // Threads without a lane of their own may be out of order; the small ring has four.
      next[thread, default: 0] += 1
      #expect(number < 2000)
    }
    #expect(next.count == 8)
    #expect(next.values.allSatisfy { $0 == 2000 })
    #expect(spy.dropped == [:])
  }

  @Test func `a spy waits for what another task captures`() async throws {
    let spy = try SpyTracker()
    let task = Task {
      for number in 0..<3 {
        try await Task.sleep(for: .milliseconds(5))
        spy.tracker.track(Order.paid(number: number))
      }
    }
    #expect(await spy.wait(for: 3, of: Order.self, upTo: .seconds(900)).count == 3)
    try await task.value
  }

  @Test func `a wait ends at its time, and with the task`() async throws {
    let spy = try SpyTracker()
    spy.tracker.track(Order.paid(number: 1))
    #expect(await spy.wait(for: 2, of: Order.self, upTo: .milliseconds(20)) == [.paid(number: 1)])
    let task = Task { await spy.wait(for: 2, of: Order.self, upTo: .seconds(3600)) }
    task.cancel()
    #expect(await task.value == [.paid(number: 1)])
  }

  @Test func `the directory goes with the spy`() throws {
    var spy: SpyTracker? = try SpyTracker()
    let directory = try #require(spy?.tracker.directory)
    #expect(FileManager.default.fileExists(atPath: directory))
    let mode = try FileManager.default.attributesOfItem(atPath: directory)[.posixPermissions] as? Int
    #expect(mode == 0o700)
    spy = nil
    #expect(!FileManager.default.fileExists(atPath: directory))
  }

  @Test func `a closed spy still has its events`() throws {
    let spy = try SpyTracker()
    spy.tracker.track(Order.paid(number: 1))
    spy.close()
    #expect(!FileManager.default.fileExists(atPath: spy.tracker.directory))
    #expect(spy.tracker.track(Order.paid(number: 2)) == .dropped(.closed))
    #expect(spy.events(of: Order.self) == [.paid(number: 1)])
    spy.close()
    #expect(spy.failures.isEmpty)
  }

  @Test func `code under test may close the tracker`() throws {
    let spy = try SpyTracker()
    spy.tracker.track(Order.paid(number: 1))
    try spy.tracker.close()
    #expect(spy.events(of: Order.self) == [.paid(number: 1)])
    #expect(spy.failures.isEmpty)
  }

  @Test func `code under test may outlive the spy`() throws {
    var spy: SpyTracker? = try SpyTracker()
    let tracker = try #require(spy?.tracker)
    spy = nil
    #expect(tracker.track(Order.paid(number: 1)) == .dropped(.closed))
  }

  @Test func `each spy has a log of its own`() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<16 {
        group.addTask {
          let spy = try SpyTracker()
          spy.tracker.track(Order.paid(number: number))
          await Task.yield()
          #expect(spy.events(of: Order.self) == [.paid(number: number)])
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func `a spy tells what is against the contract`() throws {
    let contract = Contract("orders", version: "1") {
      EventRule("Order.paid") { Mandatory("number", .integer, .range(1...)) }
      EventRule("Order.placed", open: true)
    }
    let spy = try SpyTracker(contract: contract)
    spy.tracker.track(Order.paid(number: 1))
    spy.tracker.track(Order.paid(number: 0))
    // The log's own events are nobody's to declare.
    try spy.tracker.associate("ada")
    #expect(spy.violations.map(\.field) == ["number"])
    #expect(spy.violations.map(\.value) == [.int(0)])
    spy.reset()
    #expect(spy.violations == [])
    spy.tracker.track(Page.viewed(path: "/"))
    #expect(spy.violations.map(\.event) == ["Page.viewed"])
    #expect(try SpyTracker().violations == [])
  }

  @Test func `a contract that makes no sense is an error`() throws {
    let contract = Contract("twice", version: "1") {
      EventRule("Order.paid")
      EventRule("Order.paid")
    }
    #expect(throws: ContractError.self) { try SpyTracker(contract: contract) }
  }

  @Test func `a spy gives the context of each event`() throws {
    let spy = try SpyTracker { $0.globals.app = "shop" }
    Bindings.with(user: "ada") {
      Bindings.with(fields: ["request": "r-1"]) { spy.tracker.track(Order.paid(number: 1)) }
    }
    spy.tracker.track(Order.paid(number: 2))
    let contexts = spy.recorded(of: Order.self).map(\.context)
    #expect(contexts.map(\.user?.id) == ["ada", nil])
    #expect(contexts.map { $0.fields["request"] } == ["r-1", nil])
    #expect(contexts.map { $0.globals["app"] } == ["shop", "shop"])
  }

  @Test func `a spy gives events as a provider gets them`() throws {
    let spy = try SpyTracker()
    spy.tracker.track(Order.paid(number: 1))
    spy.tracker.track(Page.viewed(path: "/"))
    let orders = EventMapper(.only { $0.name != "Page.viewed" }, .snakeCase())
    for _ in 0..<2 { #expect(spy.prepared(by: orders).map(\.name) == ["order_paid"]) }
    #expect(spy.prepared().map(\.name) == ["Order.paid", "Page.viewed"])
  }

  @Test func `a configuration that is refused is an error`() throws {
    let error = #expect(throws: WeirError.self) { try SpyTracker { $0.laneCount = 1 } }
    #expect(error?.code == .invalid)
  }
}

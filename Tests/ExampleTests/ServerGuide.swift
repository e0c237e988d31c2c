// page: Sources/Weir/Weir.docc/Guides/Server.md

import Dispatch
import Testing
import Weir
import WeirDelivery
import WeirTesting

@Suite struct ServerGuide {
  // snippet
  /// Opened once, before the server takes its first request.
  static func openLog(of instance: String, in parent: String) throws -> Tracker {
    var configuration = Tracker.Configuration()
    configuration.byteLimit = 4 << 30
    configuration.atByteLimit = .dropOldest
    configuration.removeDelivered = true
    return try Tracker(directory: "\(parent)/\(instance)", configuration: configuration)
  }
  // end
}

extension ServerGuide {
  struct Shop: Sendable {
    let tracker: Tracker
    let queue = DispatchQueue(label: "mail")

    // snippet
    func handle(_ request: Request) async throws {
      try await Bindings.with(user: request.user, fields: ["request": .string(request.id)], view: "/checkout") {
        try await startCheckout(request.cart)
      }
    }

    // Deep inside, nobody hands the user down.
    func startCheckout(_ cart: UInt64) async throws {
      tracker.track(Checkout.started(cart: cart))
      await sendMail(cart)
    }
    // end

    // snippet
    func sendMail(_ cart: UInt64) async {
      let bindings = Bindings.current
      queue.async {
        bindings.run { tracker.track("mail.sent", fields: ["cart": .uint(cart)]) }
      }
      await Task.detached {
        await bindings.run { await askForStock(cart) }
      }.value
    }
    // end

    private func askForStock(_ cart: UInt64) async {
      await Task.yield()
      tracker.track("stock.asked", fields: ["cart": .uint(cart)])
    }
  }

  @Test func `detached tasks and queues have the bindings that are carried over`() async throws {
    let spy = try SpyTracker()
    let shop = Shop(tracker: spy.tracker)
    try await shop.handle(Request(id: "r-1", user: "ada", cart: 7))
    shop.queue.sync {}
    #expect(Set(spy.names) == ["checkout.started", "stock.asked", "mail.sent"])
    #expect(spy.all.allSatisfy { $0.context.user?.id == "ada" })
    #expect(spy.all.allSatisfy { $0.context.view?.name == "/checkout" })
    #expect(spy.all.allSatisfy { $0.context.fields["request"] == "r-1" })
  }

  @Test func `a detached task and a queue have no bindings of their own`() async throws {
    let queue = DispatchQueue(label: "none")
    await Bindings.with(user: "ada") {
      #expect(await Task { Bindings.current.user?.id }.value == "ada")
      #expect(await Task.detached { Bindings.current.user?.id }.value == nil)
      let onQueue = await withCheckedContinuation { done in
        queue.async { done.resume(returning: Bindings.current.user?.id) }
      }
      #expect(onQueue == nil)
    }
  }

  @Test func `a request may wait for the disk`() async throws {
    let scratch = try ScratchFolder()
    let tracker = try ServerGuide.openLog(of: "0", in: scratch.path)
    // snippet
    try await tracker.audit(Checkout.completed(order: 41, total: 19.90, items: 3, currency: "EUR", coupon: nil))
    // end
    #expect(tracker.durableOffset > 0)
    #expect(throws: WeirError.self) { try ServerGuide.openLog(of: "0", in: scratch.path) }

    let dispatcher = try Dispatcher(tracker)
    try dispatcher.add(ClosureProvider("names") { $0.map { _ in .accepted } })
    // snippet
    let delivery = Task { try await dispatcher.run() }
    // end
    // The budget above is a program's; a machine that is busy with tests may take longer.
    await dispatcher.flush(timeout: .seconds(900))
    // snippet
    delivery.cancel()
    let report = try await delivery.value
    if !report.isComplete { print("the next start delivers the rest: \(report)") }
    // end
    #expect(report.isComplete)
    #expect(tracker.track(Checkout.started(cart: 8)) == .dropped(.closed))
  }
}

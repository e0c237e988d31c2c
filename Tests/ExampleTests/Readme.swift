// page: README.md, from block 3
//
// swift-format-ignore-file: OrderedImports
// The recipes of the README. The blocks before them, a program and the lines for its package, are built and run as
// printed by Tests/Consumer/quickstart.py.

#if Macros
  import Dispatch
  import Testing
  import Weir
  import WeirAspects
  import WeirContracts
  import WeirDelivery
  import WeirTesting

  // snippet
  @Event("catalogue", kind: .pageAction)
  enum Catalogue {
    case opened(product: UInt64, position: Int32 = 0)

    @Field(of: "query", sensitive: true)
    case searched(query: String, results: Int32)
  }
  // end

  @Suite struct ReadmeRecipes {
    @Test func `a sensitive field is declared with the event`() throws {
      let spy = try SpyTracker()
      spy.tracker.track(Catalogue.opened(product: 9))
      spy.tracker.track(Catalogue.searched(query: "hat", results: 2))
      #expect(spy.names == ["catalogue.opened", "catalogue.searched"])
      #expect(Catalogue.eventTypes[1].fields.map(\.isSensitive) == [true, false])
    }

    @Test func `events go to several providers`() async throws {
      let scratch = try ScratchFolder()
      let tracker = try Tracker(directory: scratch.path + "/events")
      let spool = scratch.path + "/spool"
      // snippet
      let dispatcher = try Dispatcher(tracker)
      try dispatcher.add(contentsOf: [
        JSONLinesProvider(spool),
        ClosureProvider("console") { events in
          for event in events { print(event.name, event.fields) }
          return events.map { _ in .accepted }
        },
      ])
      let delivery = Task { try await dispatcher.run() }
      // end
      #expect(tracker.track(Checkout.started(cart: 7)).isAccepted)
      // The budget above is a program's; a machine that is busy with tests may take longer.
      let flushed = await dispatcher.flush(timeout: .seconds(900))
      delivery.cancel()
      let report = try await delivery.value
      #expect(report.isComplete)
      #expect(flushed.entries.map(\.pending) == [0, 0])
    }
  }

  struct ReadmeServer: Sendable {
    let tracker: Tracker
    let queue: DispatchQueue

    // snippet
    func handle(_ request: Request) async throws {
      try await Bindings.with(user: request.user, fields: ["request": .string(request.id)], view: "/checkout") {
        tracker.track(Checkout.started(cart: request.cart))  // has the user, the field and the view
        try await reserve(request.cart)
        let bindings = Bindings.current
        queue.async { bindings.run { tracker.track("stock.asked", fields: ["cart": .uint(request.cart)]) } }
      }
    }
    // end

    /// Deep inside, nobody hands the user down.
    private func reserve(_ cart: UInt64) async throws {
      await Task.yield()
      tracker.track("cart.reserved", fields: ["cart": .uint(cart)])
    }
  }

  extension ReadmeRecipes {
    @Test func `a user follows the request`() async throws {
      let spy = try SpyTracker()
      let queue = DispatchQueue(label: "stock")
      try await ReadmeServer(tracker: spy.tracker, queue: queue)
        .handle(Request(id: "r-1", user: "ada", cart: 7))
      queue.sync {}
      // Threads have lanes of their own, and the log keeps the order of each.
      #expect(spy.names.sorted() == ["cart.reserved", "checkout.started", "stock.asked"])
      #expect(spy.all.map(\.context.user?.id) == ["ada", "ada", "ada"])
    }

    @Test func `what is against a contract is told`() throws {
      let alarms = Alarms()
      let spy = try SpyTracker()
      let tracker = spy.tracker
      // snippet
      let contract = Contract("shop", version: "1.0") {
        EventRule("checkout.started") { Mandatory("cart", .integer, .range(1...)) }
      }
      let inspector = try Inspector(tracker, contract: contract) { event, violation in
        alarms.raise("\(event.id): \(violation.redacted())")
      }
      // end
      tracker.track(Checkout.started(cart: 0))
      #expect(try inspector.inspect().violating == 1)
      #expect(alarms.raised.count == 1)
    }
  }

  // snippet
  @Instrumented
  class ItemPage {
    func like(item: UInt64) {}
  }

  final class GiftPage: ItemPage {}
  // end

  extension ReadmeRecipes {
    @Test func `a page is listened to`() throws {
      let spy = try SpyTracker()
      let tracker = spy.tracker
      // snippet
      // In a file of its own, which the page knows nothing of. The hook lasts as long as somebody keeps it.
      let hook = ItemPage.JoinPoints.like.after(.exactly(GiftPage.self)) { _, call, _ in
        tracker.track("gift.liked", fields: ["item": .uint(call.item)])
      }
      // end
      GiftPage().like(item: 7)
      ItemPage().like(item: 8)
      #expect(spy.names == ["gift.liked"])
      withExtendedLifetime(hook) {}
    }

    @Test func `a shutdown says what is left`() async throws {
      let scratch = try ScratchFolder()
      let tracker = try Tracker(directory: scratch.path + "/events")
      let dispatcher = try Dispatcher(tracker)
      try dispatcher.add(ClosureProvider("names") { $0.map { _ in .accepted } })
      let delivery = Task { try await dispatcher.run() }
      #expect(tracker.track(Checkout.started(cart: 7)).isAccepted)
      // The budget above is a program's; a machine that is busy with tests may take longer.
      await dispatcher.flush(timeout: .seconds(900))
      // snippet
      delivery.cancel()
      let report = try await delivery.value
      if !report.isComplete { print("the next start delivers the rest: \(report)") }
      // end
      #expect(report.isComplete)
      #expect(!tracker.track(Checkout.started(cart: 8)).isAccepted)
    }
  }
#endif

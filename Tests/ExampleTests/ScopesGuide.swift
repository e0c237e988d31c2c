// page: Sources/Weir/Weir.docc/Guides/Scopes.md

import Testing
import Weir
import WeirScopes
import WeirTesting

@Suite struct ScopesGuide {
  struct Shop: Sendable {
    let tracker: Tracker

    // snippet
    func handle(_ request: Request) async throws {
      try await Bindings.with(user: request.user) {
        try await tracker.withScope("/checkout") { scope in
          tracker.track(Checkout.started(cart: request.cart))  // view: id, name and parent of the scope
          try await reserve(request.cart)
        }
      }
    }
    // end

    private func reserve(_ cart: UInt64) async throws {
      await Task.yield()
      tracker.track("cart.reserved", fields: ["cart": .uint(cart)])
    }
  }

  @Test func `a request is a scope`() async throws {
    let spy = try SpyTracker()
    try await Shop(tracker: spy.tracker).handle(Request(id: "r-1", user: "ada", cart: 7))
    #expect(spy.names == ["scope.entered", "checkout.started", "cart.reserved", "scope.exited"])
    #expect(spy.all.allSatisfy { $0.context.view?.name == "/checkout" })
    #expect(spy.all.allSatisfy { $0.context.user?.id == "ada" })
  }

  @Test func `a scope may end in another call`() throws {
    let spy = try SpyTracker()
    let tracker = spy.tracker
    func handshake() { tracker.track("connection.shaken") }
    // snippet
    let connection = tracker.beginScope("connection")
    connection.run { handshake() }  // bound to this thread or task, and to tasks that are made there
    connection.track(Checkout.started(cart: 7))  // one event inside of it, from anywhere
    connection.end(interaction: "peer closed")
    // end
    #expect(spy.names == ["scope.entered", "connection.shaken", "checkout.started", "scope.exited"])
    #expect(spy.all.allSatisfy { $0.context.view?.name == "connection" })
  }

  @Test func `a user's requests are a session`() throws {
    let spy = try SpyTracker()
    let tracker = spy.tracker
    // snippet
    let sessions = try Sessions(tracker)
    sessions.with(user: "ada", fields: ["request": "r-7"]) {
      _ = tracker.track(Checkout.started(cart: 7))  // with session_id and session_number in its context
    }
    sessions.end(user: "ada")
    // end
    #expect(spy.names == ["session.started", "checkout.started", "session.ended"])
    #expect(spy.all.allSatisfy { $0.context.fields["session_number"] == .uint(1) })
  }

  /// Not run: the signals are the whole process's.
  private func watch(_ tracker: Tracker) throws {
    // snippet
    var configuration = LifeCycle.Configuration()
    configuration.signals = [.terminate]
    let lifeCycle = try LifeCycle(tracker, configuration: configuration)
    let observation = lifeCycle.observe { state in print("the process:", state.rawValue) }
    // end
    withExtendedLifetime((lifeCycle, observation)) {}
  }

  @Test func `a scope without an end is one that a crash cut short`() throws {
    let spy = try SpyTracker()
    let cut = spy.tracker.beginScope("import")
    spy.tracker.withScope("checkout") { _ in }
    try spy.tracker.drain()
    let events = spy.tracker.directory
    // snippet
    var open: [String: StoredEvent] = [:]
    let reader = try EventReader(directory: events)
    while let event = try reader.next() {
      guard let view = event.context.view else { continue }
      switch try ScopeEvent(event) {
      case .entered: open[view.id] = event
      case .exited: open[view.id] = nil
      default: break
      }
    }
    // end
    #expect(open.values.map { $0.context.view?.name } == ["import"])
    cut.end()
  }
}

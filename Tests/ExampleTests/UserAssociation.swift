// page: Sources/Weir/Weir.docc/Examples/UserAssociation.md

import Testing
import Weir
import WeirDelivery
import WeirTesting

// snippet
struct Request: Sendable {
  var id: String
  var user: String?
  var cart: UInt64
}

struct Server: Sendable {
  let tracker: Tracker

  func handle(_ request: Request) async throws {
    try await Bindings.with(user: request.user, fields: ["request": .string(request.id)], view: "/checkout") {
      try await startCheckout(request.cart)
    }
  }

  // Deep inside, nobody hands the user down.
  func startCheckout(_ cart: UInt64) async throws {
    await Task.yield()
    tracker.track(Checkout.started(cart: cart))
  }
}
// end

@Suite struct UserAssociationExample {
  @Test func `a server binds the user to the request`() async throws {
    let spy = try SpyTracker()
    let server = Server(tracker: spy.tracker)
    // snippet
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...20 {
        let request = Request(id: "r-\(number)", user: number % 5 == 0 ? nil : "user-\(number)", cart: UInt64(number))
        group.addTask { try await server.handle(request) }
      }
      try await group.waitForAll()
    }
    // end
    let recorded = spy.recorded(of: Checkout.self)
    #expect(recorded.count == 20)
    for each in recorded {
      guard case .started(let cart) = each.event else { continue }
      #expect(each.context.user?.id == (cart % 5 == 0 ? nil : "user-\(cart)"))
      #expect(each.context.fields["request"] == .string("r-\(cart)"))
      #expect(each.context.view?.name == "/checkout")
    }
    #expect(Set(recorded.compactMap(\.context.view?.id)).count == 20)
  }

  @Test func `an app associates its one user`() throws {
    let spy = try SpyTracker()
    let tracker = spy.tracker
    // snippet
    tracker.track(Checkout.started(cart: 1))

    try tracker.associate("ada", traits: ["plan": "plus", "email": "ada@example.org"], sensitive: ["email"])
    tracker.track(Checkout.started(cart: 2))
    Bindings.with(user: "support-12") {
      tracker.track(Checkout.abandoned(cart: 2, seconds: 30))
    }

    try tracker.disassociate()
    tracker.track(Checkout.started(cart: 3))
    // end
    #expect(spy.recorded(of: Checkout.self).map(\.context.user?.id) == [nil, "ada", "support-12", nil])
    #expect(
      spy.names == [
        "checkout.started", "weir.associated", "checkout.started", "checkout.abandoned", "weir.disassociated",
        "checkout.started",
      ])
    #expect(spy.all[2].context.user?.traits["plan"] == "plus")
    // A provider gets the trait that it needs, and not the address.
    let delivered = spy.prepared().first { $0.stored.offset == 2 }
    #expect(delivered?.context.user?.traits["plan"] == "plus")
    #expect(delivered?.context.user?.traits["email"] == .redacted)
  }
}

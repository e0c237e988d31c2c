// page: Sources/Weir/Weir.docc/Examples/GlobalFieldHydration.md

import Testing
import Weir
import WeirDelivery
import WeirTesting

@Suite struct GlobalFieldHydrationExample {
  @Test func `global fields are stored once and joined when read`() throws {
    // snippet
    var configuration = Tracker.Configuration()
    configuration.globals = .standard()  // the program's name, the host's, a new session
    configuration.globals.app = "shop"
    configuration.globals.version = "4.2.0"
    configuration.globals.environment = "production"
    configuration.globals.consent = "none"
    configuration.globals.fields = ["region": "eu-west", "deviceSerial": "C02-5512"]
    configuration.globals.sensitive = ["deviceSerial"]
    // end
    let spy = try SpyTracker { $0.globals = configuration.globals }
    let tracker = spy.tracker
    // snippet
    tracker.track(Checkout.started(cart: 7))
    try tracker.updateGlobals { $0.consent = "statistics" }
    tracker.track(Checkout.started(cart: 8))
    // end

    // snippet
    for recorded in try tracker.events(of: Checkout.self) {
      print(recorded.event, recorded.context.globals["version"] ?? "", recorded.context.globals["consent"] ?? "")
    }
    // end
    let globals = spy.recorded(of: Checkout.self).map(\.context.globals)
    #expect(globals.map { $0["consent"] } == ["none", "statistics"])
    #expect(globals.map { $0["version"] } == ["4.2.0", "4.2.0"])
    #expect(globals.map { $0["region"] } == ["eu-west", "eu-west"])
    #expect(globals[0]["session"] == globals[1]["session"])
    #expect(globals[0]["host"] != nil)
    // They are the context's, and not in the event.
    #expect(spy.all.map(\.fields) == [["cart": .uint(7)], ["cart": .uint(8)]])

    // snippet
    // For a provider that knows of events and fields alone.
    let flat = spy.prepared(by: .joiningContext())
    // end
    #expect(flat[1].fields["cart"] == .uint(8))
    #expect(flat[1].fields["app"] == "shop")
    #expect(flat[1].fields["consent"] == "statistics")
    #expect(flat[1].fields["deviceSerial"] == .redacted)
  }
}

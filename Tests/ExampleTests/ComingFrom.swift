// page: Sources/Weir/Weir.docc/Guides/ComingFrom.md

import Testing
import Weir
import WeirDelivery
import WeirHTTP
import WeirTesting

@Suite struct ComingFrom {
  @Test func `what was a call of Segment's library is an event`() throws {
    let spy = try SpyTracker()
    let tracker = spy.tracker
    // snippet
    try tracker.associate("user-7", traits: ["plan": "pro"])
    tracker.track("Order Completed", fields: ["order": 41, "total": 19.9])
    // end
    let ordered = try #require(spy.all.first { $0.name == "Order Completed" })
    #expect(ordered.context.user?.id == "user-7")
  }
}

#if HTTP
  /// Not called: it would send to Segment.
  private func deliver(_ tracker: Tracker, _ key: Secret) async throws -> DeliveryReport {
    // snippet
    let dispatcher = try Dispatcher(tracker)
    try dispatcher.add(HTTPProvider(SegmentPreset(writeKey: key)))
    let delivery = Task { try await dispatcher.run() }
    // end
    return try await delivery.value
  }
#endif

// The kit in XCTest. `make test` runs this class by itself, for the rest of the tests are in Swift Testing.

import Weir
import WeirTesting
import XCTest

final class XCTestTests: XCTestCase {
  func testASpyGivesTypedEvents() throws {
    let spy = try SpyTracker()
    spy.tracker.track(Order.placed(number: 1, total: 19.9))
    spy.tracker.track(Order.paid(number: 1))
    XCTAssertEqual(spy.events(of: Order.self), [.placed(number: 1, total: 19.9), .paid(number: 1)])
    XCTAssertEqual(spy.failures, [])
  }

  func testASpyWaitsForEvents() async throws {
    let spy = try SpyTracker()
    Task { spy.tracker.track(Order.paid(number: 1)) }
    let found = await spy.wait(for: 1, of: Order.self, upTo: .seconds(900))
    XCTAssertEqual(found, [.paid(number: 1)])
  }
}

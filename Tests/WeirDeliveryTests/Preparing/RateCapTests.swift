// The most events of some names in a time, and samples of users.

import TestSupport
import Testing

@testable import Weir
@testable import WeirDelivery

struct RateCapTests {
  private func event(_ name: String, at milliseconds: Int64, user: String? = nil) -> StoredEvent {
    StoredEvent(
      offset: 0, id: EventID(opening: 1, sequence: 1),
      time: Timestamp(nanosecondsSince1970: milliseconds * 1_000_000), name: name, fields: [:], declaration: nil,
      context: EventContext(user: user.map { EventUser(id: $0) }))
  }

  @Test func `events beyond the cap of their window are withheld, others pass`() {
    var options = DeliveryOptions()
    options.rateCaps = [RateCap("debug.*", "trace", most: 2, per: .seconds(1))]
    var preparation = Preparation(options)
    let given = [
      ("debug.a", 0), ("trace", 10), ("debug.b", 999), ("other", 999), ("debug.a", 1_000), ("debug.late", 998),
      ("debug.a", 1_001), ("debug.a", 1_002),
    ]
    let kept = given.filter { preparation.prepare(event($0.0, at: Int64($0.1))) != nil }.map { "\($0.0) \($0.1)" }
    #expect(kept == ["debug.a 0", "trace 10", "other 999", "debug.a 1000", "debug.a 1001"])
    #expect(preparation.counts.withheld == 3)
  }

  @Test func `a cap of zero withholds all`() {
    var options = DeliveryOptions()
    options.rateCaps = [RateCap("*", most: 0, per: .seconds(1))]
    var preparation = Preparation(options)
    #expect((0..<10).allSatisfy { preparation.prepare(event("e", at: $0 * 700)) == nil })
  }

  @Test func `a sample has all events of some users`() {
    let mapper = EventMapper.sampling(events: "debug.*", fraction: 0.25)
    let users = (0..<4_000).map { "user-\($0)" }
    let kept = users.filter { mapper(PreparedEvent(event("debug.a", at: 0, user: $0))) != nil }
    #expect((800...1_200).contains(kept.count))
    #expect(kept.allSatisfy { mapper(PreparedEvent(event("debug.b", at: 7, user: $0))) != nil })
    #expect(users.allSatisfy { mapper(PreparedEvent(event("other", at: 0, user: $0))) != nil })
    for (fraction, count) in [(0.0, 0), (1.0, 100)] {
      let mapper = EventMapper.sampling(events: "*", fraction: fraction)
      #expect(users.prefix(100).filter { mapper(PreparedEvent(event("e", at: 0, user: $0))) != nil }.count == count)
    }
  }
}

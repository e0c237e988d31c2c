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

  @Test func `an event that another cap withholds takes no place`() {
    var options = DeliveryOptions()
    options.rateCaps = [
      RateCap("*", most: 3, per: .seconds(1)), RateCap("debug.*", most: 1, per: .seconds(1)),
    ]
    var preparation = Preparation(options)
    let given = ["debug.a", "debug.b", "debug.c", "debug.d", "paid", "paid", "paid"]
    let kept = given.filter { preparation.prepare(event($0, at: 1)) != nil }
    #expect(kept == ["debug.a", "paid", "paid"])
    #expect(preparation.counts.withheld == 4)
  }

  @Test func `an event that the mapper withholds takes no place`() {
    var options = DeliveryOptions()
    options.rateCaps = [RateCap("*", most: 1, per: .seconds(1))]
    var preparation = Preparation(options, mapper: .only(events: "paid"))
    let kept = ["seen", "seen", "paid", "paid"].filter { preparation.prepare(event($0, at: 1)) != nil }
    #expect(kept == ["paid"])
    #expect(preparation.counts.withheld == 3)
  }

  /// A lane is drained as a whole, so its events may be many windows later or earlier than those of the lane before.
  @Test func `a cap holds for events of lanes that come one after the other`() {
    var options = DeliveryOptions()
    options.rateCaps = [RateCap("*", most: 1, per: .milliseconds(1))]
    var preparation = Preparation(options)
    for _ in 0..<3 {
      for time in 0..<500 { _ = preparation.prepare(event("e", at: Int64(time))) }
    }
    #expect(preparation.counts.withheld == 1_000)
    // What is remembered has a limit, and the latest windows are kept.
    for time in 0..<5_000 { _ = preparation.prepare(event("e", at: Int64(time))) }
    let before = preparation.counts.withheld
    for time in 4_000..<5_000 { _ = preparation.prepare(event("e", at: Int64(time))) }
    #expect(preparation.counts.withheld == before + 1_000)
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

// An event's identity as a UUID: each has its own, and it leads back.

import Foundation
import TestSupport
import Testing
import Weir

struct EventIDTests {
  private func id(_ opening: UInt64, lane: UInt64, position: UInt64) -> EventID {
    EventID(opening: opening, sequence: lane << 48 | position)
  }

  @Test func `a UUID leads back to its id`() throws {
    let seed = testSeed()
    var random = Seeded(seed: seed)
    var seen: Set<UUID> = []
    for _ in 0..<10_000 {
      let id = id(random.next(), lane: random.next() % 1023, position: random.next() >> 16)
      let uuid = id.uuid
      #expect(EventID(uuid) == id, "\(id), seed \(seed)")
      #expect(seen.insert(uuid).inserted)
    }
  }

  /// Every bit of an identity is somewhere in the UUID.
  @Test func `each bit of an id is in its UUID`() {
    var seen: Set<UUID> = [id(0, lane: 0, position: 0).uuid]
    for bit in 0..<64 { seen.insert(id(1 << bit, lane: 0, position: 0).uuid) }
    for bit in 0..<10 { seen.insert(id(0, lane: 1 << bit, position: 0).uuid) }
    for bit in 0..<48 { seen.insert(id(0, lane: 0, position: 1 << bit).uuid) }
    #expect(seen.count == 1 + 64 + 10 + 48)
    #expect(seen.allSatisfy { EventID($0)?.uuid == $0 })
  }

  @Test func `the id of a notice has a UUID`() {
    let notice = id(7, lane: 0xffff, position: 3)
    #expect(EventID(notice.uuid) == notice)
    #expect(EventID(id(7, lane: 1022, position: 3).uuid) == id(7, lane: 1022, position: 3))
  }

  @Test func `the UUID of an id is of version eight`() {
    let all = id(.max, lane: 0xffff, position: (1 << 48) - 1).uuid.uuidString
    #expect(all == "FFFFFFFF-FFFF-8FFF-BFFF-FFFFFFFFFFFF")
    #expect(id(0, lane: 0, position: 0).uuid.uuidString == "00000000-0000-8000-8000-000000000000")
    #expect(id(0x0123_4567_89ab_cdef, lane: 1, position: 2).uuid.uuidString == "01234567-89AB-8CDE-BC01-000000000002")
    #expect(EventID(UUID()) == nil)
    // The right version, another variant.
    #expect(EventID(UUID(uuidString: "00000000-0000-8000-C000-000000000000")!) == nil)
  }

  @Test func `the ids of captured events have UUIDs`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let ids = (0..<100).compactMap { tracker.track(Checkout.started(cart: $0)).id }
      #expect(Set(ids.map(\.uuid)).count == 100)
      #expect(ids.compactMap { EventID($0.uuid) } == ids)
    }
  }
}

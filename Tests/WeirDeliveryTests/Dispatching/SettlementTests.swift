// What answers make of a batch, and how far the cursor may move: the pure parts of delivery.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct SettlementTests {
  private func batch(_ count: Int) -> [HeldEvent] {
    (0..<count).map { number in
      let stored = StoredEvent(
        offset: Offset(number), id: EventID(opening: 1, sequence: UInt64(number)),
        time: Timestamp(nanosecondsSince1970: 0), name: "e", fields: [:])
      return HeldEvent(prepared: PreparedEvent(stored), offset: Offset(number), bytes: 10)
    }
  }

  @Test func `each verdict settles its event`() {
    let settlement = Settlement(
      batch(4), .verdicts([.accepted, .rejected("no"), .retry(after: .seconds(3)), .retry(after: nil)]))
    #expect(settlement.accepted.map(\.offset) == [0])
    #expect(settlement.rejected.map(\.event.offset) == [1])
    #expect(settlement.rejected.map(\.reason) == ["no"])
    #expect(settlement.retried.map(\.event.offset) == [2, 3])
    #expect(settlement.retried.map(\.after) == [.seconds(3), nil])
    #expect(settlement.batches.isEmpty)
    #expect(settlement.health == .answered)
  }

  @Test func `another number of verdicts settles nothing`() {
    for count in [0, 1, 3, 4] {
      let settlement = Settlement(batch(2), .verdicts(Array(repeating: .accepted, count: count)))
      #expect(settlement.accepted.isEmpty)
      #expect(settlement.batches.map { $0.map(\.offset) } == [[0, 1]])
      guard case .failed(let reason, nil) = settlement.health else {
        Issue.record("\(settlement.health)")
        return
      }
      #expect(reason.contains("\(count) verdicts for 2 events"))
    }
  }

  @Test func `a batch to be given again as a whole is a failure, with the longest wait asked for`() {
    let waits: [Duration?] = [nil, .seconds(9), .seconds(2)]
    let settlement = Settlement(batch(3), .verdicts(waits.map { .retry(after: $0) }))
    #expect(settlement.retried.map(\.event.offset) == [0, 1, 2])
    #expect(settlement.batches.isEmpty)
    guard case .failed(_, .seconds(9)) = settlement.health else {
      Issue.record("\(settlement.health)")
      return
    }
  }

  @Test func `a batch that is refused is halved until one is left`() {
    let halves = Settlement(batch(5), .refused(reason: "bad"))
    #expect(halves.batches.map { $0.map(\.offset) } == [[0, 1], [2, 3, 4]])
    #expect(halves.health == .answered)
    let alone = Settlement(batch(1), .refused(reason: "bad"))
    #expect(alone.batches.isEmpty)
    #expect(alone.rejected.map(\.reason) == ["bad"])
  }

  @Test func `an error that was thrown keeps the batch whole`() {
    let failed = Settlement(batch(2), .failed(reason: "503"))
    #expect(failed.batches.map(\.count) == [2])
    #expect(failed.health == .failed(reason: "503", retryAfter: nil))
    let stopped = Settlement(batch(2), .stopped(reason: "401"))
    #expect(stopped.batches.map(\.count) == [2])
    #expect(stopped.health == .stopped(reason: "401"))
  }
}

struct SettledSpanTests {
  private func id(_ offset: Offset) -> EventID { EventID(opening: 7, sequence: offset) }

  private func span(from offset: Offset = 0) -> SettledSpan {
    SettledSpan(CursorPosition(offset: offset, counts: DeliveryCounts(from: offset, baseline: offset)))
  }

  @Test func `the position is the first event that is not settled`() {
    var span = span(from: 10)
    for offset in 10..<14 as Range<Offset> { span.opened(offset, id: id(offset)) }
    span.settle(12, Outcomes(rejected: 1))
    #expect(span.position == 10)
    #expect(span.counts.settled == 0)
    #expect(span.ahead.rejected == 1)
    #expect(span.open == 3)
    span.settle(12, Outcomes(acknowledged: 1))
    #expect(span.ahead == Outcomes(rejected: 1))
    #expect(span.open == 3)
    span.settle(10, Outcomes(acknowledged: 1))
    #expect(span.position == 11)
    #expect(span.last == .init(offset: 10, id: id(10)))
    #expect(span.counts.acknowledged == 1)
    span.settle(11, Outcomes(acknowledged: 1))
    #expect(span.position == 13)
    #expect(span.counts.rejected == 1)
    #expect(span.ahead == Outcomes())
    // Twice, or what was never given: nothing.
    span.settle(11, Outcomes(acknowledged: 1))
    span.settle(99, Outcomes(acknowledged: 1))
    #expect(span.counts.acknowledged == 2)
    #expect(span.open == 1)
    #expect(span.acceptedBelowEnd == 14)
  }

  @Test func `an event that is passed over counts as it is`() {
    var span = span()
    span.passed(upTo: 5, Outcomes(removed: 4))
    #expect(span.position == 5)
    #expect(span.counts.removed == 4)
    #expect(span.last == nil)
    span.opened(5, id: id(5))
    span.passed(upTo: 8, Outcomes(withheld: 1), last: .init(offset: 7, id: id(7)))
    #expect(span.position == 5)
    #expect(span.ahead.withheld == 1)
    span.settle(5, Outcomes(acknowledged: 1), isAssociation: true)
    #expect(span.position == 8)
    #expect(span.association == 5)
    #expect(span.last?.offset == 7)
    #expect(span.acceptedBelowEnd == 6)
  }

  /// Against a model that keeps everything, in random order, and with an event that never gets its verdict.
  @Test func `events may be settled in any order`() {
    let seed = testSeed()
    print("WEIR_SEED=\(seed)")
    var random = SplitMix(seed)
    for round in 0..<60 {
      var span = span()
      var open: [Offset] = []
      var settled: Set<Offset> = []
      let stuck: Offset? = round % 2 == 0 ? 3 : nil
      var end: Offset = 0
      for _ in 0..<400 {
        if open.isEmpty || random.next() % 2 == 0 {
          if random.next() % 5 == 0 {
            let count = random.next() % 4 + 1
            for offset in end..<end + count { settled.insert(offset) }
            end += count
            span.passed(upTo: end, Outcomes(damaged: count))
          } else {
            span.opened(end, id: id(end))
            open.append(end)
            end += 1
          }
        } else {
          let offset = open.remove(at: Int(random.next() % UInt64(open.count)))
          if offset == stuck {
            open.append(offset)
          } else {
            span.settle(offset, Outcomes(acknowledged: 1))
            settled.insert(offset)
          }
        }
        let position = (0...end).first { !settled.contains($0) } ?? end
        #expect(span.position == position)
        #expect(span.end == end)
        #expect(span.open == open.count)
        #expect(span.acceptedBelowEnd == end)
        #expect(span.counts.settled == position)
        #expect(span.counts.settled + span.ahead.all == UInt64(settled.count))
      }
    }
  }

  @Test func `neighbours are settled together, and in parts`() {
    var span = span(from: 10)
    for offset in 10..<20 as Range<Offset> { span.opened(offset) }
    span.settle(13..<15, Outcomes(acknowledged: 1), id: id)
    #expect(span.position == 10)
    #expect(span.open == 8)
    #expect(span.ahead == Outcomes(acknowledged: 2))
    span.settle(17, Outcomes(rejected: 1), id: id(17))
    span.settle(10..<13, Outcomes(acknowledged: 1), id: id)
    #expect(span.position == 15)
    #expect(span.last == .init(offset: 14, id: id(14)))
    span.passed(upTo: 21, Outcomes(removed: 1))
    // Some of these are settled, and some were never given.
    span.settle(12..<30, Outcomes(acknowledged: 1), id: id)
    #expect(span.position == 21)
    #expect(span.last == .init(offset: 19, id: id(19)))
    #expect(span.counts.acknowledged == 9)
    #expect(span.counts.rejected == 1)
    #expect(span.isSettled)
  }

  /// Against a model that keeps every offset.
  @Test func `ranges may be settled in any order`() {
    let seed = testSeed()
    print("WEIR_SEED=\(seed)")
    var random = SplitMix(seed)
    for _ in 0..<60 {
      var span = span()
      var settled: [Bool] = []
      var lastEvents: [Offset?] = []
      for _ in 0..<300 {
        let end = Offset(settled.count)
        switch random.next() % 4 {
        case 0:
          let count = Int(random.next() % 4 + 1)
          settled += Array(repeating: true, count: count)
          lastEvents += Array(repeating: nil, count: count)
          span.passed(upTo: end + UInt64(count), Outcomes(damaged: UInt64(count)))
        case 1:
          let first = random.next() % (end + 1)
          let range = first..<min(first + random.next() % 20, end)
          guard first < range.upperBound else { continue }
          span.settle(range, Outcomes(acknowledged: 1), id: id)
          for offset in range { settled[Int(offset)] = true }
        default:
          for offset in end..<end + random.next() % 20 {
            span.opened(offset)
            settled.append(false)
            lastEvents.append(offset)
          }
        }
        let position = settled.firstIndex(of: false) ?? settled.count
        #expect(span.position == Offset(position))
        #expect(span.open == settled.count(where: { !$0 }))
        #expect(span.last?.offset == lastEvents[..<position].compactMap { $0 }.last)
        #expect(span.last.map { $0.id == id($0.offset) } ?? true)
        #expect(span.counts.settled == Offset(position))
        #expect(span.acceptedBelowEnd == Offset(settled.count))
      }
    }
  }

  private struct SplitMix {
    var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var value = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
      value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
      return value ^ value >> 31
    }
  }
}

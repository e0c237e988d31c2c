// Duplicates: the window against a plain model of it, what counts as the same content, and that memory is bounded.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct DuplicateTests {
  /// The window as the documentation has it, without a thought for cost.
  private struct Model {
    let window: Int64
    let limit: Int
    var originals: [(content: Int, id: EventID, time: Int64)] = []

    mutating func original(of content: Int, _ id: EventID, _ time: Int64) -> EventID? {
      let near = originals.first {
        let (distance, overflow) = $0.time.subtractingReportingOverflow(time)
        return $0.content == content && !overflow && distance.magnitude <= UInt64(window)
      }
      if let near { return near.id }
      originals.append((content, id, time))
      if originals.count > limit { originals.removeFirst() }
      return nil
    }
  }

  @Test func `the window finds the same duplicates as a plain model`() {
    let seed = UInt64(ProcessInfo.processInfo.environment["WEIR_SEED"] ?? "") ?? 13
    var random = Seeded(seed: seed)
    var flagged = 0
    for round in 0..<300 {
      let windowLength = [0, 1, 7, 100, 1000, .max].randomElement(using: &random)! as Int64
      let limit = [1, 2, 5, 40, 1000].randomElement(using: &random)!
      var window = DuplicateWindow(.nanoseconds(windowLength), limit: limit)
      var model = Model(window: min(windowLength, .max / 4), limit: limit)
      var time: Int64 = [0, -500, .max - 5000, .min].randomElement(using: &random)!
      for number in 0..<200 {
        // Mostly forwards, now and then back, as lanes are drained after one another.
        time = time.addingReportingOverflow(.random(in: 0...40, using: &random)).partialValue
        let back = Int64.random(in: 0..<10, using: &random) == 0 ? Int64.random(in: 0...300, using: &random) : 0
        let at = time.subtractingReportingOverflow(back).partialValue
        let content = Int.random(in: 0..<6, using: &random)
        let id = EventID(opening: 1, sequence: UInt64(number))
        let found = window.original(of: stored("e", ["content": .int(Int64(content))], at: at, id: id))
        #expect(found == model.original(of: content, id, at), "round \(round), event \(number), seed \(seed)")
        #expect(window.count <= limit)
        if found != nil { flagged += 1 }
      }
      #expect(window.count == model.originals.count)
    }
    #expect(flagged > 5000)
  }

  @Test func `an event that goes on and on is kept once in each window, counted from the first`() {
    var window = DuplicateWindow(.nanoseconds(100), limit: 1000)
    let times: [Int64] = [0, 90, 150, 200, 240, 260]
    let originals = times.enumerated().map { number, time in
      window.original(of: stored("e", ["a": 1], at: time, id: EventID(opening: 1, sequence: UInt64(number))))?.sequence
    }
    #expect(originals == [nil, 0, nil, 2, 2, nil])
  }

  @Test func `events of equal name, fields and user in a lane are the same`() {
    var window = DuplicateWindow(.seconds(1), limit: 1000)
    var number: UInt64 = 0
    func isDuplicate(
      _ name: String = "e", _ fields: FieldObject = ["a": 1, "b": ["x", nil]], user: String? = nil, lane: UInt64 = 3,
      opening: UInt64 = 9, traits: FieldObject = [:]
    ) -> Bool {
      number += 1
      let context = EventContext(user: user.map { EventUser(id: $0, traits: traits) })
      let id = EventID(opening: opening, sequence: lane << 48 | number)
      return window.original(of: stored(name, fields, id: id, context: context)) != nil
    }
    #expect(!isDuplicate())
    #expect(isDuplicate())
    #expect(isDuplicate("e", ["b": ["x", nil], "a": 1]))
    #expect(!isDuplicate("f"))
    #expect(!isDuplicate(lane: 4))
    #expect(isDuplicate(lane: 4))
    #expect(!isDuplicate(opening: 8))
    #expect(!isDuplicate(user: "u"))
    // A user's events are that user's, from whatever lane or opening, whatever the traits.
    #expect(isDuplicate(user: "u", lane: 7, opening: 1, traits: ["plan": "pro"]))
    #expect(!isDuplicate(user: "v"))
    let others: [FieldObject] = [
      [:], ["a": 1], ["a": 1, "b": ["x"]], ["a": 1, "b": [nil, "x"]], ["a": .uint(1), "b": ["x", nil]],
      ["a": "1", "b": ["x", nil]], ["a": true, "b": ["x", nil]], ["a": 1, "b": .object(["x": nil])],
      ["a": 1, "b": ["x", nil], "c": nil], ["b": 1, "a": ["x", nil]], ["a": 1.0, "b": ["x", nil]],
      ["a": .float(1), "b": ["x", nil]], ["a": 1, "b": ["xn"]], ["a": 1, "b": .bytes(Array("x".utf8))],
      ["a": 1, "a": 1, "b": ["x", nil]], ["ab": 1], ["a": ["b": 1]], ["a": [["b"], "c"]], ["a": ["b", ["c"]]],
      ["a": ["", "b"]], ["a": ["b", ""]], ["a": .date(Date(timeIntervalSinceReferenceDate: 1))],
      ["a": .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))],
    ]
    for fields in others { #expect(!isDuplicate("e", fields), "\(fields)") }
    for fields in others { #expect(isDuplicate("e", fields), "\(fields)") }
  }

  @Test func `memory is bounded, and what is forgotten too soon is counted`() {
    var window = DuplicateWindow(.seconds(1), limit: 1000)
    for number in 0..<5000 as Range<Int64> { _ = window.original(of: stored("e", ["n": .int(number)], at: number)) }
    #expect(window.count == 1000)
    #expect(window.forgotten == 4000)
    // Those that no duplicate could come of any more are not worth counting.
    let far: Int64 = 100_000_000_000
    for number in 0..<1000 as Range<Int64> {
      _ = window.original(of: stored("e", ["n": .int(number)], at: far + number))
    }
    #expect(window.count == 1000)
    #expect(window.forgotten == 4000)
    // And a limit that makes no sense remembers one.
    var least = DuplicateWindow(.seconds(-1), limit: -5)
    #expect(least.original(of: stored("e")) == nil)
    #expect(least.original(of: stored("e")) != nil)
    #expect(least.original(of: stored("f")) == nil)
    #expect(least.count == 1)
  }
}

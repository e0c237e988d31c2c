// Reconciler: streams with known faults, in any order: each fault is found, and none is invented.

import Foundation
import TestSupport
import Testing
import WeirDelivery

@testable import Weir
@testable import WeirReconcile

/// A side in memory.
struct ListedSource: EventSource {
  var events: [ComparedEvent]
  var hasForeignIDs = true

  func parts(_ count: Int) -> [Range<Int>] {
    let size = max(1, (events.count + count - 1) / count)
    return stride(from: 0, to: events.count, by: size).map { $0..<min($0 + size, events.count) }
  }

  func read(
    _ part: Range<Int>, _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void
  ) throws(WeirError) -> UInt64 {
    for index in part { try body(events[index], UInt64(index)) }
    return 0
  }

  func read(at places: [UInt64], _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void) throws(WeirError) {
    for place in places { try body(events[Int(place)], place) }
  }
}

@Suite struct ReconcilerTests {
  private typealias Verdict = ReconciliationReport.Verdict

  /// The number of random rounds. `WEIR_ROUNDS` asks for more.
  private static let rounds = ProcessInfo.processInfo.environment["WEIR_ROUNDS"].flatMap(Int.init) ?? 100

  private static let second: Int64 = 1_000_000_000

  /// Two streams, and what is true about them.
  private struct Streams {
    var here: [ComparedEvent] = []
    var there: [ComparedEvent] = []
    var expected: [Verdict: UInt64] = [:]
    var fields: [String: UInt64] = [:]
    /// For each event there that has a partner: the partner's index and sequence.
    var partners: [(here: Int, sequence: String)?] = []

    mutating func expect(_ verdict: Verdict) { expected[verdict, default: 0] += 1 }
  }

  private func event(_ number: Int, _ random: inout Seeded) -> ComparedEvent {
    ComparedEvent(
      name: ["a", "b", "c"].randomElement(using: &random)!, user: ["u0", "u1", nil].randomElement(using: &random)!,
      time: Int64(number) * Self.second, id: EventID(opening: 7, sequence: UInt64(number)),
      fields: [
        "n": .int(Int64(number)), "text": .string("a long text of event \(number)"),
        "ratio": .double(Double(number) / 8),
        "list": [1, 2, .int(Int64(number) + 3)], "inner": ["flag": .bool(number % 2 == 0), "null": .null],
      ])
  }

  /// Changes one field in one way. Returns the field and the way.
  private func spoil(_ event: inout ComparedEvent, _ random: inout Seeded) -> (String, FieldDifference.Kind) {
    func set(_ name: String, _ value: FieldValue?) {
      event.fields = FieldObject(
        event.fields.compactMap { member in
          member.name == name ? value.map { FieldObject.Member(name: name, value: $0) } : member
        })
    }
    switch FieldDifference.Kind.allCases.randomElement(using: &random)! {
    case .value:
      set("ratio", -1.5)
      return ("ratio", .value)
    case .type:
      set("ratio", "many")
      return ("ratio", .type)
    case .null:
      set("ratio", .null)
      return ("ratio", .null)
    case .missing:
      set("text", nil)
      return ("text", .missing)
    case .truncated:
      set("text", "a long")
      return ("text", .truncated)
    case .order:
      if case .array(let values)? = event.fields["list"] { set("list", .array(values.reversed())) }
      return ("list", .order)
    }
  }

  private func streams(by way: MatchWay, _ random: inout Seeded) -> Streams {
    var streams = Streams()
    var there: [(event: ComparedEvent, partner: (here: Int, sequence: String)?)] = []
    for number in 0..<Int.random(in: 0...60, using: &random) {
      var own = event(number, &random)
      if way == .foreignID { own.foreignID = "m\(number)" }
      var other = own
      if way != .id { other.id = nil }
      // Numbers come back from JSON as other kinds of number.
      if Bool.random(using: &random) {
        other.fields = FieldObject(
          other.fields.map { $0.name == "n" ? .init(name: "n", value: .double(Double(number))) : $0 }.shuffled(
            using: &random))
      }
      let place = (here: streams.here.count, sequence: own.user ?? "")
      switch Int.random(in: 0..<12, using: &random) {
      case 0:
        streams.here.append(own)
        streams.expect(.onlyHere)
      case 1:
        there.append((other, nil))
        streams.expect(.onlyThere)
      case 2:
        streams.here.append(own)
        there += [(other, place), (other, place)]
        streams.expect(.identical)
        streams.expect(.duplicateThere)
      case 3 where way != .id:
        own.id = EventID(opening: 8, sequence: UInt64(number))
        streams.here += [own, own]
        there.append((other, (here: place.here, sequence: own.user ?? "8")))
        streams.expect(.identical)
        streams.expect(.duplicateHere)
      case 4, 5:
        streams.here.append(own)
        let (path, kind) = spoil(&other, &random)
        there.append((other, place))
        streams.expect(.differing)
        streams.fields["\(path) \(kind)", default: 0] += 1
      case 6:
        streams.here.append(own)
        other.arrival = other.time + 3_600 * Self.second
        there.append((other, place))
        streams.expect(.identical)
        streams.expect(.late)
      default:
        streams.here.append(own)
        there.append((other, place))
        streams.expect(.identical)
      }
    }
    if Bool.random(using: &random) { there.shuffle(using: &random) }
    streams.there = there.map(\.event)
    // Of two equal events the first one is the partner.
    var taken: Set<Int> = []
    streams.partners = there.map(\.partner).map { $0.flatMap { taken.insert($0.here).inserted ? $0 : nil } }
    return streams
  }

  private func reconcile(
    _ here: [ComparedEvent], _ there: [ComparedEvent], _ rules: ComparisonRules = ComparisonRules(),
    partitions: Int = 2, marksAtOnce: Int = .max, threads: Int = 2
  ) throws -> Tally {
    try withDirectory { path in
      let directory = try SystemCalls().openDirectory(path)
      let reconciler = Reconciler(
        ListedSource(events: here), ListedSource(events: there), rules, partitions: partitions,
        marksAtOnce: marksAtOnce, threads: threads, in: directory)
      var tally = try reconciler.run()
      for _ in 0..<reconciler.onlyHere.count { tally.add(.onlyHere, 0, 0) }
      for _ in 0..<reconciler.onlyThere.count { tally.add(.onlyThere, 0, 0) }
      return tally
    }
  }

  private func counts(_ tally: Tally) -> [Verdict: UInt64] {
    var all = ReconciliationReport.Counts()
    for counts in tally.byName.values { all.add(counts) }
    return all.byVerdict.filter { $0.value > 0 }
  }

  @Test(arguments: MatchWay.allCases)
  func `each fault is found, and none is invented, whatever the order`(_ way: MatchWay) throws {
    let seed = testSeed()
    print("ReconcilerTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    var rules = ComparisonRules()
    rules.keyFields = ["n"]
    for round in 0..<Self.rounds {
      let streams = streams(by: way, &random)
      let tally = try reconcile(
        streams.here, streams.there, rules, partitions: .random(in: 1...5, using: &random),
        marksAtOnce: Bool.random(using: &random) ? .max : .random(in: 40...100, using: &random),
        threads: .random(in: 1...3, using: &random))
      var found = counts(tally)
      // What is out of order is what a shuffle made of the pairs: counted apart, by hand.
      #expect(found[.outOfOrder] ?? 0 == outOfOrder(streams), "round \(round), seed \(seed)")
      found[.outOfOrder] = nil
      #expect(found == streams.expected, "round \(round), seed \(seed)")
      let fields = Dictionary(
        tally.fields.map { ("\($0.key.path) \($0.key.kind)", $0.value) }, uniquingKeysWith: +)
      #expect(fields == streams.fields, "round \(round), seed \(seed)")
      #expect(tally.here == streams.here.count && tally.there == streams.there.count, "round \(round), seed \(seed)")
    }
  }

  /// The smallest number of events to leave out of each sequence so that the others are in order, by the table of all
  /// lengths.
  private func outOfOrder(_ streams: Streams) -> UInt64 {
    var bySequence: [String: [(here: Int, there: Int)]] = [:]
    for (index, partner) in streams.partners.enumerated() {
      guard let partner else { continue }
      bySequence[partner.sequence, default: []].append((partner.here, index))
    }
    return bySequence.values.reduce(0) { sum, pairs in
      let places = pairs.sorted { $0.here < $1.here }.map(\.there)
      var lengths: [Int] = []
      for index in places.indices {
        lengths.append(1 + (lengths.indices.filter { places[$0] < places[index] }.map { lengths[$0] }.max() ?? 0))
      }
      return sum + UInt64(places.count - (lengths.max() ?? 0))
    }
  }

  @Test func `equal events match as often as both sides have them`() throws {
    for (here, there) in [(3, 3), (3, 1), (1, 3), (0, 2), (2, 0)] {
      let event = ComparedEvent(name: "e", user: "u", time: 0, fields: ["x": 1])
      let found = counts(try reconcile(Array(repeating: event, count: here), Array(repeating: event, count: there)))
      let pairs = min(here, there)
      #expect(found[.identical] ?? 0 == pairs)
      #expect(found[.duplicateHere] ?? 0 == (pairs > 0 ? here - pairs : 0))
      #expect(found[.duplicateThere] ?? 0 == (pairs > 0 ? there - pairs : 0))
      #expect(found[.onlyHere] ?? 0 == (pairs > 0 ? 0 : here))
      #expect(found[.onlyThere] ?? 0 == (pairs > 0 ? 0 : there))
    }
  }

  @Test func `a stream of events of one key is matched piece by piece`() throws {
    // Each 10 ms after the one before, in the control 35 ms later, and some are missing on each side.
    func event(_ number: Int64, _ delay: Int64) -> ComparedEvent {
      ComparedEvent(
        name: "e", user: "u", time: (number * 10 + delay) * 1_000_000, fields: ["n": .int(number)])
    }
    let here = (0..<3_000).filter { $0 % 500 != 3 }.map { event(Int64($0), 0) }
    let there = (0..<3_000).filter { $0 % 700 != 5 }.map { event(Int64($0), 35) }
    for marksAtOnce in [100, 1_000, Int.max] {
      let found = counts(try reconcile(here, there, partitions: 3, marksAtOnce: marksAtOnce))
      #expect(found[.identical] == 2_989, "\(marksAtOnce)")
      #expect((found[.onlyHere] ?? 0) + (found[.differing] ?? 0) == 5, "\(marksAtOnce)")
    }
  }

  @Test func `equal events that are far apart in time do not match`() throws {
    func events(_ seconds: Int64...) -> [ComparedEvent] {
      seconds.map { ComparedEvent(name: "e", user: "u", time: $0 * Self.second, fields: ["x": 1]) }
    }
    let found = counts(try reconcile(events(0, 1), events(100, 101)))
    #expect(found[.onlyHere] == 2 && found[.onlyThere] == 2 && found[.identical] == nil)
  }

  @Test func `nearest first is not enough`() throws {
    // The one at 9 s is nearer to the second event, which would leave the first one alone.
    func event(_ seconds: Int64, _ x: FieldValue) -> ComparedEvent {
      ComparedEvent(name: "e", user: "u", time: seconds * Self.second, fields: ["x": x])
    }
    var rules = ComparisonRules()
    rules.tolerance = .seconds(9)
    let found = counts(try reconcile([event(0, 1), event(10, 2)], [event(9, 3), event(14, 4)], rules))
    #expect(found[.differing] == 2)
    #expect(found[.onlyHere] == nil && found[.onlyThere] == nil)
  }

  @Test func `an event that was refused first and passed on then is the same event`() throws {
    let event = ComparedEvent(name: "e", user: "u", time: 0, id: EventID(opening: 1, sequence: 1), fields: ["x": 1])
    var refused = event
    refused.outcome = "400"
    for there in [[refused, event], [event, refused], [refused, refused, event]] {
      #expect(counts(try reconcile([event], there)) == [.identical: 1])
    }
    // By content alike.
    func without(_ event: ComparedEvent) -> ComparedEvent {
      var event = event
      event.id = nil
      return event
    }
    #expect(counts(try reconcile([event], [without(refused), without(event)])) == [.identical: 1])
  }

  @Test func `an event without a time is near to all with its key`() throws {
    func event(_ number: Int64, time: Int64, _ more: FieldObject = [:]) -> ComparedEvent {
      ComparedEvent(
        name: "e", user: "u", time: time, fields: FieldObject([("n", .int(number))] + more.map { ($0.name, $0.value) }))
    }
    var rules = ComparisonRules()
    rules.keyFields = ["n"]
    let here = (0..<4).map { event($0, time: $0 * 1_000 * Self.second) }
    let there = [event(0, time: .min), event(1, time: .min, ["more": 1]), event(2, time: .min), event(2, time: .min)]
    let found = counts(try reconcile(here, there, rules))
    #expect(found == [.identical: 2, .differing: 1, .onlyHere: 1, .duplicateThere: 1])
  }

  @Test func `an event that the control did not pass on is not compared`() throws {
    let event = ComparedEvent(name: "e", time: 0, id: EventID(opening: 1, sequence: 1), fields: ["x": 1])
    var other = event
    other.outcome = "400"
    #expect(counts(try reconcile([event], [other])).isEmpty)
  }

  @Test func `rules make values alike on both sides`() throws {
    var rules = ComparisonRules()
    rules.ignored = ["sent_*"]
    rules.cleanings = [
      .init("email", [.trim, .lowercase]), .init("total", [.round(digits: 1)]), .init("coupon", [.nullIsMissing]),
      .init("count", [.untyped]),
    ]
    let id = EventID(opening: 1, sequence: 1)
    let here = ComparedEvent(
      name: "e", time: 0, id: id,
      fields: ["email": " A@B.C ", "total": 1.04, "coupon": .null, "count": 7, "sent_at": "now"])
    let there = ComparedEvent(
      name: "e", time: 0, id: id, fields: ["email": "a@b.c", "total": 1.0, "count": "7", "sent_by": "x"])
    #expect(counts(try reconcile([here], [there], rules)) == [.identical: 1])
    #expect(counts(try reconcile([here], [there])) == [.differing: 1])
  }
}

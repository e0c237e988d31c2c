// EventLines: events written from their bytes in the log have the same text as decoded events.

import Foundation
import TestSupport
import Testing
import Weir

@testable import WeirDelivery

/// The names of the fields of a pair.
private protocol PairNames: Sendable {
  static var names: [String] { get }
}

struct EventLinesTests {
  private enum Sale: Codable, Event {
    case completed(order: UInt64, total: Double, items: Int32, coupon: String?)
  }

  private struct Login: Codable, Event {
    var email: String
    static let eventTypes = [EventType(codable: "login", kind: .pageAction, sensitive: ["email"])]
  }

  /// Captures events of all sorts: declared, named, of Codable types, with and without bindings, sensitive or not.
  private func fill(_ directory: String) throws {
    let tracker = try Tracker(directory: directory, configuration: quiet())
    for number in 0..<300 as Range<UInt64> {
      tracker.track(Checkout.started(cart: number))
      tracker.track(
        Checkout.completed(
          order: .max - number, total: Double(number) / 7, items: -Int32(number), coupon: "a\"\(number)"))
      tracker.track(Sale.completed(order: number, total: 0.25, items: 3, coupon: number % 2 == 0 ? nil : "größe"))
      tracker.track(
        number % 3 == 0 ? "named" : "named again", fields: ["n": .uint(number), "x": .array([.null, "y"])])
      tracker.track(Login(email: "a@b"))
      if number == 100 { try tracker.setGlobals(GlobalFields(app: "shop")) }
      if number == 200 { try tracker.associate("u1", traits: ["plan": "pro", "phone": 7], sensitive: ["phone"]) }
      Bindings.with(user: number % 4 == 0 ? nil : "u\(number % 5)", traits: ["age": .uint(number / 50)], view: "cart") {
        tracker.track(Checkout.started(cart: number))
        Bindings.with(fields: ["request": .uint(number / 10)], sensitive: number % 7 == 0 ? ["request"] : []) {
          _ = tracker.track(Single(Price(amount: 5, currency: "EUR", discounts: [nil, 0.5])))
        }
      }
    }
    try tracker.close()
  }

  private func blocks(_ directory: String, most: Int) throws -> [EncodedEvent] {
    let reader = try EventReader(directory: directory)
    var events: [EncodedEvent] = []
    while let block = try reader.nextBlock(most: most, bytes: 1 << 20) {
      for index in 0..<block.count { events.append(block[index]) }
    }
    return events
  }

  @Test(arguments: [1, 7, 256]) func `a block has the events that a reader returns`(most: Int) throws {
    try withDirectory { directory in
      try fill(directory)
      let stored = try LogDirectory(directory).events()
      let encoded = try blocks(directory, most: most)
      #expect(encoded.count == stored.count)
      for (event, stored) in zip(encoded, stored) {
        #expect(event.stored == stored)
        #expect(event.id == stored.id && event.offset == stored.offset && event.time == stored.time)
        #expect(event.name == stored.name && event.context == stored.context)
        #expect(event.isOfTheLog == stored.name.hasPrefix("weir."))
        // What is called plain has nothing to redact.
        if event.isPlain { #expect(stored.redacted() == stored) }
      }
      #expect(encoded.contains { $0.isPlain } && encoded.contains { !$0.isPlain && !$0.isOfTheLog })
    }
  }

  @Test(arguments: [false, true]) func `lines are those of EventJSON`(redacts: Bool) throws {
    try withDirectory { directory in
      try fill(directory)
      for form in [0, 1, 2] {
        var json = EventJSON()
        json.hasLargeIntegersAsText = form == 1
        json.hasEachNameOnce = form == 2
        let lines = EventLines(json)
        var options = DeliveryOptions()
        options.redactsSensitive = redacts
        options.duplicateWindow = nil
        var preparation = Preparation(options, takesBytes: true)
        var usual = Preparation(options)
        for event in try blocks(directory, most: 100) {
          var (text, expected): ([UInt8], [UInt8]) = ([], [])
          lines.append(event, redacts: redacts, to: &text)
          json.append(redacts ? event.stored.redacted() : event.stored, to: &expected)
          #expect(String(decoding: text, as: UTF8.self) == String(decoding: expected, as: UTF8.self))
          guard !event.isOfTheLog else { continue }
          let (made, decoded) = (preparation.prepare(event), usual.prepare(event.stored))
          let prepared = try #require(made)
          #expect(prepared == decoded)
          #expect((prepared.encoded != nil) == (!redacts || event.isPlain))
          text = []
          lines.append(prepared, to: &text)
          #expect(text == expected)
          text = []
          json.append(prepared, to: &text)
          #expect(text == expected)
        }
      }
    }
  }

  private struct Tagged: Codable, Event {
    var tags: [String: Int]
  }

  @Test func `the same duplicates are found in bytes as among decoded events`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for number in 0..<500 {
        tracker.track(Checkout.started(cart: UInt64(number % 90)))
        // The order of a dictionary changes from one to the next.
        tracker.track(Tagged(tags: ["a": 1, "b": number % 5, "c": 3, "d": 4, "e": 5]))
        tracker.track("named", fields: number % 2 == 0 ? ["a": 1, "b": [nil, 2]] : ["b": [nil, 2], "a": 1])
        tracker.track("named", fields: ["a": .uint(1), "b": [nil, 2]])
        Bindings.with(user: "u\(number % 3)", fields: ["number": .int(Int64(number))]) {
          _ = tracker.track(Single(Price(amount: Int64(number % 7), currency: "EUR")))
        }
      }
      try tracker.close()
      var options = DeliveryOptions()
      options.duplicateWindow = .seconds(1_000)
      var preparation = Preparation(options, takesBytes: true)
      var usual = Preparation(options)
      for event in try blocks(directory, most: 100) {
        let (prepared, decoded) = (preparation.prepare(event), usual.prepare(event.stored))
        #expect(prepared == decoded)
        #expect(prepared.map { ($0.encoded == nil) != $0.flags.isEmpty } ?? true)
      }
      #expect(preparation.counts == usual.counts)
      #expect(preparation.counts.duplicates == 2_500 - 90 - 5 - 2 - 21)
    }
  }

  @Test(arguments: [3, 256]) func `a block is prepared as each of its events is`(most: Int) throws {
    try withDirectory { directory in
      try fill(directory)
      try fill(directory)
      var options = DeliveryOptions()
      options.duplicateWindow = .seconds(1_000)
      options.duplicateMemory = 5_000
      var together = Preparation(options, takesBytes: true)
      var alone = Preparation(options, takesBytes: true)
      let reader = try EventReader(directory: directory)
      while let block = try reader.nextBlock(most: most, bytes: 1 << 20) {
        var place = 0
        while place < block.count {
          guard !block[place].isOfTheLog else {
            place += 1
            continue
          }
          let end = (place..<block.count).first { block[$0].isOfTheLog } ?? block.count
          var events: [PreparedEvent] = []
          together.prepare(block, place..<end) { event, entry in
            #expect(event.offset == entry.offset)
            events.append(event)
          }
          #expect(events == (place..<end).compactMap { alone.prepare(block[$0]) })
          place = end
        }
      }
      #expect(together.counts == alone.counts)
      #expect(together.counts.duplicates > 0)
    }
  }

  /// A value of two fields, in one order or the other, of one width or the other.
  private struct Pair<Number: EventValue & FixedWidthInteger, Names: PairNames>: EventValue {
    var numbers: [Number]

    static var fieldKind: FieldKind { .object(Names.names.map { Field($0, Number.fieldKind) }) }

    init(_ first: Number, _ second: Number) { numbers = [first, second] }

    func encode(into encoder: inout EventEncoder) {
      encoder.beginObject()
      for number in numbers { encoder.put(number) }
    }

    init(fieldValue: FieldValue) throws {
      let object = try fieldValue.object()
      numbers = try Names.names.map { try object.value($0) }
    }
  }

  private enum Forwards: PairNames { static let names = ["a", "b"] }
  private enum Backwards: PairNames { static let names = ["b", "a"] }

  @Test func `of one name, other declarations with the same content are duplicates, with the same bytes are not`()
    throws
  {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      Bindings.with(user: "u") {
        tracker.track(Single(Pair<Int32, Forwards>(1, 2)))
        // The same bytes, other fields.
        tracker.track(Single(Pair<Int32, Backwards>(1, 2)))
        // Other bytes, the same fields.
        tracker.track(Single(Pair<Int32, Backwards>(2, 1)))
        tracker.track(Single(Pair<Int64, Backwards>(1, 2)))
        tracker.track("single", fields: ["value": ["b": 2, "a": 1]])
        tracker.track(Single<FieldValue>(["a": 1, "b": 2]))
        tracker.track(Single<FieldValue?>(["a": .uint(1), "b": 2]))
        tracker.track(Single<FieldValue?>(nil))
        tracker.track(Single<Int8?>(nil))
        tracker.track("single", fields: ["value": nil])
        tracker.track(Single<[Int8]>([1, -1]))
        tracker.track(Single<[FieldValue]>([1, -1]))
        tracker.track(Single<[Int64?]>([1, -1]))
        tracker.track(Single<[Int64?]>([1, nil]))
        tracker.track(Single<[UInt16]>([1, 2]))
        tracker.track(Single<[UInt32]>([1, 2]))
        tracker.track(Single<Bool>(true))
        tracker.track(Single<UInt8>(1))
        tracker.track(Single<Double>(1))
        tracker.track(Single<Float>(1))
        tracker.track(Single<String>("1"))
        tracker.track("single", fields: [:])
      }
      try tracker.close()
      var preparation = Preparation(takesBytes: true)
      var usual = Preparation()
      let events = try blocks(directory, most: 100).filter { !$0.isOfTheLog }
      #expect(events.count == 22)
      for event in events {
        let (prepared, decoded) = (preparation.prepare(event), usual.prepare(event.stored))
        #expect(prepared?.flags == decoded?.flags, "\(event.stored.fields)")
      }
      #expect(preparation.counts.duplicates == 9)
    }
  }

  @Test func `a change of an event in bytes is a change of that event alone`() throws {
    try withDirectory { directory in
      try fill(directory)
      let event = try #require(try blocks(directory, most: 100).first { $0.name == "checkout.completed" })
      let before = PreparedEvent(event, redacts: true, .standard)
      var after = before
      after.fields["total"] = 5
      after.context.globals["app"] = "other"
      after.flags.insert(.violating)
      #expect(before == PreparedEvent(event.stored))
      #expect(after.encoded == nil && before.encoded != nil)
      #expect(after.fields["total"] == 5 && after.fields["items"] == before.fields["items"])
      #expect(after.stored == before.stored && after.offset == before.offset && after.id == before.id)
    }
  }
}

// Mappers: what each makes of an event, that they compose, and that no value is lost to a name.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

extension EventMapper {
  fileprivate static func prefixEvents(_ prefix: String) -> EventMapper {
    EventMapper { event in
      var event = event
      event.name = prefix + event.name
      return event
    }
  }
}

struct EventMapperTests {
  private func fields(_ mapper: EventMapper, _ fields: FieldObject) -> FieldObject? {
    mapper(prepared("e", fields))?.fields
  }

  @Test func `names of nested fields and of the context are mapped`() throws {
    let context = EventContext(
      globals: ["appVersion": "1"], user: EventUser(id: "userID", traits: ["planName": "pro"]),
      view: EventView(id: "v", name: "HomePage"), fields: ["requestID": 7])
    let event = prepared(
      "Checkout.completed",
      ["userID": "aB", "items": [["itemSKU": 1, "more": [["deepID": 2]]], "plainText"], "empty": [:]], context: context)
    let mapped = try #require(EventMapper.snakeCase()(event))
    #expect(mapped.name == "checkout_completed")
    #expect(
      mapped.fields
        == ["user_id": "aB", "items": [["item_sku": 1, "more": [["deep_id": 2]]], "plainText"], "empty": [:]])
    #expect(mapped.context.globals == ["app_version": "1"])
    #expect(mapped.context.fields == ["request_id": 7])
    // Values, the user's id and the view are nobody's names.
    #expect(mapped.context.user == EventUser(id: "userID", traits: ["plan_name": "pro"]))
    #expect(mapped.context.view == context.view)
    #expect(mapped.stored == event.stored)
  }

  @Test func `names that collide are told apart`() {
    let snake = EventMapper.snakeCase()
    #expect(fields(snake, ["userID": 1, "user_id": 2]) == ["user_id_2": 1, "user_id": 2])
    #expect(fields(snake, ["user_id": 2, "userID": 1]) == ["user_id": 2, "user_id_2": 1])
    #expect(fields(snake, ["userID": 1, "userId": 2, "UserID": 3]) == ["user_id": 1, "user_id_2": 2, "user_id_3": 3])
    #expect(
      fields(snake, ["userID": 1, "userId": 2, "user_id_2": 3]) == ["user_id": 1, "user_id_3": 2, "user_id_2": 3])
    #expect(fields(snake, ["o": ["aB": 1, "a_b": 2]]) == ["o": ["a_b_2": 1, "a_b": 2]])
    // Two of one name, as dynamic events can have, are none of the mapper's making.
    #expect(fields(snake, ["a": 1, "a": 2, "aB": 3]) == ["a": 1, "a": 2, "a_b": 3])
    #expect(fields(.renaming(fields: ["a": "b"]), ["a": 1, "b": 2]) == ["b_2": 1, "b": 2])
    // To exchange two names is no collision.
    #expect(fields(.renaming(fields: ["a": "b", "b": "a"]), ["a": 1, "b": 2]) == ["b": 1, "a": 2])
    #expect(fields(.flattening(), ["a": ["b": 1], "a_b": 2]) == ["a_b_2": 1, "a_b": 2])
    let flat = fields(.flattening(), ["a": ["b": 1, "b_c": 2], "a_b": ["c": 3]])
    #expect(flat == ["a_b": 1, "a_b_c": 2, "a_b_c_2": 3])
    var preparation = Preparation(mapper: snake)
    _ = preparation.prepare(stored("e", ["userID": 1, "user_id": 2, "o": ["aB": 1, "a_b": 2]]))
    #expect(preparation.counts.renamed == 2)
  }

  @Test func `random fields keep every value, each under a name of its own`() {
    let seed = UInt64(ProcessInfo.processInfo.environment["WEIR_SEED"] ?? "") ?? 12
    var random = Seeded(seed: seed)
    let names = ["aB", "a_b", "AB", "ab", "a_b_2", "a-b", "a.b", "A_B", "a", "b"]
    func object(_ depth: Int) -> FieldObject {
      let chosen = names.shuffled(using: &random).prefix(Int.random(in: 0...8, using: &random))
      return FieldObject(
        chosen.map { name in
          let isNested = depth < 3 && Int.random(in: 0..<3, using: &random) == 0
          return (name, isNested ? .object(object(depth + 1)) : .uint(random.next()))
        })
    }
    func leaves(_ object: FieldObject) -> [FieldValue] {
      object.flatMap { if case .object(let inner) = $0.value { leaves(inner) } else { [$0.value] } }
    }
    for _ in 0..<2000 {
      let original = object(0)
      let mappers: [EventMapper] = [
        .snakeCase(), .camelCase(), .flattening(), .flattening().then(.snakeCase()), .limiting(nameBytes: 8),
      ]
      for mapper in mappers {
        let mapped = fields(mapper, original) ?? [:]
        #expect(leaves(mapped) == leaves(original), "seed \(seed)")
        #expect(Set(mapped.map(\.name)).count == mapped.count, "seed \(seed)")
      }
    }
  }

  @Test func `mappers compose in their order`() throws {
    let one = EventMapper(.snakeCase(), .prefixEvents("shop_"), .renaming(events: ["shop_a_b": "done"]))
    #expect(one.name("aB") == "done")
    #expect(one.name("c") == "shop_c")
    #expect(EventMapper.snakeCase().then(.prefixEvents("shop_")).name("aB") == "shop_a_b")
    #expect(EventMapper.prefixEvents("Shop.").then(.snakeCase(separator: ".")).name("aB") == "shop.a_b")
    let event = prepared("aB", ["x": 1])
    #expect(EventMapper()(event) == event)
    let nested = EventMapper(EventMapper(.prefixEvents("1"), .prefixEvents("2")), .prefixEvents("3"))
    #expect(nested.name("") == "321")
  }

  @Test func `events that are not for the provider are withheld`() {
    #expect(EventMapper.only { $0.name == "a" }(prepared("a")) != nil)
    #expect(EventMapper.only { $0.name == "a" }(prepared("c")) == nil)
    // Once one said no, those after it are not asked.
    let asked = EventMapper(
      .only { $0.name != "a" },
      EventMapper { event in
        Issue.record("asked")
        return event
      })
    #expect(asked(prepared("a")) == nil)
    let own = EventMapper { event in
      guard event.fields["keep"] == true else { return nil }
      var changed = event
      changed.fields["n"] = 2
      return changed
    }
    #expect(own(prepared("a", ["keep": true, "n": 1]))?.fields == ["keep": true, "n": 2])
    #expect(own(prepared("a")) == nil)
  }

  @Test func `fields are kept, removed, added and renamed`() {
    #expect(fields(.only(fields: "a", "c"), ["a": 1, "b": 2, "c": 3]) == ["a": 1, "c": 3])
    #expect(fields(.without(fields: "a", "c"), ["a": 1, "b": 2, "c": 3]) == ["b": 2])
    #expect(fields(.adding(["source": "weir", "a": nil]), ["a": 1]) == ["a": 1, "source": "weir"])
    #expect(fields(.renaming(fields: ["a": "b"], in: "other"), ["a": 1]) == ["a": 1])
    #expect(fields(.renaming(fields: ["a": "b"], in: "e"), ["a": 1]) == ["b": 1])
    #expect(
      fields(.flattening(separator: "."), ["a": ["b": ["c": 1]], "d": [["e": 2]], "f": [:], "g": 3])
        == ["a.b.c": 1, "d": [["e": 2]], "f": [:], "g": 3])
    let context = EventContext(globals: ["a": 1, "b": 2, "c": 3], user: EventUser(id: "u"), fields: ["b": 4, "c": 5])
    let joined = EventMapper.joiningContext()(prepared("e", ["c": 6], context: context))
    #expect(joined?.fields == ["c": 6, "b": 4, "a": 1])
    #expect(joined?.context == EventContext(user: EventUser(id: "u")))
  }

  @Test func `values become such as JSON has`() throws {
    let date = Date(timeIntervalSince1970: 1_795_219_200.5)
    let id = UUID()
    let all: FieldObject = [
      "wide": [.uint(1 << 53), .uint(1 << 53 - 1), .int(-1 << 53), .int(1 - 1 << 53), .int(.min), .uint(.max)],
      "odd": [.double(.nan), .double(.infinity), .float(-.infinity), .double(1.5), .float(.nan)],
      "date": .date(date), "id": .uuid(id), "bytes": .bytes([1, 2, 3]), "same": ["a", true, nil, [:], []],
      "nested": ["at": [.date(date)]],
    ]
    let text = "2026-11-21T00:00:00.500000000Z"
    #expect(
      fields(.jsonValues(), all) == [
        "wide": [
          "9007199254740992", .uint(1 << 53 - 1), "-9007199254740992", .int(1 - 1 << 53), "-9223372036854775808",
          "18446744073709551615",
        ],
        "odd": ["NaN", "Infinity", "-Infinity", 1.5, "NaN"],
        "date": .string(text), "id": .string(id.uuidString), "bytes": "AQID", "same": ["a", true, nil, [:], []],
        "nested": ["at": [.string(text)]],
      ])
    #expect(fields(.jsonValues(dates: .milliseconds), ["a": .date(date)]) == ["a": 1_795_219_200_500])
    #expect(fields(.jsonValues(dates: .seconds), ["a": .date(date)]) == ["a": 1_795_219_200.5])
    for seconds in [1e300, -1e300, .infinity, -.infinity, 253_402_300_800, -63_145_526_401] as [Double] {
      for form in EventMapper.DateForm.allCases {
        let odd: FieldObject = ["a": .date(Date(timeIntervalSinceReferenceDate: seconds))]
        let value = try #require(fields(.jsonValues(dates: form), odd))
        if seconds.isInfinite { #expect(value["a"] == .string(seconds < 0 ? "-Infinity" : "Infinity")) }
      }
    }
  }

  @Test func `values and names are cut at their limits`() {
    let long: FieldObject = ["a": "123456", "b": "12345", "c": "aéé€", "d": .bytes([1, 2, 3, 4, 5, 6])]
    let cut: FieldObject = ["a": "12345", "b": "12345", "c": "aéé", "d": .bytes([1, 2, 3, 4, 5])]
    #expect(fields(.limiting(valueBytes: 5), long) == cut)
    #expect(fields(.limiting(valueBytes: 3), ["a": "👨‍👩‍👧‍👦x", "b": [["c": "1234"]]]) == ["a": "", "b": [["c": "123"]]])
    let mapped = EventMapper.limiting(nameBytes: 8)(prepared("0123456789", ["abcdefghi": 1, "abcdefghj": 2, "x": 3]))
    #expect(mapped?.name == "01234567")
    #expect(mapped?.fields == ["abcdefgh": 1, "abcdef_2": 2, "x": 3])
    var preparation = Preparation(mapper: .limiting(nameBytes: 8, valueBytes: 1))
    _ = preparation.prepare(stored("0123456789", ["abcdefghi": "ab", "abcdefghj": "ab", "x": "ab"]))
    #expect(preparation.counts.truncated == 6)
    #expect(preparation.counts.renamed == 1)
  }

  /// The limit is there to end a search that takes time by the square of the fields, here some minutes.
  @Test(.timeLimit(.minutes(1)))
  func `many long names that begin alike are told apart`() throws {
    let many = 30_000
    let fields = FieldObject((0..<many).map { ("abcdefghi\($0)", FieldValue.int(Int64($0))) })
    let mapped = try #require(EventMapper.limiting(nameBytes: 8)(prepared("e", fields)))
    #expect(Set(mapped.fields.map(\.name)).count == many)
    #expect(mapped.fields.allSatisfy { $0.name.utf8.count <= 8 })
    #expect(mapped.fields[0].name == "abcdefgh")
    #expect(mapped.fields[2].name == "abcdef_3")
    #expect(mapped.fields.map(\.value) == fields.map(\.value))
    // Two names that are cut to the same stem by a longer number.
    let two = FieldObject(
      ["abcdefgh", "abcdefgi"].flatMap { name in (0..<20).map { ("\(name)\($0)", .int(Int64($0))) } })
    let cut = try #require(EventMapper.limiting(nameBytes: 8)(prepared("e", two)))
    #expect(Set(cut.fields.map(\.name)).count == 40)
  }

  @Test func `the cache of names is bounded, and changes nothing`() {
    let mapper = EventMapper.snakeCase()
    for round in 0..<2 {
      for number in 0..<5000 { #expect(mapper.name("userID\(number)") == "user_id\(number)", "\(round)") }
      let long = String(repeating: "n", count: 5000)
      #expect(mapper.name(long + "ID") == long + "_id")
    }
  }
}

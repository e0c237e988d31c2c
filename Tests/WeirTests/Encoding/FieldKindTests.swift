// Every kind of field, written by hand-written events and read back.

import Foundation
import TestSupport
import Testing
import Weir

struct FieldKindTests {
  private func check<Value: EventValue & Equatable>(_ values: Value...) throws {
    for value in values { #expect(try roundTrip(Single(value)).event.value == value) }
  }

  @Test func `case 47: integers keep their extremes`() throws {
    try check(Int8.min, Int8.max, 0)
    try check(Int16.min, Int16.max)
    try check(Int32.min, Int32.max)
    try check(Int64.min, Int64.max)
    try check(Int.min, Int.max)
    try check(UInt8.min, UInt8.max)
    try check(UInt16.max)
    try check(UInt32.max)
    try check(UInt64.max)
    try check(UInt.max)
  }

  @Test func `case 47: floating point keeps every bit, NaN too`() throws {
    let doubles: [Double] = [
      0, -0.0, .pi, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .nan,
      Double(bitPattern: 0xfff8_dead_beef_0001), Double(bitPattern: 0x7ff0_0000_0000_0001),
    ]
    for value in doubles { #expect(try roundTrip(Single(value)).event.value.bitPattern == value.bitPattern) }
    for value in [Float.nan, -0, .infinity, Float(bitPattern: 0xffc1_2345)] {
      #expect(try roundTrip(Single(value)).event.value.bitPattern == value.bitPattern)
    }
  }

  @Test func `URLs, decimals and durations come back`() throws {
    try check(try #require(URL(string: "https://shop.example/a?b=c%20d#e")), URL(filePath: "/tmp/a b"))
    try check(Decimal(string: "19.99"), nil, Decimal(1) / 3, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, .nan)
    try check(Duration.zero, .nanoseconds(-1), .milliseconds(1500), .seconds(86_400 * 90) + .nanoseconds(1))
    #expect(try capture(Single(Duration.milliseconds(-1500))).stored[0].fields == ["value": .double(-1.5)])
    #expect(try capture(Single(Decimal(string: "0.10"))).stored[0].fields == ["value": "0.1"])
    #expect(URL.fieldKind == .string)
    #expect(Decimal.fieldKind == .string)
    #expect(Duration.fieldKind == .double)
  }

  @Test func `a set is an array`() throws {
    try check(Set(["a", "b", "c"]), [])
    try check(Set<Int32>([1, 2, .max]))
    try check(Set<UInt8>([0, 255]))
    try check(Set([Decimal(1), Decimal(2)]), [])
    #expect(Set<String>.fieldKind == .array(.string))
    #expect(throws: FieldError.self) { try Set<String>(fieldValue: ["a", 1]) }
  }

  /// Of values that something else wrote: the number or text that names the value, and nothing that only begins so.
  @Test func `decimals and durations are read from numbers`() throws {
    let decimals: [(FieldValue, Decimal?)] = [
      (7, 7), (.uint(.max), Decimal(UInt64.max)), (.double(0.1), Decimal(string: "0.1")),
      (.double(1e-9), 1 / 1_000_000_000),
      (.float(1.5), Decimal(string: "1.5")), ("-12.50", Decimal(string: "-12.5")), ("1e3", 1000),
      (".5", Decimal(string: "0.5")),
      ("1.5 ", nil), ("1,5", nil), ("", nil), (".", nil), ("1e", nil), ("--1", nil), ("0x10", nil), (true, nil),
      (.double(.infinity), nil), (.double(1e300), nil),
    ]
    for (value, expected) in decimals { #expect((try? Decimal(fieldValue: value)) == expected, "\(value)") }
    let durations: [(FieldValue, Duration?)] = [
      (7, .seconds(7)), (.float(0.5), .milliseconds(500)),
      (.double(-1e-18), Duration(secondsComponent: 0, attosecondsComponent: -1)),
      (.double(1e-30), .zero), (.double(.nan), nil), (.double(-.infinity), nil), (.double(2e20), nil), ("1", nil),
    ]
    for (value, expected) in durations { #expect((try? Duration(fieldValue: value)) == expected, "\(value)") }
    for text: FieldValue in ["", 1, .null] { #expect(throws: FieldError.self) { try URL(fieldValue: text) } }
  }

  @Test func `text and bytes come back`() throws {
    try check("", "a", "fünfzehn Bytes!", "exactly fifteen", "sixteen bytes!!!", "a\0b\n\u{feff}", "\u{10ffff}🏞️")
    for count in 0..<40 { try check(String(repeating: "x", count: count)) }
    try check([UInt8](), [0], [UInt8](0...255))
    try check(Data(), Data([1, 2, 3]))
    try check("substring of a text".dropFirst(13).description)
  }

  @Test func `a string of 64 KiB fits, and a larger one is refused`() throws {
    let large = String(repeating: "ö", count: 32 << 10)
    #expect(try roundTrip(Single(large)).event.value == large)
    let limit = Tracker.Configuration().maximumEventBytes
    try check([UInt8](repeating: 7, count: limit - 4))
    let (receipt, _, stored) = try capture(Single([UInt8](repeating: 7, count: limit - 3)))
    #expect(receipt == .dropped(.tooLarge))
    #expect(stored.filter { !$0.isNotice }.isEmpty)
  }

  @Test func `the other scalars come back`() throws {
    try check(true, false)
    try check(UUID(), UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")!)
    try check(Date(), Date.distantPast, Date(timeIntervalSinceReferenceDate: 0.1))
    try check(Plan.free, .paid)
  }

  @Test func `optionals and arrays come back`() throws {
    try check(Int?.none, 5)
    try check(String?.none, "", "x")
    try check([Int](), [1, -1])
    try check([[String]](), [[], ["a"], ["b", ""]])
    try check([Int?](), [nil, 1, nil])
    try check([[UInt8]](), [[], [1]])
    try check([Bool]?.none, [], [true])
    try check([UUID()], [Date]().map { _ in UUID() })
  }

  @Test func `nested objects come back`() throws {
    let price = Price(amount: 1999, currency: "EUR", discounts: [0.5, nil])
    try check(price)
    try check([price, Price(amount: -1, currency: "")], [])
    try check(Price?.none, price)
    let stored = try capture(Single(price)).stored
    #expect(stored[0].fields == ["value": ["amount": 1999, "currency": "EUR", "discounts": [.float(0.5), nil]]])
  }

  @Test func `values of any kind come back`() throws {
    let value: FieldValue = [
      nil, true, -5, 1.5, "text", .uint(.max), .float(2), .bytes([0, 255]), .uuid(UUID()), .date(Date()),
      ["a": [1, ["b": nil]], "": []],
    ]
    try check(value, .null)
    try check([value, .null])
    try check(FieldValue?.none, value)
  }

  @Test func `a value of any kind nests sixteen deep, and no deeper`() throws {
    var value: FieldValue = 1
    for _ in 0..<16 { value = .array([value]) }
    try check(value)
    let (receipt, _, stored) = try capture(Single(FieldValue.array([value])))
    #expect(receipt == .dropped(.invalid))
    #expect(stored.allSatisfy { $0.isNotice })
  }

  @Test func `fields keep their order and names`() throws {
    let event = Checkout.completed(order: 7, total: 19.9, items: -3, coupon: "SPRING")
    #expect(try roundTrip(event).event == event)
    let stored = try capture(event).stored
    #expect(stored.count == 1)
    #expect(stored[0].name == "checkout.completed")
    #expect(stored[0].fields == ["order": .uint(7), "total": 19.9, "items": -3, "coupon": "SPRING"])
  }
}

// EventID, Timestamp and the other values that have a text form.

import Foundation
import TestSupport
import Testing
import Weir

struct EventTextTests {
  @Test func `an id is thirty-two digits, and reads back`() throws {
    let id = EventID(opening: 0x0123_4567_89ab_cdef, sequence: 0xf)
    #expect(id.description == "0123456789abcdef000000000000000f")
    #expect(EventID(id.description) == id)
    #expect(EventID("0123456789ABCDEF000000000000000F") == id)
    let extreme = EventID(opening: .max, sequence: .max)
    #expect(EventID(extreme.description) == extreme)
  }

  @Test(arguments: [
    "", "0", String(repeating: "0", count: 31), String(repeating: "0", count: 33),
    "0123456789abcdeg" + "0000000000000000", "+123456789abcdef0000000000000000",
  ])
  func `any other text is no id`(_ text: String) {
    #expect(EventID(text) == nil)
  }

  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000000000Z"),
    (1_795_219_200_123_456_789, "2026-11-21T00:00:00.123456789Z"),
    (951_827_696_000_000_001, "2000-02-29T12:34:56.000000001Z"),
    (-1, "1969-12-31T23:59:59.999999999Z"),
    (-86_400_000_000_000, "1969-12-31T00:00:00.000000000Z"),
    (Int64.max, "2262-04-11T23:47:16.854775807Z"),
    (Int64.min, "1677-09-21T00:12:43.145224192Z"),
  ])
  func `a timestamp is text as of RFC 3339`(_ nanoseconds: Int64, _ text: String) {
    #expect(Timestamp(nanosecondsSince1970: nanoseconds).description == text)
  }

  @Test(arguments: [
    0, -63_145_526_400, 252_423_993_599, -63_145_526_401, 252_423_993_600, 1e19, -1e19, 1e300,
    Double.greatestFiniteMagnitude, -.greatestFiniteMagnitude, .infinity, -.infinity, .nan, .leastNonzeroMagnitude,
  ])
  func `case 47: a date in a field has a text, be it ever so far away`(_ seconds: Double) {
    let value = FieldValue.date(Date(timeIntervalSinceReferenceDate: seconds))
    #expect(!value.description.isEmpty)
    #expect(!FieldObject([.init(name: "at", value: value)]).description.isEmpty)
  }

  @Test func `a timestamp agrees with Foundation`() {
    let formatter = ISO8601DateFormatter()
    for day in stride(from: -100_000, to: 100_000, by: 97) {
      let seconds = day * 86_400 + 3_661
      let ours = Timestamp(nanosecondsSince1970: Int64(seconds) * 1_000_000_000).description
      let theirs = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
      #expect(ours == theirs.replacingOccurrences(of: "Z", with: ".000000000Z"))
    }
  }

  @Test func `durations saturate`() {
    #expect(Duration.milliseconds(1).wholeNanoseconds == 1_000_000)
    #expect(Duration.zero.wholeNanoseconds == 0)
    #expect(Duration.seconds(-5).wholeNanoseconds == 0)
    #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
  }

  @Test func `a field object finds the last of a name`() throws {
    let object: FieldObject = ["a": 1, "b": "x", "a": 2]
    #expect(object["a"] == .int(2))
    #expect(object["c"] == nil)
    #expect(object.map(\.name) == ["a", "b", "a"])
    let number: Int = try object.value("a")
    #expect(number == 2)
  }

  @Test func `a typed field says what is wrong`() throws {
    let object: FieldObject = ["n": 300, "price": ["amount": "ten", "currency": "EUR", "discounts": []], "s": "x"]
    func message<T: EventValue>(_ name: String, _ type: T.Type) -> String {
      do {
        let _: T = try object.value(name)
        return "no error"
      } catch {
        return "\(error)"
      }
    }
    #expect(message("n", UInt8.self) == "field n: 300 does not fit in UInt8")
    #expect(message("none", Int.self) == "field none: the value is missing, expected integer")
    #expect(message("s", Int.self) == "field s: the value is string, expected integer")
    #expect(message("price", Price.self) == "field price.amount: the value is string, expected integer")
    #expect(message("s", Plan.self).contains("x is no value of Plan"))
    let missing: Int? = try object.value("none")
    #expect(missing == nil)
  }

  @Test func `a stored event is one line`() {
    let event = StoredEvent(
      offset: 12, id: EventID(opening: 1, sequence: 2), time: Timestamp(nanosecondsSince1970: 0), name: "sold",
      fields: ["order": 7, "coupon": "A\nB"])
    #expect(event.description == #"12 1970-01-01T00:00:00.000000000Z sold {order: 7, coupon: "A\nB"}"#)
  }
}

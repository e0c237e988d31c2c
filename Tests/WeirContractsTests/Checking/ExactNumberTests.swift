// Numbers of different kinds, compared without rounding.

import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirJSON

struct ExactNumberTests {
  private func isLess(_ left: FieldValue, _ right: FieldValue) throws -> Bool {
    try #require(ExactNumber(left)) < #require(ExactNumber(right))
  }

  private func isEqual(_ left: FieldValue, _ right: FieldValue) throws -> Bool {
    try #require(ExactNumber(left)) == #require(ExactNumber(right))
  }

  /// Each is less than the next; where a double would round two of them together, this would fail.
  @Test func `each number of an ascending row is less than the next`() throws {
    let row: [FieldValue] = [
      .double(-.infinity), .double(-1e300), .double((-0x1p63).nextDown), .int(.min), .int(.min + 1),
      .int(-(1 << 53) - 1), .int(-(1 << 53)), .double(-1.5), .int(-1), .float(-0.5), .int(0),
      .double(.leastNonzeroMagnitude), .float(0.1), .double(0.5), .uint(1), .double(1.0.nextUp), .int(1 << 53),
      .int((1 << 53) + 1), .double(0x1p53 + 2), .double(0x1p63.nextDown), .int(.max - 1), .int(.max), .uint(1 << 63),
      .uint((1 << 63) + 1), .double(0x1p63.nextUp), .double(0x1p64.nextDown), .uint(.max - 1), .uint(.max),
      .double(0x1p64), .float(.greatestFiniteMagnitude), .double(.infinity),
    ]
    for (index, left) in row.enumerated() {
      for (other, right) in row.enumerated() {
        #expect(try isLess(left, right) == (index < other), "\(left) and \(right)")
        #expect(try isEqual(left, right) == (index == other), "\(left) and \(right)")
      }
    }
  }

  /// Values are looked up by keys where there are many, and compared where there are few.
  @Test func `values have the same key where they are the same`() {
    let numbers: [FieldValue] = [
      .int(0), .uint(0), .float(0), .double(-0.0), .int(.min), .double(-0x1p63), .double((-0x1p63).nextDown),
      .int(.max), .uint(.max), .double(0x1p63), .uint(1 << 63), .double(0x1p64), .double(0x1p64.nextDown), .float(0.1),
      .double(0.1), .double(Double(Float(0.1))), .int(1 << 53), .int((1 << 53) + 1), .double(0x1p53), .double(1e300),
      .double(.infinity), .float(.infinity), .double(-.infinity), .double(.nan), .double(1.5), .float(1.5), .uint(1),
    ]
    let others: [FieldValue] = [
      "0", "1", "é", "e\u{301}", "", nil, true, false, .bytes([0x31]), .bytes([]), [], [1], [:], ["a": 1],
    ]
    let values = numbers + others
    for left in values {
      for right in values {
        #expect((ValueKey(left) == ValueKey(right)) == left.isSame(as: right), "\(left) and \(right)")
      }
    }
    let many = AllowedValues(values)
    for value in values {
      #expect(many.contains(value) == values.contains { $0.isSame(as: value) }, "\(value)")
    }
    #expect(!many.contains(.int(2)))
    #expect(!many.contains("2"))
    #expect(!many.contains(.double(0.25)))
  }

  @Test func `the same number in different kinds is equal`() throws {
    let equal: [[FieldValue]] = [
      [.int(0), .uint(0), .float(0), .double(-0.0)], [.int(7), .uint(7), .float(7), .double(7)],
      [.int(1 << 53), .uint(1 << 53), .double(0x1p53)], [.int(.min), .double(-0x1p63), .float(-0x1p63)],
      [.uint(1 << 63), .double(0x1p63)],
    ]
    for group in equal {
      for left in group {
        for right in group {
          #expect(try isEqual(left, right))
          #expect(try !isLess(left, right))
        }
      }
    }
  }

  @Test func `not-a-number is in no order, other kinds are no numbers`() throws {
    for other: FieldValue in [.int(0), .uint(0), .double(0), .double(.nan), .double(.infinity)] {
      #expect(try !isLess(.double(.nan), other))
      #expect(try !isLess(other, .double(.nan)))
      #expect(try !isEqual(.double(.nan), other))
    }
    for value: FieldValue in [.null, .bool(true), .string("1"), .array([1]), .bytes([1])] {
      #expect(ExactNumber(value) == nil)
    }
  }
}

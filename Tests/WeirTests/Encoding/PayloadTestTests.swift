// That a payload passes a test that asks nothing exactly if it can be read, whatever its bytes are; and what questions
// do at, below and above their bounds.

import Foundation
import TestSupport
import Testing

@testable import Weir

struct PayloadTestTests {
  private static let kinds: [FieldKind] = [
    .bool, .int8, .int16, .int32, .uint8, .uint16, .float, .string, .bytes, .any, .date,
  ]

  private func kind(_ random: inout Seeded, depth: Int) -> FieldKind {
    switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &random) {
    case 5: .optional(kind(&random, depth: depth - 1))
    case 6: .array(kind(&random, depth: depth - 1))
    case 7: .object([Field("f", kind(&random, depth: depth - 1)), Field("g", kind(&random, depth: depth - 1))])
    default: Self.kinds.randomElement(using: &random) ?? .bool
    }
  }

  /// Mostly small numbers, so that many counts and kinds are sound.
  private func bytes(_ random: inout Seeded) -> [UInt8] {
    (0..<Int.random(in: 0...24, using: &random)).map { _ in
      let most: UInt8 = [0, 0, 0, 18, 18, 255].randomElement(using: &random) ?? 0
      return UInt8.random(in: 0...most, using: &random)
    }
  }

  @Test func `what asks nothing passes exactly what can be read`() {
    let seed = testSeed()
    var random = Seeded(seed: seed)
    var passed = 0
    for _ in 0..<60_000 {
      let bytes = bytes(&random)
      let fields = (0..<Int.random(in: 0...3, using: &random)).map { Field("\($0)", kind(&random, depth: 2)) }
      let asked = PayloadTest(fields.map { PayloadTest.Field($0.kind, .anything, allowsNull: true) })
      let tagged = TaggedTest([], allowsOthers: true)
      bytes.withUnsafeBytes { bytes in
        var reader = PayloadReader(bytes)
        let isReadable = (try? reader.packed(fields)) != nil
        #expect(asked.passes(bytes) { _, _ in false } == isReadable, "\(fields) \(Array(bytes)) WEIR_SEED=\(seed)")
        var other = PayloadReader(bytes)
        let isObject = (try? other.tagged()) != nil
        #expect(tagged.passes(bytes) { _, _ in false } == isObject, "\(Array(bytes)) WEIR_SEED=\(seed)")
        passed += isReadable ? 1 : 0
      }
    }
    #expect(passed > 1000)
  }

  private func passes(_ value: FieldValue, _ kind: FieldKind, _ question: PayloadTest.Question) -> Bool {
    var bytes: [UInt8] = []
    func put(_ number: some FixedWidthInteger) { withUnsafeBytes(of: number.littleEndian) { bytes += Array($0) } }
    switch (kind, value) {
    case (.int8, .int(let number)): put(Int8(number))
    case (.int64, .int(let number)): put(number)
    case (.uint64, .uint(let number)): put(number)
    case (.float, .float(let number)): put(number.bitPattern)
    case (.double, .double(let number)): put(number.bitPattern)
    case (.string, .bytes(let text)):
      put(UInt32(text.count))
      bytes += text
    default: Issue.record("no such value")
    }
    let test = PayloadTest([PayloadTest.Field(kind, question, allowsNull: false)])
    return bytes.withUnsafeBytes { test.passes($0) { _, _ in false } }
  }

  @Test func `integers are held against their bounds`() {
    let cases: [(Int64, Bool)] = [(-3, false), (-2, true), (0, true), (5, true), (6, false)]
    for (number, isWithin) in cases {
      #expect(passes(.int(number), .int8, .integer(least: -2, most: 5)) == isWithin)
      #expect(passes(.int(number), .int64, .integer(least: -2, most: 5)) == isWithin)
    }
    #expect(passes(.uint(.max), .uint64, .integer(least: 0, most: Int128(UInt64.max))))
    #expect(!passes(.uint(.max), .uint64, .integer(least: 0, most: Int128(UInt64.max) - 1)))
    #expect(!passes(.uint(.max), .uint64, .integer(least: -1, most: 0)))
  }

  @Test func `numbers are held against their bounds, and NaN is within none`() {
    let cases: [(Double, Bool)] = [
      (-0.5, false), (0, true), (1, true), (1.5, false), (.nan, false), (.infinity, false),
    ]
    for (number, isWithin) in cases {
      #expect(passes(.double(number), .double, .number(least: 0, most: 1)) == isWithin)
      #expect(passes(.float(Float(number)), .float, .number(least: 0, most: 1)) == isWithin)
    }
  }

  @Test func `texts are counted in scalars, and are text`() {
    for length in 0...40 {
      for cut in 0...length {
        // Characters of one byte, and then of two.
        let text = Array((String(repeating: "a", count: cut) + String(repeating: "é", count: length - cut)).utf8)
        #expect(passes(.bytes(text), .string, .text(least: length, most: length)))
        #expect(!passes(.bytes(text), .string, .text(least: length + 1, most: .max)))
        #expect(!passes(.bytes(text), .string, .text(least: 0, most: length - 1)))
        #expect(!passes(.bytes(text + [0xff]), .string, .text(least: 0, most: .max)))
        #expect(!passes(.bytes(text + [0xc3]), .string, .text(least: 0, most: .max)))
      }
    }
  }
}

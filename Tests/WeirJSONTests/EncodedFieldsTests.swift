// Fields written as JSON from their bytes: the same text as of the decoded fields, whatever the bytes are.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirJSON

/// Makes declared fields and bytes for them, and changes bytes.
private struct Maker {
  var random: Seeded

  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

  private func little(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  private func counted(_ bytes: [UInt8]) -> [UInt8] { little(UInt32(bytes.count)) + bytes }

  private mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(below(256)) } }

  private mutating func number() -> UInt64 {
    let numbers: [UInt64] = [0, 9, 10, 99, 100, 1 << 53, 1 << 53 + 1, .max, UInt64(bitPattern: .min)]
    return below(3) == 0 ? numbers[below(numbers.count)] : random.next() >> UInt64(below(64))
  }

  private static let special: [Double] = [
    0, -0.0, 0.001, 0.0009, 0.1, 1e11, 1e15, 1e16, .leastNonzeroMagnitude, .infinity, -.infinity, .nan,
  ]
  private static let scales: [Double] = [1, 10, 100, 1_000, 10_000, 100_000]

  mutating func double() -> Double {
    switch below(8) {
    case 0: Self.special[below(Self.special.count)]
    case 1: Double(bitPattern: random.next())
    case 2: Double(number() >> 11) / Self.scales[below(Self.scales.count)]
    case 3: Double(below(2_000_000) - 1_000_000) / 100
    case 4: (Double(below(2_000_000)) / 100).nextUp
    case 5: Double(below(100_000)) * 0.1
    case 6: Double(below(1 << 30)) * 1_000
    default: Double.random(in: -1e6...1e6, using: &random)
    }
  }

  private mutating func text() -> [UInt8] {
    let letters: [Unicode.Scalar] = [
      "a", "b", " ", "~", "\"", "\\", "/", "\n", "\u{1f}", "\u{7f}", "\u{80}", "\u{9f}", "ö", "€", "\u{200e}",
      "\u{2028}", "\u{2066}", "\u{feff}", "😀",
    ]
    var text: [UInt8] = []
    let isPlain = below(2) == 0
    for _ in 0..<below(30) { text += String(letters[below(isPlain ? 4 : letters.count)]).utf8 }
    if below(20) == 0 { text.append(UInt8(128 + below(128))) }
    return text
  }

  mutating func packed(_ depth: Int) -> (FieldKind, [UInt8]) {
    switch below(depth >= 4 ? 16 : 19) {
    case 0: return (.bool, [UInt8(below(2))])
    case 1: return (.int8, bytes(1))
    case 2: return (.int16, bytes(2))
    case 3: return (.int32, bytes(4))
    case 4: return (.int64, little(number()))
    case 5: return (.uint8, bytes(1))
    case 6: return (.uint16, bytes(2))
    case 7: return (.uint32, bytes(4))
    case 8: return (.uint64, little(number()))
    case 9: return (.float, little(below(2) == 0 ? Float(double()).bitPattern : UInt32(below(1 << 32))))
    case 10: return (.double, little(double().bitPattern))
    case 11: return (.string, counted(text()))
    case 12: return (.bytes, counted(bytes(below(9))))
    case 13: return (.uuid, bytes(16))
    case 14: return (.date, little(Double.random(in: -1e12...1e12, using: &random).bitPattern))
    case 15: return (.any, tagged(depth))
    case 16:
      let (kind, value) = packed(depth + 1)
      return below(2) == 0 ? (.optional(kind), [0]) : (.optional(kind), [1] + value)
    case 17:
      let (kind, value) = packed(depth + 1)
      let count = below(4)
      return (.array(kind), little(UInt32(count)) + (0..<count).flatMap { _ in value })
    default:
      let (fields, value) = self.fields(depth + 1, atLeast: 1)
      return (.object(fields), value)
    }
  }

  mutating func fields(_ depth: Int, atLeast least: Int = 0) -> ([Field], [UInt8]) {
    let names = ["order", "a", "f\"1", "größe", "a.b"]
    let members = (0..<least + below(4)).map { _ in (names[below(names.count)], packed(depth)) }
    return (members.map { Field($0.0, $0.1.0) }, members.flatMap(\.1.1))
  }

  private mutating func tagged(_ depth: Int) -> [UInt8] {
    switch below(depth >= 5 ? 8 : 10) {
    case 0: return [0]
    case 1: return [1, UInt8(below(2))]
    case 2: return [5] + little(number())
    case 3: return [9] + little(number())
    case 4: return [11] + little(double().bitPattern)
    case 5: return [12] + counted(text())
    case 6: return [13] + counted(bytes(below(5)))
    case 7: return [14] + bytes(16)
    case 8:
      let count = below(4)
      return [17] + little(UInt32(count)) + (0..<count).flatMap { _ in tagged(depth + 1) }
    default: return [18] + object(depth + 1)
    }
  }

  mutating func object(_ depth: Int) -> [UInt8] {
    let count = below(5)
    return little(UInt32(count)) + (0..<count).flatMap { _ in counted(text()) + tagged(depth + 1) }
  }

  mutating func changed(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    guard below(4) == 0, !bytes.isEmpty else { return bytes }
    switch below(4) {
    case 0: bytes[below(bytes.count)] ^= UInt8(1 << below(8))
    case 1: bytes.removeLast(1 + below(bytes.count))
    case 2: bytes.append(UInt8(below(256)))
    default: bytes[below(bytes.count)] = UInt8(below(20))
    }
    return bytes
  }
}

struct EncodedFieldsTests {
  private func text(_ bytes: [UInt8], _ fields: [Field]?, _ form: JSONForm) -> String? {
    let packed = fields.flatMap { PackedFields($0, isInArray: false) }
    if fields != nil, packed == nil { return nil }
    let room = UnsafeMutableBufferPointer<UInt8>.allocate(
      capacity: bytes.count * EncodedFields.factor + (packed?.textBytes ?? 0) + 64)
    defer { room.deallocate() }
    guard let start = room.baseAddress else { return nil }
    return bytes.withUnsafeBytes { raw -> String? in
      var encoded = EncodedFields(raw, JSONSink(start), form)
      guard encoded.write(packed) else { return nil }
      let count = encoded.sink.place - start
      #expect(count <= room.count)
      return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
  }

  private func decoded(_ bytes: [UInt8], _ fields: [Field]?, _ form: JSONForm) -> String? {
    let object = bytes.withUnsafeBytes { raw -> FieldObject? in
      var reader = PayloadReader(raw)
      if let fields { return try? reader.packed(fields) }
      return try? reader.tagged()
    }
    guard let object else { return nil }
    var text: [UInt8] = []
    JSONText.append(object, as: form, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  @Test func `fields have the same text from their bytes as decoded`() {
    let seed = testSeed()
    print("EncodedFieldsTests: WEIR_SEED=\(seed)")
    var maker = Maker(random: Seeded(seed: seed))
    var written = 0
    let rounds = 20_000
    for _ in 0..<rounds {
      var form = JSONForm()
      form.hasLargeIntegersAsText = maker.below(2) == 0
      form.hasNonFiniteAsNull = maker.below(2) == 0
      var (fields, good): ([Field]?, [UInt8]) = (nil, maker.object(1))
      if maker.below(3) > 0 {
        let made = maker.fields(1)
        (fields, good) = (made.0, made.1)
      }
      let bytes = maker.changed(good)
      let made = text(bytes, fields, form)
      let expected = decoded(bytes, fields, form)
      if let made {
        written += 1
        #expect(made == expected)
      } else if expected != nil {
        // Only names that an event's size does not bound are left to the decoder.
        #expect(fields.map { PackedFields($0, isInArray: false) == nil } ?? false)
      }
    }
    #expect(written > rounds / 2)
  }

  @Test func `doubles have their shortest digits`() {
    let seed = testSeed()
    print("EncodedFieldsTests: WEIR_SEED=\(seed)")
    var maker = Maker(random: Seeded(seed: seed))
    for _ in 0..<200_000 {
      let value = maker.double()
      guard value.isFinite else { continue }
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: JSONSink.numberBytes) { room in
        guard let start = room.baseAddress else { return }
        var sink = JSONSink(start)
        sink.put(value, as: JSONForm())
        let text = String(decoding: UnsafeBufferPointer(start: start, count: sink.place - start), as: UTF8.self)
        if text != value.description { Issue.record("\(value) is written as \(text)") }
      }
    }
  }
}

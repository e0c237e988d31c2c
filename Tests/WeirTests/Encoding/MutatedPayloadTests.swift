// Payloads and definitions with bytes changed, through every decoder: whatever the bytes are, they decode to something
// or are refused, in memory and time that their length bounds.

import Foundation
import TestSupport
import Testing

@testable import Weir

/// Makes payloads, definitions to go with them, and changes to both.
private struct Mutator {
  var random: Seeded
  init(seed: UInt64) { random = Seeded(seed: seed) }

  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
  mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) } }

  private func little(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }
  private func counted(_ bytes: [UInt8]) -> [UInt8] { little(UInt32(bytes.count)) + bytes }

  /// A kind and bytes that are right for it.
  mutating func packed(_ depth: Int) -> (FieldKind, [UInt8]) {
    switch below(depth >= 4 ? 12 : 15) {
    case 0: return (.bool, [UInt8(below(2))])
    case 1: return (.int8, bytes(1))
    case 2: return (.uint16, bytes(2))
    case 3: return (.int32, bytes(4))
    case 4: return (.uint64, bytes(8))
    case 5: return (.float, bytes(4))
    case 6: return (.double, bytes(8))
    case 7: return (.string, counted(Array("größe".utf8.prefix(below(7)))))
    case 8: return (.bytes, counted(bytes(below(9))))
    case 9: return (.uuid, bytes(16))
    case 10: return (.date, bytes(8))
    case 11: return (.any, tagged(depth))
    case 12:
      let (kind, value) = packed(depth + 1)
      return below(2) == 0 ? (.optional(kind), [0]) : (.optional(kind), [1] + value)
    case 13:
      // All values of an array have one kind: one value, several times.
      let (kind, value) = packed(depth + 1)
      let count = below(4)
      return (.array(kind), little(UInt32(count)) + (0..<count).flatMap { _ in value })
    default:
      let members = (0...below(3)).map { _ in packed(depth + 1) }
      return (.object(members.enumerated().map { Field("f\($0)", $1.0) }), members.flatMap(\.1))
    }
  }

  /// A tagged value.
  mutating func tagged(_ depth: Int) -> [UInt8] {
    switch below(depth >= 5 ? 6 : 8) {
    case 0: return [0]
    case 1: return [1, UInt8(below(2))]
    case 2: return [5] + bytes(8)
    case 3: return [11] + bytes(8)
    case 4: return [12] + counted(Array("text".utf8))
    case 5: return [13] + counted(bytes(below(5)))
    case 6:
      let count = below(4)
      return [17] + little(UInt32(count)) + (0..<count).flatMap { _ in tagged(depth + 1) }
    default: return [18] + object(depth + 1)
    }
  }

  mutating func object(_ depth: Int) -> [UInt8] {
    let names = ["a", "page", "path", "query", "at", "tags", "value", "one", "x"]
    let count = below(5)
    return little(UInt32(count))
      + (0..<count).flatMap { _ in counted(Array(names[below(names.count)].utf8)) + tagged(depth + 1) }
  }

  /// Some changes: bytes, lengths of all sizes in place of others, cuts, doubled stretches.
  mutating func change(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0...below(3) {
      let position = below(bytes.count + 1)
      switch below(6) {
      case 0 where position < bytes.count: bytes[position] ^= UInt8(1 << below(8))
      case 1 where position < bytes.count: bytes[position] = UInt8(below(256))
      case 2: bytes.removeSubrange(position..<min(bytes.count, position + below(9)))
      case 3: bytes.insert(contentsOf: self.bytes(below(9)), at: position)
      case 4 where position + 4 <= bytes.count:
        let lengths: [UInt32] = [0, 1, .max, .max - 1, 1 << 31, 1 << 20, UInt32(bytes.count), UInt32(bytes.count) + 1]
        bytes.replaceSubrange(position..<position + 4, with: little(lengths[below(lengths.count)]))
      default: bytes.insert(contentsOf: bytes[position..<min(bytes.count, position + below(40))], at: position)
      }
    }
    return bytes
  }
}

struct MutatedPayloadTests {
  private static var rounds: Int { ProcessInfo.processInfo.environment["WEIR_LONG"] == "1" ? 1_000_000 : 50_000 }
  private static var seed: UInt64 {
    ProcessInfo.processInfo.environment["WEIR_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ..< .max)
  }

  /// Uses up everything that was decoded: prints it, hashes it, and offers it to event types of both sorts.
  private func use(_ fields: FieldObject, _ names: [String]) {
    for name in names {
      let stored = StoredEvent(
        offset: 1, id: EventID(opening: 2, sequence: 3), time: Timestamp(nanosecondsSince1970: 4), name: name,
        fields: fields)
      #expect(stored.description.utf8.count < 4_000_000)
      #expect(stored == stored && stored.hashValue == stored.hashValue || stored != stored)
      _ = try? Visit(stored)
      _ = try? Login(stored)
      _ = try? Checkout(stored)
      _ = try? Single<Price>(stored)
    }
  }

  private let names = [
    "Visit.viewed", "Visit.numbers", "Visit.floats", "Visit.optionals", "Visit.plan", "Visit.none", "login",
    "checkout.completed", "single",
  ]

  @Test func `case 40: changed tagged payloads decode to something, or are refused`() {
    let seed = Self.seed
    print("MutatedPayloadTests.tagged: WEIR_SEED=\(seed)")
    var mutator = Mutator(seed: seed)
    var decoded = 0
    for _ in 0..<Self.rounds {
      let good = mutator.object(1)
      let bytes = mutator.below(8) == 0 ? good : mutator.change(good)
      let fields = bytes.withUnsafeBytes { raw in
        var reader = PayloadReader(raw)
        return try? reader.tagged()
      }
      guard let fields else { continue }
      decoded += 1
      use(fields, [names[mutator.below(names.count)]])
    }
    #expect(decoded > Self.rounds / 20)
    #expect(decoded < Self.rounds)
  }

  @Test func `case 40: changed payloads of changed definitions decode to something, or are refused`() {
    let seed = Self.seed
    print("MutatedPayloadTests.packed: WEIR_SEED=\(seed)")
    var mutator = Mutator(seed: seed)
    var decoded = 0
    for round in 0..<Self.rounds {
      let values = (0...mutator.below(4)).map { _ in mutator.packed(1) }
      let type = EventType("t", values.enumerated().map { Field("f\($0)", $1.0) })
      guard let definition = type.encodedFields() else { continue }
      let changed = round % 2 == 0 ? definition : mutator.change(definition)
      let fields = changed.withUnsafeBytes { raw in
        var reader = DefinitionReader(raw)
        return try? reader.fields(count: values.count)
      }
      guard let fields else { continue }
      if round % 2 == 0 { #expect(fields == type.fields) }
      let payload = mutator.below(4) == 0 ? values.flatMap(\.1) : mutator.change(values.flatMap(\.1))
      let object = payload.withUnsafeBytes { raw in
        var reader = PayloadReader(raw)
        return try? reader.packed(fields)
      }
      guard let object else { continue }
      decoded += 1
      use(object, [names[mutator.below(names.count)]])
    }
    #expect(decoded > Self.rounds / 20)
    #expect(decoded < Self.rounds)
  }
}

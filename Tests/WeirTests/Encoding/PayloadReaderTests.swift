// Reading payloads and definitions that are not what they should be.

import TestSupport
import Testing

@testable import Weir

struct PayloadReaderTests {
  private func packed(_ bytes: [UInt8], _ kinds: FieldKind...) -> FieldObject? {
    bytes.withUnsafeBytes { raw in
      var reader = PayloadReader(raw)
      return try? reader.packed(kinds.enumerated().map { Field("f\($0)", $1) })
    }
  }

  private func tagged(_ bytes: [UInt8]) -> FieldObject? {
    bytes.withUnsafeBytes { raw in
      var reader = PayloadReader(raw)
      return try? reader.tagged()
    }
  }

  @Test func `a payload is used up exactly, or refused`() {
    #expect(packed([1, 0], .int16) == ["f0": 1])
    #expect(packed([1, 0, 0], .int16) == nil)
    #expect(packed([1], .int16) == nil)
    #expect(packed([]) == [:])
    #expect(packed([0]) == nil)
  }

  @Test func `flags are zero or one`() {
    #expect(packed([1], .bool) == ["f0": true])
    #expect(packed([2], .bool) == nil)
    #expect(packed([0], .optional(.int8)) == ["f0": nil])
    #expect(packed([2, 1], .optional(.int8)) == nil)
  }

  @Test func `counts are held against the bytes`() {
    #expect(packed([255, 255, 255, 255], .string) == nil)
    #expect(packed([255, 255, 255, 255], .bytes) == nil)
    #expect(packed([255, 255, 255, 255, 1], .array(.int8)) == nil)
    #expect(packed([255, 255, 255, 127, 1], .array(.object([]))) == nil)
    #expect(packed([1, 0, 0, 0], .array(.object([]))) == nil)
    #expect(packed([2, 0, 0, 0, 5, 6], .array(.int8)) == ["f0": [5, 6]])
  }

  @Test func `case 47: text that is not UTF-8 is given as bytes`() {
    #expect(packed([2, 0, 0, 0, 0xc3, 0xb6], .string) == ["f0": "ö"])
    #expect(packed([2, 0, 0, 0, 0xc3, 0x28], .string) == ["f0": .bytes([0xc3, 0x28])])
    #expect(packed([3, 0, 0, 0, 0xed, 0xa0, 0x80], .string) == ["f0": .bytes([0xed, 0xa0, 0x80])])
  }

  @Test func `a tagged payload of an unknown kind is refused`() {
    #expect(tagged([0, 0, 0, 0]) == [:])
    #expect(tagged([1, 0, 0, 0, 1, 0, 0, 0, 0x61, 0]) == ["a": nil])
    for kind: UInt8 in [16, 19, 20, 255] {
      #expect(tagged([1, 0, 0, 0, 1, 0, 0, 0, 0x61, kind, 0, 0, 0, 0]) == nil, "kind \(kind)")
    }
    #expect(tagged([1, 0, 0, 0, 1, 0, 0, 0, 0xff, 0]) == nil)
  }

  @Test func `the depth is limited`() {
    func nested(_ depth: Int) -> [UInt8] {
      [1, 0, 0, 0, 0, 0, 0, 0] + (0..<depth).flatMap { _ in [17, 1, 0, 0, 0] as [UInt8] } + [0]
    }
    #expect(tagged(nested(16)) != nil)
    #expect(tagged(nested(17)) == nil)
    #expect(tagged(nested(10_000)) == nil)
  }

  @Test func `definitions are read back`() throws {
    let fields = [
      Field("a", .optional(.array(.object([Field("b", .uuid), Field("ö", .any)])))), Field("c", .bytes),
    ]
    let bytes = try #require(EventType("t", fields).encodedFields())
    bytes.withUnsafeBytes { raw in
      var reader = DefinitionReader(raw)
      let found = try? reader.fields(count: 2)
      #expect(found == fields)
      for count in [0, 1, 3, 60_000] {
        var reader = DefinitionReader(raw)
        #expect(throws: Malformed.self) { try reader.fields(count: count) }
      }
    }
    // Cut anywhere, it is malformed; changed anywhere, it may mean something else, but never traps.
    for count in 0..<bytes.count {
      bytes[..<count].withUnsafeBytes { raw in
        var reader = DefinitionReader(raw)
        #expect(throws: Malformed.self) { try reader.fields(count: 2) }
      }
      for change in 1...255 {
        var changed = bytes
        changed[count] ^= UInt8(change)
        changed.withUnsafeBytes { raw in
          var reader = DefinitionReader(raw)
          _ = try? reader.fields(count: 2)
        }
      }
    }
  }

  @Test func `an object without fields is malformed, for an array of such could claim any number without a byte`() {
    func isRead(_ kinds: [UInt8]) -> Bool {
      ([1, 0, UInt8(ascii: "a")] + kinds).withUnsafeBytes { raw in
        var reader = DefinitionReader(raw)
        return (try? reader.fields(count: 1)) != nil
      }
    }
    let (array, object) = (Kind.array.rawValue, Kind.object.rawValue)
    let field: [UInt8] = [1, 0, UInt8(ascii: "b"), Kind.bool.rawValue]
    #expect(isRead([array, array, object, 1, 0] + field))
    #expect(!isRead([array, array, object, 0, 0]))
    #expect(!isRead([object, 0, 0]))
  }

  @Test(arguments: [UInt64.random(in: 1 ... .max)])  // a trap is reported with its argument
  func `random bytes never trap`(_ seed: UInt64) {
    print("random bytes: seed \(seed)")
    var random = Seeded(seed: seed)
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0..<64, using: &random)).map { _ in UInt8.random(in: 0...24, using: &random) }
      _ = tagged(bytes)
      _ = packed(bytes, .array(.optional(.any)), .object([Field("x", .string), Field("y", .date)]), .float)
    }
  }
}

// ValueHash: a hash of 64 bits of values, equal for values that count as equal.

import Weir
import WeirJSON

/// The hash of values.
enum ValueHash {
  /// The hash of a value. Numbers are equal if they are the same number, whatever their kind; an object's members may
  /// be in any order; bytes, dates and UUIDs are their text in JSON, which is all that JSON leaves of them.
  static func of(_ value: FieldValue) -> UInt64 {
    switch value {
    case .null: return 1
    case .bool(let isTrue): return isTrue ? 2 : 3
    case .int(let number): return of(number < 0 ? 5 : 4, number.magnitude)
    case .uint(let number): return of(4, number)
    // The shortest text of a Float is not that of the Double with the same value, and JSON has the text.
    case .float(let number): return of(Double("\(number)") ?? Double(number))
    case .double(let number): return of(number)
    case .string(let text):
      var hash = WordHash(6)
      hash.add(text)
      return hash.value
    case .bytes, .uuid, .date: return of(.string(plainText(value)))
    case .array(let values):
      var hash = WordHash(7)
      for value in values { hash.add(of(value)) }
      return hash.value
    case .object(let object): return of(object)
    }
  }

  static func of(_ object: FieldObject) -> UInt64 {
    object.reduce(8) { $0 &+ of($1.name, $1.value) }
  }

  /// The hash of one member of an object.
  static func of(_ name: String, _ value: FieldValue) -> UInt64 {
    var hash = WordHash(9)
    hash.add(name)
    hash.add(of(value))
    return hash.value
  }

  private static func of(_ kind: UInt64, _ number: UInt64) -> UInt64 {
    var hash = WordHash(kind)
    hash.add(number)
    return hash.value
  }

  private static func of(_ number: Double) -> UInt64 {
    if let whole = Int64(exactly: number) { return of(.int(whole)) }
    if let whole = UInt64(exactly: number) { return of(.uint(whole)) }
    // JSON has the text of what no number can say.
    if !number.isFinite { return of(.string(plainText(.double(number)))) }
    return of(10, number.bitPattern)
  }

  /// A value's text in JSON, without quotation marks.
  static func plainText(_ value: FieldValue) -> String {
    if case .string(let text) = value { return text }
    var bytes: [UInt8] = []
    JSONText.append(value, to: &bytes)
    if bytes.first == UInt8(ascii: "\""), bytes.count >= 2 { bytes = Array(bytes[1..<bytes.count - 1]) }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension WordHash {
  mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
  }

  /// A hash that is never 0, which means that there is nothing.
  var identity: UInt64 { value == 0 ? 1 : value }
}

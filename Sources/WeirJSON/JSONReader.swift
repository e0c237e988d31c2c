// JSONReader: parses JSON (RFC 8259) into field values, for the tool, which records lines of JSON, and for the
// collector, which takes batches.
//
// Foundation's coders would change the text's meaning: they lose the order of the members and all but one of equal
// names, and read -0 as 0. This reader refuses what it can't represent exactly: half of a surrogate pair, a number
// beyond a Double's range, text that is not UTF-8. A number becomes an Int64, else a UInt64, else a Double. A number
// with a fraction or an exponent is a Double.

package import Weir

/// The reason why a text is no JSON, and the position of the problem in bytes.
package struct JSONProblem: Error, Hashable, Sendable, CustomStringConvertible {
  package var message: String
  package var position: Int

  package var description: String { "\(message), at byte \(position)" }
}

/// Parses one JSON text.
package struct JSONReader {
  /// The limits of an accepted text.
  package struct Limits: Sendable {
    /// The maximum number of objects and arrays around a value.
    package var depth: Int
    /// The maximum length of a member's name, in bytes.
    package var nameBytes: Int
    /// Whether an object may have several members with the same name. If so, all of them are kept.
    package var allowsEqualNames: Bool

    package init(depth: Int, nameBytes: Int = .max, allowsEqualNames: Bool = false) {
      self.depth = depth
      self.nameBytes = nameBytes
      self.allowsEqualNames = allowsEqualNames
    }
  }

  /// Valid only within `read`, which creates the reader and does not pass it on.
  private let bytes: UnsafeBufferPointer<UInt8>
  private let limits: Limits
  private var at = 0

  private init(_ bytes: UnsafeBufferPointer<UInt8>, _ limits: Limits) {
    self.bytes = bytes
    self.limits = limits
  }

  /// Returns the value of the text. Only whitespace may surround the value.
  package static func read(_ text: Span<UInt8>, limits: Limits) throws(JSONProblem) -> FieldValue {
    guard (try? UTF8Span(validating: text)) != nil else {
      throw JSONProblem(message: "the text is not UTF-8", position: 0)
    }
    return try text.withUnsafeBufferPointer { bytes throws(JSONProblem) in
      var reader = JSONReader(bytes, limits)
      let value = try reader.value(depth: 0)
      reader.skipSpace()
      guard reader.at == bytes.count else { throw reader.problem("unexpected text after the end") }
      return value
    }
  }

  private func problem(_ message: String) -> JSONProblem {
    JSONProblem(message: message, position: at)
  }

  private mutating func value(depth: Int) throws(JSONProblem) -> FieldValue {
    skipSpace()
    guard at < bytes.count else { throw problem("it ends too early") }
    switch bytes[at] {
    case UInt8(ascii: "{"): return .object(try object(depth: depth))
    case UInt8(ascii: "["): return .array(try array(depth: depth))
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"):
      try word("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try word("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try word("null")
      return .null
    default: return try number()
    }
  }

  private mutating func object(depth: Int) throws(JSONProblem) -> FieldObject {
    guard depth <= limits.depth else { throw problem("values nest too deep") }
    try expect(UInt8(ascii: "{"))
    var members: [FieldObject.Member] = []
    var names: Set<[UInt8]> = []
    skipSpace()
    if take(UInt8(ascii: "}")) { return FieldObject() }
    repeat {
      skipSpace()
      let name = try string()
      guard name.utf8.count <= limits.nameBytes else { throw problem("a member's name is too long") }
      // Compared by bytes: names that only look alike are different names.
      guard limits.allowsEqualNames || names.insert(Array(name.utf8)).inserted else {
        throw problem("two members of an object have the same name")
      }
      skipSpace()
      try expect(UInt8(ascii: ":"))
      members.append(FieldObject.Member(name: name, value: try value(depth: depth + 1)))
      skipSpace()
    } while take(UInt8(ascii: ","))
    try expect(UInt8(ascii: "}"))
    return FieldObject(members)
  }

  private mutating func array(depth: Int) throws(JSONProblem) -> [FieldValue] {
    guard depth <= limits.depth else { throw problem("values nest too deep") }
    try expect(UInt8(ascii: "["))
    var values: [FieldValue] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return values }
    repeat {
      values.append(try value(depth: depth + 1))
      skipSpace()
    } while take(UInt8(ascii: ","))
    try expect(UInt8(ascii: "]"))
    return values
  }

  private mutating func number() throws(JSONProblem) -> FieldValue {
    let start = at
    var isWhole = true
    let isNegative = take(UInt8(ascii: "-"))
    let leading = at
    try digits()
    if bytes[leading] == UInt8(ascii: "0"), at - leading > 1 { throw problem("a number begins with 0") }
    if take(UInt8(ascii: ".")) {
      isWhole = false
      try digits()
    }
    let mantissa = start..<at
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      isWhole = false
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try digits()
    }
    let text = self.text(start..<at)
    if isWhole, !(isNegative && text == "-0") {
      if let value = Int64(text) { return .int(value) }
      if let value = UInt64(text) { return .uint(value) }
    }
    guard let value = Double(text), value.isFinite else { throw problem("a number is out of range") }
    if value == 0, mantissa.contains(where: { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(bytes[$0]) }) {
      throw problem("a number is out of range")
    }
    return .double(value)
  }

  private mutating func digits() throws(JSONProblem) {
    let start = at
    while at < bytes.count, bytes[at] &- UInt8(ascii: "0") < 10 { at += 1 }
    if at == start { throw problem("expected a value") }
  }

  private mutating func string() throws(JSONProblem) -> String {
    try expect(UInt8(ascii: "\""))
    let start = at
    skipPlain()
    guard at < bytes.count, bytes[at] >= 0x20 else { throw problem("a string is not ended") }
    if take(UInt8(ascii: "\"")) { return text(start..<(at - 1)) }
    var text = self.text(start..<at)
    while true {
      guard at < bytes.count, bytes[at] >= 0x20 else { throw problem("a string is not ended") }
      if take(UInt8(ascii: "\"")) { return text }
      if take(UInt8(ascii: "\\")) {
        text.unicodeScalars.append(try escaped())
      } else {
        let from = at
        skipPlain()
        text += self.text(from..<at)
      }
    }
  }

  /// Skips characters that stand for themselves.
  private mutating func skipPlain() {
    while at < bytes.count, bytes[at] != UInt8(ascii: "\""), bytes[at] != UInt8(ascii: "\\"), bytes[at] >= 0x20 {
      at += 1
    }
  }

  /// Parses the characters after a backslash.
  private mutating func escaped() throws(JSONProblem) -> Unicode.Scalar {
    guard at < bytes.count else { throw problem("a string is not ended") }
    let byte = bytes[at]
    at += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{08}"
    case UInt8(ascii: "f"): return "\u{0C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let unit = try hexadecimal()
      guard (0xD800...0xDBFF).contains(unit) else {
        guard let scalar = Unicode.Scalar(unit) else { throw problem("half of a surrogate pair") }
        return scalar
      }
      try expect(UInt8(ascii: "\\"))
      try expect(UInt8(ascii: "u"))
      let low = try hexadecimal()
      guard (0xDC00...0xDFFF).contains(low),
        let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
      else { throw problem("half of a surrogate pair") }
      return scalar
    default: throw problem("no such escape in a string")
    }
  }

  private mutating func hexadecimal() throws(JSONProblem) -> UInt32 {
    guard bytes.count - at >= 4 else { throw problem("it ends too early") }
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(bytes[at])).hexDigitValue, bytes[at] < 0x80 else {
        throw problem("expected four hexadecimal digits")
      }
      value = value << 4 | UInt32(digit)
      at += 1
    }
    return value
  }

  private mutating func word(_ word: StaticString) throws(JSONProblem) {
    for index in 0..<word.utf8CodeUnitCount { try expect(word.utf8Start[index]) }
  }

  private mutating func expect(_ byte: UInt8) throws(JSONProblem) {
    guard take(byte) else {
      throw problem(at < bytes.count ? "expected \(Character(Unicode.Scalar(byte)))" : "it ends too early")
    }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard at < bytes.count, bytes[at] == byte else { return false }
    at += 1
    return true
  }

  private mutating func skipSpace() {
    while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x09 || bytes[at] == 0x0A || bytes[at] == 0x0D {
      at += 1
    }
  }

  /// The range ends at an ASCII byte, and the text is known to be UTF-8, so nothing is repaired here.
  private func text(_ range: Range<Int>) -> String {
    String(decoding: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self)
  }
}

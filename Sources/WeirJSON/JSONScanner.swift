// JSONScanner: the values of JSON text (RFC 8259), from front to back. JSONReader makes field values of them, and
// DocumentJSON nodes with lines.
//
// Foundation's coders would change the text's meaning: they lose the order of the members, all but one of equal names
// and the lines, and read -0 as 0. The scanner refuses what it can't represent exactly: half of a surrogate pair, a
// number beyond a Double's range, text that is not UTF-8.

package import Weir

/// The reason why a text is not accepted as JSON, and the position of the problem.
package struct JSONProblem: Error, Hashable, Sendable, CustomStringConvertible {
  package var message: String
  /// In bytes from the start of the text.
  package var position: Int
  /// Counted from 1.
  package var line: Int

  package var description: String { "\(message), at byte \(position)" }
}

/// Scans one JSON text.
package struct JSONScanner {
  /// Valid only within `scan`, which creates the scanner and does not pass it on.
  private let bytes: UnsafeBufferPointer<UInt8>
  private var at = 0

  /// The line of the next byte, counted from 1. Only whitespace contains line ends.
  package private(set) var line = 1

  /// Whether a whole number may become a `Double`: -0, because an integer has no such sign, and a number beyond 64
  /// bits, which becomes the nearest `Double`. Otherwise -0 is 0, and a number beyond 64 bits is a problem.
  private let allowsWholeDoubles: Bool

  private init(_ bytes: UnsafeBufferPointer<UInt8>, allowsWholeDoubles: Bool) {
    self.bytes = bytes
    self.allowsWholeDoubles = allowsWholeDoubles
  }

  /// Returns what `value` makes of the text, which must be a single value. Only whitespace may surround the value.
  package static func scan<Value>(
    _ text: Span<UInt8>, allowsWholeDoubles: Bool, _ value: (inout JSONScanner) throws(JSONProblem) -> Value
  ) throws(JSONProblem) -> Value {
    if let problem = notUTF8(text) { throw problem }
    return try text.withUnsafeBufferPointer { bytes throws(JSONProblem) in
      var scanner = JSONScanner(bytes, allowsWholeDoubles: allowsWholeDoubles)
      scanner.skipSpace()
      let value = try value(&scanner)
      scanner.skipSpace()
      guard scanner.at == bytes.count else { throw scanner.problem("unexpected text after the end") }
      return value
    }
  }

  /// Returns the problem of a text that is not UTF-8, at the first such byte; `nil` if the text is UTF-8.
  package static func notUTF8(_ text: Span<UInt8>) -> JSONProblem? {
    do throws(UTF8.ValidationError) {
      _ = try UTF8Span(validating: text)
      return nil
    } catch {
      let position = error.byteOffsets.lowerBound
      var line = 1
      for index in 0..<position where text[index] == UInt8(ascii: "\n") { line += 1 }
      return JSONProblem(message: "the text is not UTF-8", position: position, line: line)
    }
  }

  /// A problem at the next byte.
  package func problem(_ message: String) -> JSONProblem {
    JSONProblem(message: message, position: at, line: line)
  }

  /// Skips the byte if it is the next one.
  package mutating func take(_ byte: UInt8) -> Bool {
    guard at < bytes.count, bytes[at] == byte else { return false }
    at += 1
    return true
  }

  /// Scans the members of an object whose opening brace was taken. `member` gets each name and the name's line, and
  /// scans the value.
  package mutating func members(
    _ member: (inout JSONScanner, _ name: String, _ line: Int) throws(JSONProblem) -> Void
  ) throws(JSONProblem) {
    skipSpace()
    if take(UInt8(ascii: "}")) { return }
    repeat {
      skipSpace()
      guard take(UInt8(ascii: "\"")) else { throw expected("a name in quotation marks") }
      let name = try string()
      let line = line
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw expected(": after the name") }
      skipSpace()
      try member(&self, name, line)
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw expected(", or }") }
  }

  /// Scans the elements of an array whose opening bracket was taken. `element` scans each.
  package mutating func elements(
    _ element: (inout JSONScanner) throws(JSONProblem) -> Void
  ) throws(JSONProblem) {
    skipSpace()
    if take(UInt8(ascii: "]")) { return }
    repeat {
      skipSpace()
      try element(&self)
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw expected(", or ]") }
  }

  /// Scans a value that is neither an object nor an array.
  package mutating func scalar() throws(JSONProblem) -> FieldValue {
    guard at < bytes.count else { throw problem("the text ends too early") }
    switch bytes[at] {
    case UInt8(ascii: "\""):
      at += 1
      return .string(try string())
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

  private mutating func word(_ word: StaticString) throws(JSONProblem) {
    for index in 0..<word.utf8CodeUnitCount {
      guard take(word.utf8Start[index]) else { throw expected("a value") }
    }
  }

  private func expected(_ what: String) -> JSONProblem {
    problem(at < bytes.count ? "expected \(what)" : "the text ends too early")
  }

  private mutating func skipSpace() {
    while at < bytes.count {
      switch bytes[at] {
      case 0x0A: line += 1
      case 0x20, 0x09, 0x0D: break
      default: return
      }
      at += 1
    }
  }

  /// The range ends at an ASCII byte, and the text is known to be UTF-8, so nothing is repaired here.
  private func text(_ range: Range<Int>) -> String {
    String(decoding: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self)
  }
}

// MARK: Numbers

extension JSONScanner {
  private mutating func number() throws(JSONProblem) -> FieldValue {
    let start = at
    var isWhole = true
    _ = take(UInt8(ascii: "-"))
    let leading = at
    try digits(or: "expected a value")
    if bytes[leading] == UInt8(ascii: "0"), at - leading > 1 { throw problem("a number begins with 0") }
    if take(UInt8(ascii: ".")) {
      isWhole = false
      try digits(or: "a number ends with a decimal point")
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      isWhole = false
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try digits(or: "a number has an empty exponent")
    }
    if isWhole, at - leading < 19, bytes[start] != UInt8(ascii: "-") {
      // Nearly all numbers. Eighteen digits fit into 64 bits.
      return .int(bytes[start..<at].reduce(0) { $0 &* 10 &+ Int64($1 &- UInt8(ascii: "0")) })
    }
    let text = text(start..<at)
    if isWhole, allowsWholeDoubles, text == "-0" { return .double(-0.0) }
    if let value = FieldValue(number: text, isWhole: isWhole) { return value }
    if isWhole, allowsWholeDoubles, let value = FieldValue(number: text, isWhole: false) { return value }
    throw problem("the number \(text.prefix(40)) is out of range for a field")
  }

  private mutating func digits(or message: String) throws(JSONProblem) {
    let start = at
    while at < bytes.count, bytes[at] &- UInt8(ascii: "0") < 10 { at += 1 }
    if at == start { throw problem(message) }
  }
}

// MARK: Strings

extension JSONScanner {
  /// Scans a string whose opening quotation mark was taken.
  private mutating func string() throws(JSONProblem) -> String {
    let start = at
    skipPlain()
    if take(UInt8(ascii: "\"")) { return text(start..<(at - 1)) }
    var text = text(start..<at)
    while !take(UInt8(ascii: "\"")) {
      guard at < bytes.count else { throw problem("a string has no closing quotation mark") }
      guard bytes[at] >= 0x20 else {
        throw problem("a line end or control character within a string; write it with a backslash")
      }
      if take(UInt8(ascii: "\\")) {
        text.unicodeScalars.append(try escaped())
      } else {
        let from = at
        skipPlain()
        text += self.text(from..<at)
      }
    }
    return text
  }

  /// Skips characters that stand for themselves.
  private mutating func skipPlain() {
    while at < bytes.count, bytes[at] != UInt8(ascii: "\""), bytes[at] != UInt8(ascii: "\\"), bytes[at] >= 0x20 {
      at += 1
    }
  }

  /// Scans the characters after a backslash.
  private mutating func escaped() throws(JSONProblem) -> Unicode.Scalar {
    guard at < bytes.count else { throw problem("the text ends too early") }
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
      if let scalar = Unicode.Scalar(unit) { return scalar }
      guard unit < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw halfPair }
      let low = try hexadecimal()
      guard (0xDC00...0xDFFF).contains(low),
        let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
      else { throw halfPair }
      return scalar
    default: throw problem("an invalid character follows a backslash; write \\\\ for a backslash itself")
    }
  }

  private var halfPair: JSONProblem { problem("\\u gives half of a surrogate pair") }

  private mutating func hexadecimal() throws(JSONProblem) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard at < bytes.count, bytes[at] < 0x80, let digit = Character(Unicode.Scalar(bytes[at])).hexDigitValue else {
        throw expected("four hexadecimal digits after \\u")
      }
      value = value << 4 | UInt32(digit)
      at += 1
    }
    return value
  }
}

extension FieldValue {
  /// Creates a number from its text in JSON: an `Int64` for a whole number, else a `UInt64`; a `Double` for a number
  /// with a fraction or an exponent. Returns `nil` for a number that is out of range, or so small that it would become
  /// 0.
  package init?(number text: String, isWhole: Bool) {
    if isWhole {
      if let value = Int64(text) {
        self = .int(value)
      } else if let value = UInt64(text) {
        self = .uint(value)
      } else {
        return nil
      }
      return
    }
    guard let value = Double(text), value.isFinite else { return nil }
    if value == 0 {
      let mantissa = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
      if mantissa.contains(where: { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) }) { return nil }
    }
    self = .double(value)
  }
}

// ContractJSON: parses JSON (RFC 8259) into the tree from which contracts are read.
//
// Foundation's decoders lose what a contract needs: the order of events and fields, in which violations are listed;
// equal keys, which are mistakes; and the lines that messages name.

import Weir

/// Parses one JSON text.
struct ContractJSON {
  private let bytes: [UInt8]
  private var at = 0
  private var line = 1
  private var nodes = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the tree of the text, or throws the syntax error.
  static func read(_ bytes: [UInt8]) throws(ContractSyntaxError) -> ContractNode {
    guard bytes.count <= ContractNode.maximumBytes else {
      throw ContractSyntaxError(line: 1, message: "the file is larger than \(ContractNode.maximumBytes >> 20) MiB")
    }
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw ContractSyntaxError(line: 1, message: "the file is not UTF-8")
    }
    var reader = ContractJSON(bytes)
    // Some editors write a byte order mark first, which has no meaning in UTF-8.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.at = 3 }
    let node = try reader.value(depth: 0)
    reader.skipSpace()
    guard reader.at == bytes.count else { throw reader.problem("unexpected text after the end of the contract") }
    return node
  }

  private func problem(_ message: String) -> ContractSyntaxError {
    ContractSyntaxError(line: line, message: "this is no JSON: \(message)")
  }

  private mutating func value(depth: Int) throws(ContractSyntaxError) -> ContractNode {
    skipSpace()
    guard depth <= ContractNode.maximumFileDepth else {
      throw ContractSyntaxError(line: line, message: "values nest more than \(ContractNode.maximumFileDepth) deep")
    }
    nodes += 1
    guard nodes <= ContractNode.maximumNodes else {
      throw ContractSyntaxError(line: line, message: "the file holds more than \(ContractNode.maximumNodes) values")
    }
    guard at < bytes.count else { throw problem("it ends too early") }
    let line = line
    switch bytes[at] {
    case UInt8(ascii: "{"): return ContractNode(.map(try map(depth: depth)), line: line)
    case UInt8(ascii: "["): return ContractNode(.list(try list(depth: depth)), line: line)
    case UInt8(ascii: "\""): return ContractNode(.text(try string()), line: line)
    case UInt8(ascii: "t"):
      try word("true")
      return ContractNode(.bool(true), line: line)
    case UInt8(ascii: "f"):
      try word("false")
      return ContractNode(.bool(false), line: line)
    case UInt8(ascii: "n"):
      try word("null")
      return ContractNode(.null, line: line)
    default: return ContractNode(.number(try number()), line: line)
    }
  }

  private mutating func map(depth: Int) throws(ContractSyntaxError) -> [ContractNode.Entry] {
    at += 1
    var entries: [ContractNode.Entry] = []
    skipSpace()
    if take(UInt8(ascii: "}")) { return entries }
    repeat {
      skipSpace()
      let line = line
      guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else {
        throw problem("expected a key in quotation marks")
      }
      let key = try string()
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw problem("expected : after the key") }
      entries.append(.init(key: key, line: line, value: try value(depth: depth + 1)))
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw problem("expected , or }") }
    return entries
  }

  private mutating func list(depth: Int) throws(ContractSyntaxError) -> [ContractNode] {
    at += 1
    var values: [ContractNode] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return values }
    repeat {
      values.append(try value(depth: depth + 1))
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw problem("expected , or ]") }
    return values
  }

  private mutating func number() throws(ContractSyntaxError) -> FieldValue {
    let start = at
    var isWhole = true
    _ = take(UInt8(ascii: "-"))
    let leading = at
    guard digits() else { throw problem("expected a value") }
    if bytes[leading] == UInt8(ascii: "0"), at - leading > 1 { throw problem("a number begins with 0") }
    if take(UInt8(ascii: ".")) {
      isWhole = false
      guard digits() else { throw problem("a number ends with a decimal point") }
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      isWhole = false
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      guard digits() else { throw problem("a number has an empty exponent") }
    }
    let text = text(start..<at)
    guard let value = FieldValue(number: text, isWhole: isWhole) else {
      throw ContractSyntaxError(line: line, message: "the number \(text.prefix(40)) is out of range for a field")
    }
    return value
  }

  private mutating func digits() -> Bool {
    let start = at
    while at < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[at]) { at += 1 }
    return at > start
  }

  private mutating func string() throws(ContractSyntaxError) -> String {
    at += 1
    var text = ""
    var from = at
    while at < bytes.count {
      switch bytes[at] {
      case UInt8(ascii: "\""):
        text += self.text(from..<at)
        at += 1
        return text
      case UInt8(ascii: "\\"):
        text += self.text(from..<at)
        at += 1
        text.unicodeScalars.append(try escaped())
        from = at
      case 0..<0x20: throw problem("a line end or control character within a text; write it with a backslash")
      default: at += 1
      }
    }
    throw problem("a text has no closing quotation mark")
  }

  /// Parses the characters after a backslash.
  private mutating func escaped() throws(ContractSyntaxError) -> Unicode.Scalar {
    guard at < bytes.count else { throw problem("it ends too early") }
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

  private var halfPair: ContractSyntaxError { problem("\\u gives half of a surrogate pair") }

  private mutating func hexadecimal() throws(ContractSyntaxError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard at < bytes.count, bytes[at] < 0x80, let digit = Character(Unicode.Scalar(bytes[at])).hexDigitValue else {
        throw problem("expected four hexadecimal digits after \\u")
      }
      value = value << 4 | UInt32(digit)
      at += 1
    }
    return value
  }

  private mutating func word(_ word: StaticString) throws(ContractSyntaxError) {
    for index in 0..<word.utf8CodeUnitCount {
      guard take(word.utf8Start[index]) else { throw problem("expected a value") }
    }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard at < bytes.count, bytes[at] == byte else { return false }
    at += 1
    return true
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

  /// The file is known to be UTF-8, and the range ends at an ASCII byte, so nothing is repaired here.
  private func text(_ range: Range<Int>) -> String {
    String(decoding: bytes[range], as: UTF8.self)
  }
}

extension FieldValue {
  /// Creates a number from its text: a whole number as an integer if it fits, any other as a double. Returns `nil` for
  /// a number that is out of range, or so small that it would become 0.
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
    let mantissa = text.prefix { $0 != "e" && $0 != "E" }
    if value == 0, mantissa.contains(where: { ("1"..."9").contains($0) }) { return nil }
    self = .double(value)
  }
}

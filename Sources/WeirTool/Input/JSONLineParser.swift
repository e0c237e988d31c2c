// JSONLineParser.swift: reads a line of JSON (RFC 8259) into an event's name and fields.
//
// By hand, because Foundation's coders would change what the line says: they lose the order of the fields and all but
// one of equal names, and take -0 for 0. What cannot be kept exactly is not read at all, and its line is recorded as
// `malformed`: equal names in one object, half of a surrogate pair, a number beyond a Double's range. Numbers become
// Int64, else UInt64, else Double; one with a fraction or an exponent is a Double.

import Weir

enum JSONLineParser {
  /// The event that a line `{"event":"name","fields":{…}}` says: these two members in either order and no others. Names
  /// that begin with "weir." are the log's own.
  static func event(in line: Span<UInt8>) -> (name: String, fields: FieldObject)? {
    guard (try? UTF8Span(validating: line)) != nil else { return nil }
    do {
      var at = 0
      let members = try object(line, &at, depth: 0)
      skipSpace(line, &at)
      guard at == line.count, members.count == 2,
        case .string(let name)? = members["event"], case .object(let fields)? = members["fields"],
        !name.isEmpty, name.utf8.count <= EventType.maximumNameBytes, !name.hasPrefix(EventType.reservedPrefix)
      else { return nil }
      return (name, fields)
    } catch {
      return nil
    }
  }

  private struct Unreadable: Error {}

  private static func value(_ line: Span<UInt8>, _ at: inout Int, depth: Int) throws(Unreadable) -> FieldValue {
    skipSpace(line, &at)
    guard at < line.count else { throw Unreadable() }
    switch line[at] {
    case UInt8(ascii: "{"): return .object(try object(line, &at, depth: depth))
    case UInt8(ascii: "["): return .array(try array(line, &at, depth: depth))
    case UInt8(ascii: "\""): return .string(try string(line, &at))
    case UInt8(ascii: "t"):
      try word("true", line, &at)
      return .bool(true)
    case UInt8(ascii: "f"):
      try word("false", line, &at)
      return .bool(false)
    case UInt8(ascii: "n"):
      try word("null", line, &at)
      return .null
    default: return try number(line, &at)
    }
  }

  /// `depth` is that of the object around; the line's own object does not count, it is not stored.
  private static func object(_ line: Span<UInt8>, _ at: inout Int, depth: Int) throws(Unreadable) -> FieldObject {
    guard depth <= maximumDepth else { throw Unreadable() }
    skipSpace(line, &at)
    try expect(UInt8(ascii: "{"), line, &at)
    var members: [FieldObject.Member] = []
    var names: Set<[UInt8]> = []
    skipSpace(line, &at)
    if take(UInt8(ascii: "}"), line, &at) { return FieldObject() }
    repeat {
      skipSpace(line, &at)
      let name = try string(line, &at)
      // Compared by their bytes: two names that only look alike are two names.
      guard name.utf8.count <= EventType.maximumNameBytes, names.insert(Array(name.utf8)).inserted else {
        throw Unreadable()
      }
      skipSpace(line, &at)
      try expect(UInt8(ascii: ":"), line, &at)
      members.append(FieldObject.Member(name: name, value: try value(line, &at, depth: depth + 1)))
      skipSpace(line, &at)
    } while take(UInt8(ascii: ","), line, &at)
    try expect(UInt8(ascii: "}"), line, &at)
    return FieldObject(members)
  }

  private static func array(_ line: Span<UInt8>, _ at: inout Int, depth: Int) throws(Unreadable) -> [FieldValue] {
    guard depth <= maximumDepth else { throw Unreadable() }
    try expect(UInt8(ascii: "["), line, &at)
    var values: [FieldValue] = []
    skipSpace(line, &at)
    if take(UInt8(ascii: "]"), line, &at) { return values }
    repeat {
      values.append(try value(line, &at, depth: depth + 1))
      skipSpace(line, &at)
    } while take(UInt8(ascii: ","), line, &at)
    try expect(UInt8(ascii: "]"), line, &at)
    return values
  }

  private static func number(_ line: Span<UInt8>, _ at: inout Int) throws(Unreadable) -> FieldValue {
    let start = at
    var isWhole = true
    let isNegative = take(UInt8(ascii: "-"), line, &at)
    let leading = at
    try digits(line, &at)
    if line[leading] == UInt8(ascii: "0"), at - leading > 1 { throw Unreadable() }
    if take(UInt8(ascii: "."), line, &at) {
      isWhole = false
      try digits(line, &at)
    }
    let mantissa = start..<at
    if take(UInt8(ascii: "e"), line, &at) || take(UInt8(ascii: "E"), line, &at) {
      isWhole = false
      if !take(UInt8(ascii: "+"), line, &at) { _ = take(UInt8(ascii: "-"), line, &at) }
      try digits(line, &at)
    }
    let text = self.text(line, start..<at)
    if isWhole, !(isNegative && text == "-0") {
      if let value = Int64(text) { return .int(value) }
      if let value = UInt64(text) { return .uint(value) }
    }
    guard let value = Double(text), value.isFinite else { throw Unreadable() }
    if value == 0, mantissa.contains(where: { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(line[$0]) }) {
      throw Unreadable()
    }
    return .double(value)
  }

  private static func digits(_ line: Span<UInt8>, _ at: inout Int) throws(Unreadable) {
    let start = at
    while at < line.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(line[at]) { at += 1 }
    if at == start { throw Unreadable() }
  }

  private static func string(_ line: Span<UInt8>, _ at: inout Int) throws(Unreadable) -> String {
    try expect(UInt8(ascii: "\""), line, &at)
    let start = at
    while at < line.count, line[at] != UInt8(ascii: "\""), line[at] != UInt8(ascii: "\\"), line[at] >= 0x20 { at += 1 }
    guard at < line.count, line[at] >= 0x20 else { throw Unreadable() }
    if take(UInt8(ascii: "\""), line, &at) { return text(line, start..<(at - 1)) }
    var text = self.text(line, start..<at)
    while true {
      guard at < line.count, line[at] >= 0x20 else { throw Unreadable() }
      if take(UInt8(ascii: "\""), line, &at) { return text }
      if take(UInt8(ascii: "\\"), line, &at) {
        text.unicodeScalars.append(try escaped(line, &at))
      } else {
        let from = at
        while at < line.count, line[at] != UInt8(ascii: "\""), line[at] != UInt8(ascii: "\\"), line[at] >= 0x20 {
          at += 1
        }
        text += self.text(line, from..<at)
      }
    }
  }

  /// What follows a backslash.
  private static func escaped(_ line: Span<UInt8>, _ at: inout Int) throws(Unreadable) -> Unicode.Scalar {
    guard at < line.count else { throw Unreadable() }
    let byte = line[at]
    at += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{08}"
    case UInt8(ascii: "f"): return "\u{0C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let unit = try hexadecimal(line, &at)
      guard (0xD800...0xDBFF).contains(unit) else {
        guard let scalar = Unicode.Scalar(unit) else { throw Unreadable() }
        return scalar
      }
      try expect(UInt8(ascii: "\\"), line, &at)
      try expect(UInt8(ascii: "u"), line, &at)
      let low = try hexadecimal(line, &at)
      guard (0xDC00...0xDFFF).contains(low),
        let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
      else { throw Unreadable() }
      return scalar
    default: throw Unreadable()
    }
  }

  private static func hexadecimal(_ line: Span<UInt8>, _ at: inout Int) throws(Unreadable) -> UInt32 {
    guard line.count - at >= 4 else { throw Unreadable() }
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(line[at])).hexDigitValue, line[at] < 0x80 else { throw Unreadable() }
      value = value << 4 | UInt32(digit)
      at += 1
    }
    return value
  }

  private static func word(_ word: StaticString, _ line: Span<UInt8>, _ at: inout Int) throws(Unreadable) {
    for index in 0..<word.utf8CodeUnitCount { try expect(word.utf8Start[index], line, &at) }
  }

  private static func expect(_ byte: UInt8, _ line: Span<UInt8>, _ at: inout Int) throws(Unreadable) {
    guard take(byte, line, &at) else { throw Unreadable() }
  }

  private static func take(_ byte: UInt8, _ line: Span<UInt8>, _ at: inout Int) -> Bool {
    guard at < line.count, line[at] == byte else { return false }
    at += 1
    return true
  }

  private static func skipSpace(_ line: Span<UInt8>, _ at: inout Int) {
    while at < line.count, line[at] == 0x20 || line[at] == 0x09 || line[at] == 0x0A || line[at] == 0x0D { at += 1 }
  }

  /// Ends of parts are ASCII bytes, and the line has been checked to be UTF-8: nothing here is repaired.
  private static func text(_ line: Span<UInt8>, _ range: Range<Int>) -> String {
    line.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }
}

// JSONText: writes values as JSON (RFC 8259), directly into bytes.
//
// Foundation's encoder keeps keyed values in dictionaries: the fields would be sorted or in random order instead of the
// declared order, at some 20 times the cost, and there may be a million events to write.
//
// Values that JSON can't represent: NaN and the infinities become the strings "NaN", "Infinity" and "-Infinity". Bytes
// become base64, and a UUID becomes its string. A date becomes RFC 3339 text, or, outside the years 0 to 9999, its
// seconds since 2001-01-01T00:00:00Z. `EventJSON` of WeirDelivery is the public interface.

package import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

package enum JSONText {
  package static func append(_ value: FieldValue, to bytes: inout [UInt8]) {
    append(value, as: JSONForm(), to: &bytes)
  }

  package static func append(_ members: FieldObject, to bytes: inout [UInt8]) {
    append(members, as: JSONForm(), to: &bytes)
  }

  package static func append(_ value: FieldValue, as form: JSONForm, to bytes: inout [UInt8]) {
    switch value {
    case .null: append(literal: "null", to: &bytes)
    case .bool(let value): append(literal: value ? "true" : "false", to: &bytes)
    case .int(let value):
      let isText = form.hasLargeIntegersAsText && value.magnitude > JSONForm.exactInDouble
      append(value.magnitude, isNegative: value < 0, inQuotes: isText, to: &bytes)
    case .uint(let value):
      let isText = form.hasLargeIntegersAsText && value > JSONForm.exactInDouble
      append(value, isNegative: false, inQuotes: isText, to: &bytes)
    case .float(let value): append(value, as: form, to: &bytes)
    case .double(let value): append(value, as: form, to: &bytes)
    case .string(let value): append(value, to: &bytes)
    case .bytes(let value): append(base64: value, to: &bytes)
    case .uuid(let value): append(value.uuidString, to: &bytes)
    case .date(let value): append(value, as: form, to: &bytes)
    case .array(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        append(value, as: form, to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members): append(members, as: form, to: &bytes)
    }
  }

  package static func append(_ members: FieldObject, as form: JSONForm, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "{"))
    _ = append(membersOf: members, as: form, after: false, to: &bytes)
    bytes.append(UInt8(ascii: "}"))
  }

  /// Appends the members without braces, with a comma before the first one if `others` precede them. Returns whether
  /// there are any members.
  package static func append(
    membersOf members: FieldObject, as form: JSONForm, after others: Bool, to bytes: inout [UInt8]
  ) -> Bool {
    let isKept = form.hasEachNameOnce ? LastOfName(members) : nil
    var hasOthers = others
    for (index, member) in members.enumerated() {
      if let isKept, !isKept[index] { continue }
      if hasOthers { bytes.append(UInt8(ascii: ",")) }
      hasOthers = true
      append(member.name, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      append(member.value, as: form, to: &bytes)
    }
    return hasOthers
  }

  /// The members of an object that count: the last of several with the same name. `nil` if all names differ.
  private struct LastOfName {
    private let last: [String: Int]
    private let members: FieldObject

    init?(_ members: FieldObject) {
      var last: [String: Int] = [:]
      for (index, member) in members.enumerated() { last[member.name] = index }
      guard last.count < members.count else { return nil }
      self.last = last
      self.members = members
    }

    subscript(index: Int) -> Bool { last[members[index].name] == index }
  }

  /// Appends a string with its quotation marks. Escapes what JSON requires, and what could change in transit or in a
  /// terminal: other control characters, the separators U+2028 and U+2029, characters that change the writing
  /// direction, and U+FEFF, which many readers remove.
  package static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in
      var done = 0
      var index = 0
      while index < utf8.count {
        let byte = utf8[index]
        // Nearly all characters take this path. It is inlined here, because this loop dominates the cost of writing
        // an event.
        if byte &- 0x20 < 0x5F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
          index += 1
          continue
        }
        let (unit, count) = escaped(utf8, at: index)
        if let unit {
          bytes.append(contentsOf: utf8[done..<index])
          appendEscaped(unit, to: &bytes)
          done = index + count
        }
        index += count
      }
      bytes.append(contentsOf: utf8[done...])
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Returns the character at `index` if it must be escaped, and the number of bytes to advance.
  private static func escaped(_ utf8: UnsafeBufferPointer<UInt8>, at index: Int) -> (unit: UInt16?, count: Int) {
    switch utf8[index] {
    case 0..<0x20, UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x7F: return (UInt16(utf8[index]), 1)
    case 0xC2 where utf8[index + 1] < 0xA0: return (UInt16(utf8[index + 1]), 2)
    case 0xE2 where utf8[index + 1] == 0x80 || utf8[index + 1] == 0x81:
      let unit = 0x2000 + UInt16(utf8[index + 1] & 1) << 6 + UInt16(utf8[index + 2] & 0x3F)
      switch unit {
      case 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: return (unit, 3)
      default: return (nil, 3)
      }
    case 0xEF where utf8[index + 1] == 0xBB && utf8[index + 2] == 0xBF: return (0xFEFF, 3)
    default: return (nil, 1)
    }
  }

  package static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    append(value, isNegative: false, inQuotes: false, to: &bytes)
  }

  private static func append(_ magnitude: UInt64, isNegative: Bool, inQuotes: Bool, to bytes: inout [UInt8]) {
    // Written from the end, on the stack: a long number as a string would need the heap.
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 23) { text in
      var start = 23
      func put(_ byte: UInt8) {
        start -= 1
        text[start] = byte
      }
      if inQuotes { put(UInt8(ascii: "\"")) }
      var rest = magnitude
      repeat {
        let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
        put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
        rest = quotient
      } while rest > 0
      if isNegative { put(UInt8(ascii: "-")) }
      if inQuotes { put(UInt8(ascii: "\"")) }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<23]))
    }
  }

  /// Appends the shortest digits that are read back as the same value.
  private static func append(
    _ value: some BinaryFloatingPoint & LosslessStringConvertible, as form: JSONForm, to bytes: inout [UInt8]
  ) {
    if value.isFinite {
      append(raw: String(value), to: &bytes)
    } else if form.hasNonFiniteAsNull {
      append(literal: "null", to: &bytes)
    } else if value.isNaN {
      append(literal: "\"NaN\"", to: &bytes)
    } else {
      append(literal: value < 0 ? "\"-Infinity\"" : "\"Infinity\"", to: &bytes)
    }
  }

  private static func append(_ date: Date, as form: JSONForm, to bytes: inout [UInt8]) {
    let start = bytes.count
    bytes.append(UInt8(ascii: "\""))
    if UTC.append(date, to: &bytes) {
      bytes.append(UInt8(ascii: "\""))
    } else {
      bytes.removeSubrange(start...)
      append(date.timeIntervalSinceReferenceDate, as: form, to: &bytes)
    }
  }

  /// Appends base64 by RFC 4648, with padding.
  private static func append(base64 data: [UInt8], to bytes: inout [UInt8]) {
    bytes.reserveCapacity(bytes.count + (data.count + 2) / 3 * 4 + 2)
    bytes.append(UInt8(ascii: "\""))
    var index = 0
    while index < data.count {
      let count = min(3, data.count - index)
      var bits: UInt32 = 0
      for place in 0..<3 { bits = bits << 8 | (place < count ? UInt32(data[index + place]) : 0) }
      for place in 0..<4 {
        bytes.append(place <= count ? base64Digits[Int(bits >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
      }
      index += 3
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Appends 32 digits in quotation marks.
  package static func append(_ id: EventID, to bytes: inout [UInt8]) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 34) { text in
      text[0] = UInt8(ascii: "\"")
      text[33] = UInt8(ascii: "\"")
      for place in 0..<16 {
        text[1 + place] = hexadecimalDigit(id.opening >> UInt64(60 - 4 * place))
        text[17 + place] = hexadecimalDigit(id.sequence >> UInt64(60 - 4 * place))
      }
      bytes.append(contentsOf: UnsafeBufferPointer(text))
    }
  }

  private static func hexadecimalDigit(_ value: UInt64) -> UInt8 {
    let digit = UInt8(truncatingIfNeeded: value & 15)
    return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
  }

  /// Appends text that is already JSON.
  package static func append(raw text: String, to bytes: inout [UInt8]) { bytes.append(contentsOf: text.utf8) }

  /// Appends a literal that is already JSON, copied from where the linker put it.
  @inlinable
  package static func append(literal text: StaticString, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private static func appendEscaped(_ unit: UInt16, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\\"))
    switch unit {
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    case 0x22, 0x5C: bytes.append(UInt8(unit))
    default:
      bytes.append(UInt8(ascii: "u"))
      for place in 0..<4 { bytes.append(hexadecimalDigit(UInt64(unit) >> UInt64(12 - 4 * place))) }
    }
  }

  private static let base64Digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}

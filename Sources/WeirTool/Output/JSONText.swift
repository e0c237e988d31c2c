// JSONText.swift: writes values as JSON (RFC 8259).
//
// By hand, because Foundation's encoder keeps keyed values in dictionaries: the fields would come out sorted or at
// random, not in the order in which they are declared, and at some 20 times the cost, with a million events to print.
//
// What JSON has no form for: NaN and the infinities are the strings "NaN", "Infinity" and "-Infinity"; bytes are
// base64; a UUID is its string; a date is RFC 3339, or, outside the years 0 to 9999, its seconds since
// 2001-01-01T00:00:00Z.

import Foundation
import Weir

enum JSONText {
  static func append(_ value: FieldValue, to bytes: inout [UInt8]) {
    switch value {
    case .null: append(literal: "null", to: &bytes)
    case .bool(let value): append(literal: value ? "true" : "false", to: &bytes)
    case .int(let value): append(value, to: &bytes)
    case .uint(let value): append(value, to: &bytes)
    case .float(let value): append(value, to: &bytes)
    case .double(let value): append(value, to: &bytes)
    case .string(let value): append(value, to: &bytes)
    case .bytes(let value): append(Data(value).base64EncodedString(), to: &bytes)
    case .uuid(let value): append(value.uuidString, to: &bytes)
    case .date(let value): append(value, to: &bytes)
    case .array(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        append(value, to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members): append(members, to: &bytes)
    }
  }

  static func append(_ members: FieldObject, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "{"))
    var isFirst = true
    for member in members {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      append(member.name, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      append(member.value, to: &bytes)
    }
    bytes.append(UInt8(ascii: "}"))
  }

  /// A string with its quotation marks. Escaped is what must be, and what would change on its way or in a terminal: the
  /// other control characters, the separators U+2028 and U+2029, what turns the direction of writing, and U+FEFF, which
  /// many readers take away.
  static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in
      var done = 0
      var index = 0
      while index < utf8.count {
        let byte = utf8[index]
        // Nearly all there is, decided here because this loop is the most of what printing an event takes.
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

  /// The character at `index` if it is to be escaped, and how many bytes to go on by.
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

  static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
    append(raw: String(value), to: &bytes)
  }

  /// The shortest digits that read back as the same value.
  private static func append(_ value: some BinaryFloatingPoint & LosslessStringConvertible, to bytes: inout [UInt8]) {
    if value.isFinite {
      append(raw: String(value), to: &bytes)
    } else if value.isNaN {
      append(literal: "\"NaN\"", to: &bytes)
    } else {
      append(literal: value < 0 ? "\"-Infinity\"" : "\"Infinity\"", to: &bytes)
    }
  }

  private static func append(_ date: Date, to bytes: inout [UInt8]) {
    let start = bytes.count
    bytes.append(UInt8(ascii: "\""))
    if UTC.append(date, to: &bytes) {
      bytes.append(UInt8(ascii: "\""))
    } else {
      bytes.removeSubrange(start...)
      append(date.timeIntervalSinceReferenceDate, to: &bytes)
    }
  }

  /// Text that is JSON already.
  static func append(raw text: String, to bytes: inout [UInt8]) { bytes.append(contentsOf: text.utf8) }

  /// The same for text that is known when the tool is built: a copy from where it lies.
  static func append(literal text: StaticString, to bytes: inout [UInt8]) {
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
      for shift in [12, 8, 4, 0] as [UInt16] { bytes.append(hexadecimalDigits[Int(unit >> shift & 15)]) }
    }
  }

  private static let hexadecimalDigits = Array("0123456789abcdef".utf8)
}

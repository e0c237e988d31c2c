// JSONText.swift: writes values as JSON (RFC 8259).
//
// By hand, because Foundation's encoder keeps keyed values in dictionaries: the fields would come out sorted or at
// random, not in the order in which they are declared, and at some 20 times the cost, with a million events to print.
//
// What JSON has no form for: NaN and the infinities are the strings "NaN", "Infinity" and "-Infinity"; bytes are base64;
// a UUID is its string; a date is RFC 3339, or, outside the years 0 to 9999, its seconds since 2001-01-01T00:00:00Z.

import Foundation
import Weir

enum JSONText {
  static func append(_ value: FieldValue, to bytes: inout [UInt8]) {
    switch value {
    case .null: append(raw: "null", to: &bytes)
    case .bool(let value): append(raw: value ? "true" : "false", to: &bytes)
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

  /// A string with its quotation marks. Only what must be escaped is.
  static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in
      var done = 0
      for index in 0..<utf8.count {
        let byte = utf8[index]
        guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
        bytes.append(contentsOf: utf8[done..<index])
        appendEscaped(byte, to: &bytes)
        done = index + 1
      }
      bytes.append(contentsOf: utf8[done...])
    }
    bytes.append(UInt8(ascii: "\""))
  }

  static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
    append(raw: String(value), to: &bytes)
  }

  /// The shortest digits that read back as the same value.
  private static func append(_ value: some BinaryFloatingPoint & LosslessStringConvertible, to bytes: inout [UInt8]) {
    if value.isFinite {
      append(raw: String(value), to: &bytes)
    } else if value.isNaN {
      append(raw: "\"NaN\"", to: &bytes)
    } else {
      append(raw: value < 0 ? "\"-Infinity\"" : "\"Infinity\"", to: &bytes)
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

  static func append(raw text: String, to bytes: inout [UInt8]) { bytes.append(contentsOf: text.utf8) }

  private static func appendEscaped(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\n"): bytes.append(UInt8(ascii: "n"))
    case UInt8(ascii: "\r"): bytes.append(UInt8(ascii: "r"))
    case UInt8(ascii: "\t"): bytes.append(UInt8(ascii: "t"))
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
    default:
      append(raw: "u00", to: &bytes)
      bytes.append(hexadecimalDigits[Int(byte >> 4)])
      bytes.append(hexadecimalDigits[Int(byte & 15)])
    }
  }

  private static let hexadecimalDigits = Array("0123456789abcdef".utf8)
}

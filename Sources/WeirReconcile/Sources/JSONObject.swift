// JSONObject: an object from a text that another program wrote.

import Weir
import WeirJSON

enum JSONObject {
  private static let limits = JSONReader.Limits(depth: 64, allowsEqualNames: true)

  /// A number or a truth value; `nil` for any other text.
  static func readScalar(_ text: String) -> FieldValue? {
    guard text == "true" || text == "false" || text.utf8.last.map({ (0x30...0x39).contains($0) }) == true else {
      return nil
    }
    return switch readValue(text) {
    case .bool(let value)?: .bool(value)
    case .int(let value)?: .int(value)
    case .uint(let value)?: .uint(value)
    case .double(let value)?: .double(value)
    default: nil
    }
  }

  /// The object; an empty one for any other text.
  static func read(_ text: String) -> FieldObject {
    let bytes = Array(text.utf8)
    return read(bytes.span) ?? FieldObject([FieldObject.Member]())
  }

  /// Any value; `nil` for a text that is no JSON.
  static func readValue(_ text: String) -> FieldValue? {
    let bytes = Array(text.utf8)
    return try? JSONReader.read(bytes.span, limits: limits)
  }

  /// The object; `nil` for any other text. A byte-order mark before it is skipped, and what is no character within it
  /// is U+FFFD: ClickHouse writes texts that are not UTF-8 as they are, and JavaScript cuts surrogate pairs in half.
  static func read(_ text: Span<UInt8>) -> FieldObject? {
    if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF {
      return read(text.extracting(3..<text.count))
    }
    if case .object(let object)? = try? JSONReader.read(text, limits: limits) { return object }
    guard let repaired = repaired(text), case .object(let object)? = try? JSONReader.read(repaired.span, limits: limits)
    else { return nil }
    return object
  }

  /// The text without what is no character; `nil` if it has only characters.
  private static func repaired(_ text: Span<UInt8>) -> [UInt8]? {
    var bytes = text.withUnsafeBufferPointer { Array($0) }
    var isRepaired = false
    if JSONScanner.notUTF8(text) != nil {
      bytes = Array(String(decoding: bytes, as: UTF8.self).utf8)
      isRepaired = true
    }
    var at = 0
    while at < bytes.count {
      guard bytes[at] == UInt8(ascii: "\\") else {
        at += 1
        continue
      }
      guard let unit = escapedUnit(bytes, at), (0xD800...0xDFFF).contains(unit) else {
        // Past the next byte too, which may be a backslash that stands for itself.
        at += 2
        continue
      }
      if unit < 0xDC00, let next = escapedUnit(bytes, at + 6), (0xDC00...0xDFFF).contains(next) {
        at += 12
        continue
      }
      bytes.replaceSubrange(at..<at + 6, with: Array("\\ufffd".utf8))
      isRepaired = true
      at += 6
    }
    return isRepaired ? bytes : nil
  }

  /// The unit of UTF-16 that is escaped at a position, such as `\ud83d`.
  private static func escapedUnit(_ bytes: [UInt8], _ at: Int) -> UInt32? {
    guard at + 6 <= bytes.count, bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u") else { return nil }
    return UInt32(String(decoding: bytes[at + 2..<at + 6], as: UTF8.self), radix: 16)
  }
}

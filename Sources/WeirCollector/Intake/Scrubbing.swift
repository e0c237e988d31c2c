// Scrubbing: takes keys out of what is kept of a body that was not taken.

#if Collector
  enum Scrubbing {
    /// Where vendors have their keys in a body.
    private static let names: Set<String> = ["api_key", "apikey", "token", "$token", "writekey", "write_key", "secret"]

    /// The text with the values of members that are keys replaced, whether it is JSON, only the beginning of some, or a
    /// form (`api_key=…&event=…`).
    static func scrubbed(_ text: String) -> String { scrubbedForm(scrubbedJSON(text)) }

    private static func scrubbedForm(_ text: String) -> String {
      let bytes = Array(text.utf8)
      var result: [UInt8] = []
      var copied = 0
      for sign in bytes.indices where bytes[sign] == UInt8(ascii: "=") && sign >= copied {
        let start = bytes[copied..<sign].lastIndex { !isInName($0) }.map { $0 + 1 } ?? copied
        guard names.contains(String(decoding: bytes[start..<sign], as: UTF8.self).lowercased()) else { continue }
        let value = sign + 1
        let end = bytes[value...].firstIndex { $0 == UInt8(ascii: "&") || $0 <= 0x20 || $0 == UInt8(ascii: "\"") }
        result += bytes[copied..<value]
        result += "[redacted]".utf8
        copied = end ?? bytes.count
      }
      return copied == 0 ? text : String(decoding: result + bytes[copied...], as: UTF8.self)
    }

    private static func isInName(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
        UInt8(ascii: "$"):
        true
      default: false
      }
    }

    private static func scrubbedJSON(_ text: String) -> String {
      let bytes = Array(text.utf8)
      var result: [UInt8] = []
      var copied = 0
      var at = 0
      while let name = string(in: bytes, from: at) {
        at = name.upperBound + 1
        var value = at
        skipSpace(bytes, &value)
        guard value < bytes.count, bytes[value] == UInt8(ascii: ":") else { continue }
        value += 1
        skipSpace(bytes, &value)
        guard names.contains(String(decoding: bytes[name], as: UTF8.self).lowercased()) else { continue }
        guard value < bytes.count, bytes[value] == UInt8(ascii: "\"") else { continue }
        // A value that is cut off is a key as well.
        let end = string(in: bytes, from: value)?.upperBound ?? bytes.count
        result += bytes[copied...value]
        result += "[redacted]".utf8
        copied = end
        at = min(end + 1, bytes.count)
      }
      return copied == 0 ? text : String(decoding: result + bytes[copied...], as: UTF8.self)
    }

    /// What stands between the next two quotation marks; nil if there are none.
    private static func string(in bytes: [UInt8], from: Int) -> Range<Int>? {
      guard from < bytes.count, let open = bytes[from...].firstIndex(of: UInt8(ascii: "\"")) else { return nil }
      var at = open + 1
      while at < bytes.count, bytes[at] != UInt8(ascii: "\"") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
      return at < bytes.count ? open + 1..<at : nil
    }

    private static func skipSpace(_ bytes: [UInt8], _ at: inout Int) {
      while at < bytes.count, bytes[at] <= 0x20 { at += 1 }
    }
  }
#endif

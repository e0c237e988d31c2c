// Terminal: makes names and other text of a log safe for a terminal. Control characters are escaped, because a
// terminal could take them for commands, or show a line in another order.

#if Tool
  import Weir
  import WeirJSON

  enum Terminal {
    /// Returns a name as it is, or quoted if the name is empty or contains control characters, spaces, `=` or `"`.
    static func name(_ name: String) -> String {
      let isPlain = name.unicodeScalars.allSatisfy { !isControl($0) && $0 != " " && $0 != "=" && $0 != "\"" }
      guard !isPlain || name.isEmpty else { return name }
      return quoted(name)
    }

    /// Returns the text with escapes in place of control characters.
    static func printable(_ text: String) -> String {
      guard text.unicodeScalars.contains(where: isControl) else { return text }
      return text.unicodeScalars.map { scalar in
        isControl(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
      }.joined()
    }

    /// Returns the text as a JSON string.
    static func quoted(_ text: String) -> String {
      var bytes: [UInt8] = []
      JSONText.append(text, to: &bytes)
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns whether a terminal must not get this character. Control characters above ASCII count too, because a
    /// terminal may take U+009B for the beginning of a command. So do characters that change the direction of writing,
    /// because a text with them could reorder the text beside it.
    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.value {
      case 0..<0x20, 0x7f...0x9f: true
      case 0x200e...0x200f, 0x202a...0x202e, 0x2066...0x2069: true
      default: false
      }
    }
  }
#endif

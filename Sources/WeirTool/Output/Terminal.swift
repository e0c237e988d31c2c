// Terminal.swift: names and other text of a log, which may be anything, as they may be shown: no control characters,
// which a terminal could take for commands, or which would show a line in another order than it has.

#if Tool
  import Weir
  import WeirJSON

  enum Terminal {
    /// A name as it is, or quoted like a string where it would break the line or blur into what is beside it.
    static func name(_ name: String) -> String {
      let isPlain = name.unicodeScalars.allSatisfy { !isControl($0) && $0 != " " && $0 != "=" && $0 != "\"" }
      guard !isPlain || name.isEmpty else { return name }
      return quoted(name)
    }

    /// Text in which control characters are written as escapes.
    static func printable(_ text: String) -> String {
      guard text.unicodeScalars.contains(where: isControl) else { return text }
      return text.unicodeScalars.map { scalar in
        isControl(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
      }.joined()
    }

    /// As a string of JSON.
    static func quoted(_ text: String) -> String {
      var bytes: [UInt8] = []
      JSONText.append(text, to: &bytes)
      return String(decoding: bytes, as: UTF8.self)
    }

    /// The control characters above ASCII too: a terminal may take U+009B for the beginning of a command. And those
    /// that turn the direction of writing, which would let a text reorder what is beside it.
    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.value {
      case 0..<0x20, 0x7f...0x9f: true
      case 0x200e...0x200f, 0x202a...0x202e, 0x2066...0x2069: true
      default: false
      }
    }
  }
#endif

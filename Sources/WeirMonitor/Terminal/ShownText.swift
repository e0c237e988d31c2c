// ShownText: text of a log for a terminal: shown, never obeyed, and no wider than its place.

#if Monitor
  import CNcurses

  enum ShownText {
    /// Returns the text with symbols in place of control characters, of characters that change the direction of writing,
    /// and of others that are invisible.
    static func shown(_ text: String) -> String {
      guard text.unicodeScalars.contains(where: { !isShown($0) }) else { return text }
      var shown = ""
      for scalar in text.unicodeScalars {
        if isShown(scalar) {
          shown.unicodeScalars.append(scalar)
        } else if scalar.value < 0x20, let picture = Unicode.Scalar(0x2400 + scalar.value) {
          shown.unicodeScalars.append(picture)
        } else {
          shown += "⟨\(String(scalar.value, radix: 16, uppercase: true))⟩"
        }
      }
      return shown
    }

    /// Letters without a shape: fillers of Hangul.
    private static let invisible: Set<Unicode.Scalar> = ["\u{115F}", "\u{1160}", "\u{3164}", "\u{FFA0}"]

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
      default: !invisible.contains(scalar)
      }
    }

    /// The columns that a terminal gives a character.
    private static func width(of scalar: Unicode.Scalar) -> Int {
      max(0, Int(shim_columns(scalar.value)))
    }

    /// The columns that a text takes in a terminal.
    static func width(of text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width(of: $1) } }

    /// Returns the text in exactly so many columns: cut, with an ellipsis, or filled up with spaces.
    static func fitted(_ text: String, to columns: Int) -> String {
      guard columns > 0 else { return "" }
      let whole = width(of: text)
      if whole <= columns { return text + String(repeating: " ", count: columns - whole) }
      var cut = String.UnicodeScalarView()
      var used = 0
      for scalar in text.unicodeScalars {
        let next = used + width(of: scalar)
        if next > columns - 1 { break }
        cut.append(scalar)
        used = next
      }
      return String(cut) + "…" + String(repeating: " ", count: columns - 1 - used)
    }

    /// Splits a text into lines of at most so many columns.
    static func wrapped(_ text: String, to columns: Int) -> [String] {
      guard columns > 0 else { return [] }
      var lines: [String] = []
      var line = String.UnicodeScalarView()
      var used = 0
      for scalar in text.unicodeScalars {
        let own = width(of: scalar)
        if used + own > columns {
          lines.append(String(line))
          line = String.UnicodeScalarView()
          used = 0
        }
        line.append(scalar)
        used += own
      }
      return lines + [String(line)]
    }
  }
#endif

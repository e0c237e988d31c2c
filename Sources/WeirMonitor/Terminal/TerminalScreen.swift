// TerminalScreen: draws lines on a terminal, by ncurses, and reads keys.

#if Monitor
  import CNcurses
  import Foundation

  /// The terminal, while it is ours. For the main thread alone. The terminal is given back when this is closed.
  final class TerminalScreen {
    /// What the reader pressed.
    enum Key: Equatable {
      case character(Character)
      case enter
      case escape
      case backspace
      case up
      case down
      case pageUp
      case pageDown
      case home
      case end
      /// The window has another size.
      case resized
    }

    private let window: UnsafeMutablePointer<WINDOW>

    /// Takes the terminal. Returns `nil` if there is none, or if the terminal is of no known kind.
    init?() {
      guard isatty(STDIN_FILENO) != 0, isatty(STDOUT_FILENO) != 0, let kind = getenv("TERM"), kind[0] != 0 else {
        return nil
      }
      setlocale(LC_ALL, "")
      guard shim_is_known() != 0, let window = initscr() else { return nil }
      self.window = window
      cbreak()
      noecho()
      keypad(window, true)
      set_escdelay(25)
      curs_set(0)
      if has_colors() {
        start_color()
        use_default_colors()
        init_pair(1, Int16(COLOR_GREEN), -1)
        init_pair(2, Int16(COLOR_YELLOW), -1)
        init_pair(3, Int16(COLOR_RED), -1)
      }
    }

    /// Gives the terminal back.
    func close() { endwin() }

    var width: Int { Int(shim_width(window)) }
    var height: Int { Int(shim_height(window)) }

    /// Draws the lines; what has not changed is not sent.
    func draw(_ lines: [TerminalLine]) {
      werase(window)
      for (row, line) in lines.enumerated() {
        wmove(window, Int32(row), 0)
        for span in line {
          let (attributes, pair) = Self.style(span.style)
          shim_set_style(window, Int32(attributes.rawValue), pair)
          waddstr(window, span.text)
        }
      }
      shim_set_style(window, 0, 0)
      wrefresh(window)
    }

    private static func style(_ style: TerminalSpan.Style) -> (shim_attributes, Int16) {
      switch style {
      case .plain: (SHIM_PLAIN, 0)
      case .bold: (SHIM_BOLD, 0)
      case .dim: (SHIM_DIM, 0)
      case .reverse: (SHIM_REVERSE, 0)
      case .good: (SHIM_PLAIN, 1)
      case .warning: (SHIM_PLAIN, 2)
      case .bad: (SHIM_PLAIN, 3)
      }
    }

    /// Waits for a key, so long at most. `nil`: none came, or one that means nothing here.
    func key(within milliseconds: Int32) -> Key? {
      wtimeout(window, milliseconds)
      var code: wint_t = 0
      let kind = wget_wch(window, &code)
      if kind == KEY_CODE_YES {
        switch Int32(bitPattern: code) {
        case KEY_UP: return .up
        case KEY_DOWN: return .down
        case KEY_PPAGE: return .pageUp
        case KEY_NPAGE: return .pageDown
        case KEY_HOME: return .home
        case KEY_END: return .end
        case KEY_BACKSPACE: return .backspace
        case KEY_ENTER: return .enter
        case KEY_RESIZE: return .resized
        default: return nil
        }
      }
      guard kind == OK, let scalar = Unicode.Scalar(code) else { return nil }
      switch scalar {
      case "\n", "\r": return .enter
      case "\u{1b}": return .escape
      case "\u{7f}", "\u{8}": return .backspace
      default: return scalar.value < 0x20 ? nil : .character(Character(scalar))
      }
    }
  }
#endif

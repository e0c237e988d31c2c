// TerminalSize: how large the terminal is.

#if Tool
  import Foundation

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  struct TerminalSize: Equatable {
    var columns = 100
    var lines = 24

    /// The size that the environment says, or the terminal of standard output, or the usual one.
    static var current: TerminalSize {
      var size = TerminalSize()
      var window = winsize()
      if ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 {
        size = TerminalSize(columns: Int(window.ws_col), lines: Int(window.ws_row))
      }
      let environment = ProcessInfo.processInfo.environment
      if let columns = environment["COLUMNS"].flatMap({ Int($0) }), 1...10_000 ~= columns { size.columns = columns }
      if let lines = environment["LINES"].flatMap({ Int($0) }), 1...10_000 ~= lines { size.lines = lines }
      return size
    }
  }
#endif

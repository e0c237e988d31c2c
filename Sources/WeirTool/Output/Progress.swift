// Progress: the progress line on standard error. The line is written only to a terminal, not to a file or a pipe,
// and at most ten times a second.

#if Tool
  import Weir

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  final class Progress {
    private static let interval: UInt64 = 100_000_000

    private let start = MonotonicTime.now.nanoseconds
    private var last: UInt64
    private var isShown = false

    /// Returns `nil` if standard error is no terminal.
    init?() {
      guard isatty(STDERR_FILENO) == 1 else { return nil }
      last = start
    }

    /// Shows the number of events, unless the line was written less than a tenth of a second ago.
    func show(events: UInt64, fraction: Double?) { show(events, "events", fraction: fraction) }

    /// Shows a count in any unit.
    func show(_ count: UInt64, _ unit: String, fraction: Double?) {
      let now = MonotonicTime.now.nanoseconds
      guard now - last >= Self.interval else { return }
      last = now
      isShown = true
      draw("\r\u{1B}[K" + Self.line(count, unit, nanoseconds: now - start, fraction: fraction))
    }

    /// Removes the line.
    func end() {
      if isShown { draw("\r\u{1B}[K") }
      isShown = false
    }

    private func draw(_ text: String) { try? writeAll(Array(text.utf8), to: STDERR_FILENO) }

    /// Returns a line such as "[#####     ]  50 %  1,000,000 events  2,000,000/s", without a bar if the end is unknown.
    static func line(_ count: UInt64, _ unit: String = "events", nanoseconds: UInt64, fraction: Double?) -> String {
      let rate = nanoseconds == 0 ? 0 : Double(count) * 1_000_000_000 / Double(nanoseconds)
      let counts = "\(Quantity.count(count)) \(unit)  \(Quantity.count(UInt64(rate)))/s"
      guard let fraction else { return counts }
      let width = 30
      let filled = min(width, max(0, Int(fraction * Double(width))))
      let percent = String(Int(fraction * 100))
      let bar = String(repeating: "#", count: filled) + String(repeating: " ", count: width - filled)
      return "[\(bar)] \(String(repeating: " ", count: max(0, 3 - percent.count)))\(percent) %  \(counts)"
    }
  }
#endif

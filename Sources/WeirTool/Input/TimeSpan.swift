// TimeSpan: a duration as a command-line argument: 90s, 30m, 12h, 7d.

#if Tool
  import ArgumentParser

  struct TimeSpan: Equatable, Sendable {
    var seconds: UInt64

    var duration: Duration { .seconds(Int64(clamping: seconds)) }

    init(parsing text: String) throws(ValidationError) {
      guard let span = TimeSpan(text) else {
        throw ValidationError("give a number of at least 1 with s, m, h or d, such as 90s, 30m, 12h or 7d")
      }
      self = span
    }

    init?(_ argument: String) {
      let units: [Character: UInt64] = ["s": 1, "m": 60, "h": 3600, "d": 86400]
      guard let last = argument.last, let unit = units[last], let number = UInt64(argument.dropLast()), number > 0
      else {
        return nil
      }
      let (product, isTooMuch) = number.multipliedReportingOverflow(by: unit)
      guard !isTooMuch else { return nil }
      seconds = product
    }
  }
#endif

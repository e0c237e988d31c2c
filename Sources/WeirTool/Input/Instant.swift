// Instant: a moment as a command-line argument: 2026-11-21T09:30:00Z, or with a fraction or another zone. A date alone
// is its midnight in Universal Time.

#if Tool
  import ArgumentParser
  import Weir

  struct Instant: ExpressibleByArgument, Equatable, Sendable {
    var timestamp: Timestamp

    init?(argument: String) {
      guard let timestamp = Timestamp(text: argument, form: .strict) else { return nil }
      self.timestamp = timestamp
    }
  }
#endif

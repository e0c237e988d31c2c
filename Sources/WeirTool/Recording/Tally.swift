// Tally: the counts of a recording thread, and the summary of all threads.

#if Tool
  import Weir

  struct Tally: Sendable, Equatable {
    /// Events that the log accepted.
    var accepted: UInt64 = 0
    /// Events that the log refused.
    var refused: [DropReason: UInt64] = [:]
    /// The time of the captures, including waits for room, summed over the threads.
    var captureNanoseconds: UInt64 = 0

    mutating func add(_ other: Tally) {
      accepted += other.accepted
      refused.merge(other.refused, uniquingKeysWith: +)
      captureNanoseconds += other.captureNanoseconds
    }
  }

  struct RecordSummary: Sendable, Equatable {
    var tally: Tally
    /// The time from the first read to the closed log.
    var nanoseconds: UInt64
    /// The refusals that the log counted.
    var dropped: UInt64
    /// Events of this or an earlier recording that the byte limit displaced before they were delivered.
    var displaced: UInt64 = 0
    /// Events of this or an earlier recording that retention removed before they were delivered.
    var expired: UInt64 = 0
    /// The bounds that removed the events.
    var bounds = Bounds()

    /// The bounds of a log, as given to `weir record`; `nil` for none.
    struct Bounds: Sendable, Equatable {
      var bytes: UInt64?
      var retainedBytes: UInt64?
      var retainedSeconds: UInt64?
    }

    var nanosecondsPerEvent: Double {
      tally.accepted == 0 ? 0 : Double(tally.captureNanoseconds) / Double(tally.accepted)
    }

    var eventsPerSecond: Double {
      nanoseconds == 0 ? 0 : Double(tally.accepted) * 1_000_000_000 / Double(nanoseconds)
    }

    /// The last line of `weir record`.
    var description: String {
      var line = "\(Quantity.count(tally.accepted)) \(tally.accepted == 1 ? "event" : "events") recorded in "
      line += "\(Quantity.seconds(nanoseconds)), "
      line += "\(Quantity.count(UInt64(eventsPerSecond))) events/s, "
      line += "\(Quantity.decimal(nanosecondsPerEvent)) ns per capture, \(Quantity.count(dropped)) dropped"
      let reasons = tally.refused.sorted { $0.key.rawValue < $1.key.rawValue }
      if !reasons.isEmpty {
        line += " (" + reasons.map { "\($0.key.name): \(Quantity.count($0.value))" }.joined(separator: ", ") + ")"
      }
      if displaced > 0 {
        let limit = bounds.bytes.map { " (--max-bytes \($0))" } ?? ""
        line += ", \(Quantity.count(displaced)) displaced at the byte limit\(limit)"
      }
      if expired > 0 { line += ", \(Quantity.count(expired)) expired by retention\(retention)" }
      return line
    }

    private var retention: String {
      let limits = [
        bounds.retainedSeconds.map { "--retain \($0)s" }, bounds.retainedBytes.map { "--retain-bytes \($0)" },
      ].compactMap(\.self)
      return limits.isEmpty ? "" : " (\(limits.joined(separator: ", ")))"
    }
  }
#endif

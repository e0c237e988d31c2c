// LogSums: a log in numbers: what is in it, what was refused, and what became of it at each provider.

import Weir
import WeirDelivery

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A log's numbers at one moment.
struct LogSums: Sendable {
  var time: Timestamp
  var statistics: LogDirectory.Statistics
  var ledger: Ledger
  /// The reason why the ledger can't be made; `nil` if there is one.
  var ledgerError: String?
  /// The events of each of the last 60 seconds, by name.
  var rates: [EventRates.Rate]
  /// The open scopes, as lines of text.
  var scopes: [String]
  /// The writer's threads, as lines of text.
  var threads: [String]

  init(
    of log: LogDirectory, _ rates: EventRates, _ threads: WriterThreads, until deadline: ContinuousClock.Instant
  ) throws(WeirError) {
    statistics = try log.statistics()
    do throws(WeirError) {
      ledger = try log.ledger()
    } catch {
      ledger = Ledger([])
      ledgerError = error.message
    }
    try rates.update(until: deadline, end: statistics.nextOffset)
    time = Timestamp(nanosecondsSince1970: Int64(Date().timeIntervalSince1970 * 1e9))
    self.rates = rates.rates(before: time.nanosecondsSince1970 / 1_000_000_000)
    scopes = statistics.isLive ? rates.scopes.lines(at: time) : []
    self.threads = statistics.isLive ? threads.lines() : []
  }

  /// What survived a writer that is gone, as lines of text; none for a log with a writer.
  var recovery: [String] {
    guard !statistics.isLive else { return [] }
    var lines: [String] = []
    if statistics.laneEvents > 0 {
      lines.append("\(statistics.laneEvents) events are still in the lanes: the next opening moves them into a segment")
    }
    if statistics.ringVanished {
      lines.append("the ring lay in another directory and is gone, with an unknown number of events")
    }
    if statistics.isDamaged { lines.append("something can't be read: weir verify says what") }
    return lines
  }
}

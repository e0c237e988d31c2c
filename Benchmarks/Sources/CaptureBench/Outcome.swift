// Outcome.swift: what one subject showed in one situation, and the line of JSON that it becomes.
import Foundation
import Histogram

/// A value's rank in a sorted sample: nearest rank, so that it is one of the measured values.
func percentile(_ sorted: [Double], _ fraction: Double) -> Double {
  guard !sorted.isEmpty else { return .nan }
  let rank = Int((fraction * Double(sorted.count)).rounded(.up))
  return sorted[min(max(rank, 1), sorted.count) - 1]
}

struct Outcome {
  let bench: String
  let subject: String
  let threads: Int
  let eventBytes: Int
  let unit: String
  /// In `unit`: one number a burst and thread, or a round.
  var samples: [Double] = []
  /// Of single captures, in place of samples.
  var histogram: Histogram<UInt64>?
  /// Where the ring was, if that is what was varied.
  var ring: String?
  var accepted = 0
  var dropped = 0
  /// The fewest and the most captures that a single thread had accepted, of all rounds.
  var threadLeast: Int?
  var threadMost: Int?
  /// What does not add up, in words.
  var complaints: [String] = []
  /// What is odd and no fault of the measurement.
  var notes: [String] = []

  init(_ bench: String, _ subject: String, _ setup: Setup, unit: String = "ns") {
    self.bench = bench
    self.subject = subject
    self.unit = unit
    threads = setup.threads
    eventBytes = setup.eventBytes
  }

  /// Takes in what became of a round's events. `told` is what each thread was told to be accepted. Answers how many of
  /// them were kept.
  @discardableResult
  mutating func settle(told: [Int], attempted: Int, delivery: Delivery) -> Int {
    let sum = told.reduce(0, +)
    var kept = sum - min(delivery.discarded, sum)
    if delivery.discarded > sum, let delivered = delivery.delivered {
      // Seen of lttng-ust on many threads. Then what is missing is all that is known.
      note("its count of what it discarded is beyond belief; \(sum - delivered) of \(sum) are missing")
      kept = delivered
    }
    accepted += kept
    dropped += attempted - kept
    if told.count > 1, let least = told.min(), let most = told.max() {
      threadLeast = min(threadLeast ?? least, least)
      threadMost = max(threadMost ?? most, most)
    }
    if let counted = delivery.accepted, counted != sum {
      complain("\(sum) captures were told accepted, the counters say \(counted)")
    }
    if let refused = delivery.refused, refused != attempted - sum {
      complain("\(attempted - sum) captures were refused, the counters say \(refused)")
    }
    if let delivered = delivery.delivered, delivered != kept {
      complain("\(kept) events were accepted, \(delivered) were delivered")
    }
    return kept
  }

  private mutating func note(_ text: String) {
    notes.append("\(bench), \(subject), \(threads) threads: \(text)")
  }

  private mutating func complain(_ text: String) {
    complaints.append("\(bench), \(subject), \(threads) threads, \(eventBytes) bytes: \(text)")
  }

  var line: ResultLine { ResultLine(self) }
}

/// One line of the results file.
struct ResultLine: Encodable {
  let bench: String
  let subject: String
  let threads: Int
  let eventBytes: Int
  let unit: String
  let p50: Double
  let p99: Double
  let p999: Double
  let p9999: Double
  let accepted: Int
  let dropped: Int
  let ring: String?
  let threadLeast: Int?
  let threadMost: Int?
  /// Pairs of percentile and value, for a curve.
  let curve: [[Double]]?

  init(_ outcome: Outcome) {
    bench = outcome.bench
    subject = outcome.subject
    threads = outcome.threads
    eventBytes = outcome.eventBytes
    unit = outcome.unit
    accepted = outcome.accepted
    dropped = outcome.dropped
    ring = outcome.ring
    threadLeast = outcome.threadLeast
    threadMost = outcome.threadMost
    let sorted = outcome.samples.sorted()
    func value(_ fraction: Double) -> Double {
      if let histogram = outcome.histogram { return Double(histogram.valueAtPercentile(fraction * 100)) }
      // A rate is better when it is higher: its bad percentiles are the low ones.
      let worse = outcome.unit.hasSuffix("/s") && outcome.unit != "wakeups/s"
      return (percentile(sorted, worse ? 1 - fraction : fraction) * 100).rounded() / 100
    }
    p50 = value(0.5)
    p99 = value(0.99)
    p999 = value(0.999)
    p9999 = value(0.9999)
    curve = outcome.histogram.map { histogram in
      [50, 75, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.98, 99.99, 99.995, 99.999].map {
        [$0, Double(histogram.valueAtPercentile($0))]
      }
    }
  }
}

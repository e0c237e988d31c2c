// Report.swift: the table for people, and the lines of JSON for programs that compare runs.
import Foundation

/// A value's rank in a sorted sample: nearest rank, so that it is one of the measured values.
func percentile(_ sorted: [Double], _ fraction: Double) -> Double {
  guard !sorted.isEmpty else { return .nan }
  let rank = Int((fraction * Double(sorted.count)).rounded(.up))
  return sorted[min(max(rank, 1), sorted.count) - 1]
}

/// One line of the results file.
struct ResultLine: Encodable {
  let bench: String
  let subject: String
  let threads: Int
  let eventBytes: Int
  let unit = "ns"
  let p50: Double
  let p99: Double
  let p999: Double
  let p9999: Double
  let accepted: Int
  let dropped: Int

  init(_ outcome: Outcome) {
    let sorted = outcome.samples.sorted()
    func rounded(_ fraction: Double) -> Double { (percentile(sorted, fraction) * 100).rounded() / 100 }
    bench = "capture"
    subject = outcome.subject.name
    threads = outcome.threads
    eventBytes = outcome.subject.eventBytes
    p50 = rounded(0.5)
    p99 = rounded(0.99)
    p999 = rounded(0.999)
    p9999 = rounded(0.9999)
    accepted = outcome.accepted
    dropped = outcome.dropped
  }
}

/// The table, one row a subject and number of threads. Ratios are those of the medians to the first row's.
func table(_ outcomes: [Outcome]) -> String {
  var lines = [row("subject", "threads", "ns/event p50", "p99", "of floor", "accepted", "refused")]
  for group in Dictionary(grouping: outcomes, by: \.threads).sorted(by: { $0.key < $1.key }) {
    let floor = ResultLine(group.value[0]).p50
    for outcome in group.value {
      let line = ResultLine(outcome)
      lines.append(
        row(
          line.subject, "\(line.threads)", fixed(line.p50), fixed(line.p99), fixed(line.p50 / floor),
          "\(line.accepted)", "\(line.dropped)"))
    }
  }
  return lines.joined(separator: "\n")
}

private func row(_ subject: String, _ columns: String...) -> String {
  let name = subject.padding(toLength: 20, withPad: " ", startingAt: 0)
  return name + columns.map { String(repeating: " ", count: max(1, 14 - $0.count)) + $0 }.joined()
}

private func fixed(_ value: Double) -> String {
  String(format: "%.2f", value)
}

/// The lines of the results file, keys in a fixed order.
func resultLines(_ outcomes: [Outcome]) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys]
  encoder.keyEncodingStrategy = .convertToSnakeCase
  return try outcomes.map { String(decoding: try encoder.encode(ResultLine($0)), as: UTF8.self) + "\n" }.joined()
}

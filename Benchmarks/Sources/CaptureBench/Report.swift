// Report.swift: the tables for people, and the lines of JSON for programs that compare runs.
import Foundation

/// All tables, one a regime, a row a subject and situation. Ratios are those of medians to the first row's of a group.
func tables(_ session: Session) -> String {
  var benches: [String] = []
  for outcome in session.outcomes where !benches.contains(outcome.bench) { benches.append(outcome.bench) }
  return benches.map { bench in table(bench, session.outcomes.filter { $0.bench == bench }) }.joined(separator: "\n\n")
}

private func table(_ bench: String, _ outcomes: [Outcome]) -> String {
  var lines = [
    row(bench, "threads", "bytes", "unit", "p50", "p99", "p99.9", "p99.99", "of first", "accepted", "refused")
  ]
  var group = ""
  var first = 0.0
  for outcome in outcomes {
    let line = outcome.line
    let key = "\(line.threads) \(line.eventBytes) \(line.unit) \(line.ring ?? "")"
    if key != group {
      group = key
      first = line.p50
      if let ring = line.ring { lines.append("  ring: \(ring)") }
    }
    lines.append(
      row(
        line.subject, "\(line.threads)", "\(line.eventBytes)", line.unit, fixed(line.p50), fixed(line.p99),
        fixed(line.p999), fixed(line.p9999), fixed(line.p50 / first), "\(line.accepted)", "\(line.dropped)"))
    if bench == "saturation", let least = line.threadLeast, let most = line.threadMost {
      lines.append("    accepted by a single thread in a round: least \(least), most \(most)")
    }
  }
  return lines.joined(separator: "\n")
}

private func row(_ subject: String, _ columns: String...) -> String {
  let widths = [8, 7, 18, 13, 13, 13, 13, 9, 12, 12]
  let name = subject.padding(toLength: 20, withPad: " ", startingAt: 0)
  return name
    + zip(columns, widths).map { column, width in String(repeating: " ", count: max(1, width - column.count)) + column }
    .joined()
}

func fixed(_ value: Double) -> String {
  if value.isNaN || value.isInfinite { return "-" }
  return String(format: value >= 1000 ? "%.0f" : "%.2f", value)
}

/// The lines of the results file, keys in a fixed order.
func resultLines(_ outcomes: [Outcome]) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys]
  encoder.keyEncodingStrategy = .convertToSnakeCase
  return try outcomes.map { String(decoding: try encoder.encode($0.line), as: UTF8.self) + "\n" }.joined()
}

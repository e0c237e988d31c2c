// ReportText: a report for people, in a terminal or in a pull request.

import Weir

/// A report as text, or as Markdown.
struct ReportText {
  private static let mostNames = 40
  private static let mostFields = 40

  private let report: ReconciliationReport
  private let isMarkdown: Bool

  init(_ report: ReconciliationReport, isMarkdown: Bool) {
    self.report = report
    self.isMarkdown = isMarkdown
  }

  var text: String {
    var lines: [String] = []
    if isMarkdown { lines += ["## Reconciliation", ""] }
    lines.append(
      "\(report.here) events here (offsets \(report.offsets.lowerBound) to \(report.offsets.upperBound)), "
        + "\(report.there) there")
    if report.unreadable > 0 {
      lines.append("\(report.unreadable) lines, or damaged stretches, of the control can't be read")
    }
    if let times = report.times { lines.append("events from \(times.lowerBound) to \(times.upperBound)") }
    if let time = report.firstDivergence { lines.append("first divergence: \(time)") }
    lines += table(
      ["verdict", "events"], ReconciliationReport.Verdict.allCases.map { [$0.rawValue, "\(report.all[$0])"] })
    let ways = MatchWay.allCases.filter { report.byWay[$0] ?? 0 > 0 }
    if ways.count > 1 {
      lines += table(["matched by", "pairs"], ways.map { [$0.rawValue, "\(report.byWay[$0] ?? 0)"] })
    }
    if !report.reasons.isEmpty {
      lines += table(
        ["verdict", "events", "reason"], report.reasons.map { [$0.verdict.rawValue, "\($0.count)", $0.reason] })
    }
    if !report.fields.isEmpty {
      let hasNoise = report.fields.contains { $0.noise != nil }
      lines += table(
        ["event", "field", "differs in", "pairs"]
          + (hasNoise ? Self.noiseHead : []),
        report.fields.prefix(Self.mostFields).map {
          [$0.name, $0.path, $0.kind.rawValue, "\($0.count)"] + ($0.noise.map(Self.noise) ?? [])
        })
    }
    if report.byName.count > 1 {
      let names = report.byName.sorted { ($1.value.differences, $0.key) < ($0.value.differences, $1.key) }
      let verdicts = ReconciliationReport.Verdict.allCases
      lines += table(
        ["event"] + verdicts.map(\.rawValue),
        names.prefix(Self.mostNames).map { name, counts in [name] + verdicts.map { "\(counts[$0])" } })
    }
    lines += examples
    return lines.joined(separator: "\n") + "\n"
  }

  static let noiseHead = ["share", "control itself", "difference (99 %)", "is"]

  /// The cells that hold a field against the control's own noise.
  static func noise(_ noise: ShareDifference) -> [String] {
    [
      percent(noise.share), percent(noise.noise),
      "\(percent(noise.interval.lowerBound)) to \(percent(noise.interval.upperBound))",
      noise.isBlamed ? "different" : "noise",
    ]
  }

  /// With two digits after the point.
  private static func percent(_ share: Double) -> String {
    let hundredths = Int((share * 10_000).rounded())
    let digits = "\(100 + hundredths.magnitude % 100)".dropFirst()
    return "\(hundredths < 0 ? "-" : "")\(hundredths.magnitude / 100).\(digits) %"
  }

  private var examples: [String] {
    guard !report.samples.isEmpty else { return [] }
    var lines = ["", isMarkdown ? "### Examples" : "Examples", ""]
    for sample in report.samples {
      let title = [sample.verdict.rawValue, sample.name, sample.reason].compactMap(\.self).joined(separator: ", ")
      lines.append(isMarkdown ? "* \(cell(title))" : title)
      for (side, text) in [("here ", sample.here), ("there", sample.there)] {
        if let text {
          lines.append(isMarkdown ? "  * \(side): `\(text.replacing("`", with: "'"))`" : "  \(side) \(text)")
        }
      }
    }
    return lines
  }

  private func cell(_ text: String) -> String {
    let shown = String(text.map { $0.isNewline ? " " : $0 })
    return isMarkdown ? MarkdownText.escaped(shown) : shown
  }

  /// A table: columns of numbers to the right in a terminal.
  private func table(_ head: [String], _ rows: [[String]]) -> [String] {
    let cells = ([head] + rows).map { $0.map(cell) }
    if isMarkdown {
      let lines = cells.map { "| " + $0.joined(separator: " | ") + " |" }
      return [""] + lines.prefix(1) + ["|" + String(repeating: "---|", count: head.count)] + lines.dropFirst()
    }
    let widths = head.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
    return [""]
      + cells.map { row in
        zip(row, widths).map { text, width in
          let space = String(repeating: " ", count: width - text.count)
          return UInt64(text) == nil ? text + space : space + text
        }.joined(separator: "  ").trimmedAtEnd
      }
  }
}

extension ReconciliationReport.Counts {
  fileprivate var differences: UInt64 {
    [.differing, .onlyHere, .onlyThere, .duplicateHere, .duplicateThere].reduce(0) { $0 + self[$1] }
  }
}

extension String {
  fileprivate var trimmedAtEnd: String {
    var text = Substring(self)
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}

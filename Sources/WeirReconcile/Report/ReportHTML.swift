// ReportHTML: a report as a page of its own, with both sides of a difference next to each other.

package import Weir

/// A page without scripts, and without anything from elsewhere. Whatever an event contains is text.
package enum ReportHTML {
  /// The page. A browser asks for the page again while a comparison runs.
  package static func page(_ result: Result<ReconciliationReport, WeirError>?, isComparing: Bool) -> String {
    let body =
      switch result {
      case .success(let report): ReportBody(report).text
      case .failure(let error): "<p>\(escaped(error.message))</p>\n"
      case nil: ""
      }
    let refresh = "<meta http-equiv=\"refresh\" content=\"2\">\n"
    return head + (isComparing ? refresh : "") + "<main>\n<h1>Differences</h1>\n"
      + (isComparing ? "<p>comparing …</p>\n" : "") + body + "</main>\n"
  }

  /// Text that no browser takes for an element, and in which marks that turn or hide text are seen.
  fileprivate static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "&": result += "&amp;"
      case "\"": result += "&quot;"
      default:
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse:
          result += "⟨\(String(scalar.value, radix: 16, uppercase: true))⟩"
        default: result.unicodeScalars.append(scalar)
        }
      }
    }
    return result
  }

  private static let head = """
    <!doctype html>
    <html lang="en">
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Weir: differences</title>
    <link rel="icon" href="data:,">
    <style>
    :root { color-scheme: light dark; --line: light-dark(#dfdfda, #30353c); --mark: light-dark(#fdf1d6, #33290f); }
    body { margin: 0; background: light-dark(#f7f7f5, #14161a); color: light-dark(#1c1e21, #e3e6e9);
      font: 13px/1.45 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
    main { max-width: 1100px; margin: 0 auto; padding: 12px 16px 40px; }
    h1 { font-size: 18px; } h2 { margin: 24px 0 6px; font-size: 14px; } h3 { margin: 16px 0 4px; font-size: 13px; }
    table { border-collapse: collapse; background: light-dark(#fff, #1a1d22); }
    .tables { display: flex; flex-wrap: wrap; gap: 0 32px; } section { max-width: 100%; overflow-x: auto; }
    th, td { padding: 3px 10px; border: 1px solid var(--line); text-align: left; vertical-align: top; }
    th { font-weight: 600; } .n { text-align: right; }
    .pair td { font-family: ui-monospace, monospace; font-size: 12px; overflow-wrap: anywhere; min-width: 16em; }
    .differs { background: var(--mark); } i { color: light-dark(#5a6067, #9ca4ad); }
    a { color: light-dark(#0a58a8, #74b4fb); }
    </style>

    """
}

/// What a page says of a report.
private struct ReportBody {
  private static let mostRows = 200

  private let report: ReconciliationReport

  init(_ report: ReconciliationReport) { self.report = report }

  var text: String {
    var page = "<p>" + summary + "</p>\n<div class=\"tables\">\n"
    page += table(
      "Verdicts", ["verdict", "events"],
      ReconciliationReport.Verdict.allCases.map { [$0.rawValue, "\(report.all[$0])"] })
    page += table(
      "Reasons", ["verdict", "events", "reason"],
      report.reasons.map { [$0.verdict.rawValue, "\($0.count)", $0.reason] })
    let hasNoise = report.fields.contains { $0.noise != nil }
    page += table(
      "Fields", ["event", "field", "differs in", "pairs"] + (hasNoise ? ReportText.noiseHead : []),
      report.fields.map {
        [$0.name, $0.path, $0.kind.rawValue, "\($0.count)"] + ($0.noise.map(ReportText.noise) ?? [])
      })
    let verdicts = ReconciliationReport.Verdict.allCases
    page += table(
      "Events", ["event"] + verdicts.map(\.rawValue),
      report.byName.sorted { $0.key < $1.key }.map { name, counts in [name] + verdicts.map { "\(counts[$0])" } })
    page += "</div>\n"
    if !report.samples.isEmpty {
      page += "<h2>Examples</h2>\n" + report.samples.map(sample).joined()
    }
    return page
  }

  private var summary: String {
    var parts = ["\(report.here) events in the log", "\(report.there) in the control"]
    if report.unreadable > 0 { parts.append("\(report.unreadable) lines that can't be read") }
    if let time = report.firstDivergence { parts.append("the first divergence at \(time)") }
    parts.append(report.passes ? "within the bands" : "not within the bands: \(report.outside.joined(separator: ", "))")
    return ReportHTML.escaped(parts.joined(separator: " · "))
  }

  private func table(_ title: String, _ head: [String], _ rows: [[String]]) -> String {
    guard !rows.isEmpty else { return "" }
    func row(_ cells: [String], _ element: String) -> String {
      "<tr>"
        + cells.map { cell in
          "<\(element)\(UInt64(cell) == nil ? "" : " class=\"n\"")>\(ReportHTML.escaped(cell))</\(element)>"
        }.joined() + "</tr>\n"
    }
    let left = rows.count - Self.mostRows
    return "<section>\n<h2>\(title)</h2>\n<table>\n" + row(head, "th")
      + rows.prefix(Self.mostRows).map { row($0, "td") }.joined()
      + "</table>\n" + (left > 0 ? "<p>and \(left) more</p>\n" : "") + "</section>\n"
  }

  /// Both sides, field by field.
  private func sample(_ sample: ReconciliationReport.Sample) -> String {
    let title = [sample.verdict.rawValue, sample.name, sample.reason].compactMap(\.self).joined(separator: ", ")
    let (here, there) = (Self.fields(sample.here), Self.fields(sample.there))
    var paths = here.map(\.path)
    let known = Set(paths)
    paths += there.map(\.path).filter { !known.contains($0) }
    let (ours, theirs) = (Self.values(here), Self.values(there))
    let rows = paths.map { path in
      let (own, other) = (ours[path], theirs[path])
      let isMarked = sample.difference.map { $0.path == path || "fields.\($0.path)" == path } ?? false
      return "<tr\(isMarked ? " class=\"differs\"" : "")><th>\(ReportHTML.escaped(path))</th>"
        + "<td>\(own.map(ReportHTML.escaped) ?? "<i>none</i>")</td><td>\(other.map(ReportHTML.escaped) ?? "<i>none</i>")</td></tr>\n"
    }
    return
      "<section>\n<h3>\(ReportHTML.escaped(title))</h3>\n<table class=\"pair\">\n<tr><th></th><th>log</th><th>control</th></tr>\n"
      + rows.joined() + "</table>\n</section>\n"
  }

  private static func fields(_ text: String?) -> [(path: String, value: String)] {
    guard let text else { return [] }
    var found: [(path: String, value: String)] = []
    FieldPaths.forEach(JSONObject.read(text)) { path, value in found.append((path, ReportJSON.text(value))) }
    return found
  }

  private static func values(_ fields: [(path: String, value: String)]) -> [String: String] {
    Dictionary(fields.map { ($0.path, $0.value) }) { $1 }
  }
}

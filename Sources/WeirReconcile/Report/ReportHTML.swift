// ReportHTML: a report as a page of its own, with both sides of a difference next to each other.

package import Weir

/// A report as a page without scripts. Whatever an event contains is text.
package enum ReportHTML {
  /// The page. A browser asks for the page again while a comparison runs.
  package static func page(_ result: Result<ReconciliationReport, WeirError>?, isComparing: Bool) -> String {
    let body =
      switch result {
      case .success(let report): ReportBody(report).text
      case .failure(let error): "<p>\(HTMLPage.escaped(error.message))</p>\n"
      case nil: ""
      }
    return HTMLPage.text("Differences", (isComparing ? "<p>comparing …</p>\n" : "") + body, isReloaded: isComparing)
  }
}

/// What a page says of a report.
private struct ReportBody {
  private let report: ReconciliationReport

  init(_ report: ReconciliationReport) { self.report = report }

  var text: String {
    var page = "<p>" + summary + "</p>\n<div class=\"tables\">\n"
    page += HTMLPage.table(
      "Verdicts", ["verdict", "events"],
      ReconciliationReport.Verdict.allCases.map { [$0.rawValue, "\(report.all[$0])"] })
    page += HTMLPage.table(
      "Reasons", ["verdict", "events", "reason"],
      report.reasons.map { [$0.verdict.rawValue, "\($0.count)", $0.reason] })
    let hasNoise = report.fields.contains { $0.noise != nil }
    page += HTMLPage.table(
      "Fields", ["event", "field", "differs in", "pairs"] + (hasNoise ? ReportText.noiseHead : []),
      report.fields.map {
        [$0.name, $0.path, $0.kind.rawValue, "\($0.count)"] + ($0.noise.map(ReportText.noise) ?? [])
      })
    let verdicts = ReconciliationReport.Verdict.allCases
    page += HTMLPage.table(
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
    return HTMLPage.escaped(parts.joined(separator: " · "))
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
      return "<tr\(isMarked ? " class=\"differs\"" : "")><th>\(HTMLPage.escaped(path))</th>"
        + "<td>\(own.map(HTMLPage.escaped) ?? "<i>none</i>")</td><td>\(other.map(HTMLPage.escaped) ?? "<i>none</i>")</td></tr>\n"
    }
    return
      "<section>\n<h3>\(HTMLPage.escaped(title))</h3>\n<table class=\"pair\">\n<tr><th></th><th>log</th><th>control</th></tr>\n"
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

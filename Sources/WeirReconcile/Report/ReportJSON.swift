// ReportJSON: a report for programs.

import Weir
import WeirJSON

enum ReportJSON {
  static func text(_ value: FieldValue) -> String {
    var bytes: [UInt8] = []
    JSONText.append(value, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The report as one JSON object, with all verdicts as keys.
  static func text(_ report: ReconciliationReport) -> String {
    var members = counts(report.all)
    members += [
      ("here", .uint(report.here)), ("there", .uint(report.there)), ("unreadable", .uint(report.unreadable)),
      ("offsets", .array([.uint(report.offsets.lowerBound), .uint(report.offsets.upperBound)])),
      (
        "times",
        report.times.map { .array([.string("\($0.lowerBound)"), .string("\($0.upperBound)")]) } ?? .null
      ),
      ("outside", .array(report.outside.map { .string($0) })),
      ("first_divergence", report.firstDivergence.map { .string($0.description) } ?? .null),
      (
        "matched_by",
        .object(FieldObject(MatchWay.allCases.map { ($0.rawValue, .uint(report.byWay[$0] ?? 0)) }))
      ),
      (
        "by_name",
        .object(
          FieldObject(report.byName.sorted { $0.key < $1.key }.map { ($0.key, .object(FieldObject(counts($0.value)))) })
        )
      ),
      (
        "fields",
        .array(
          report.fields.map { field in
            .object([
              "name": .string(field.name), "field": .string(field.path), "kind": .string(field.kind.rawValue),
              "count": .uint(field.count), "noise": field.noise.map(noise) ?? .null,
            ])
          })
      ),
      (
        "reasons",
        .array(
          report.reasons.map { reason in
            .object([
              "verdict": .string(reason.verdict.rawValue), "reason": .string(reason.reason),
              "count": .uint(reason.count),
            ])
          })
      ),
      ("samples", .array(report.samples.map(sample))),
    ]
    return text(.object(FieldObject(members)))
  }

  private static func counts(_ counts: ReconciliationReport.Counts) -> [(String, FieldValue)] {
    ReconciliationReport.Verdict.allCases.map { ($0.rawValue, .uint(counts[$0])) }
  }

  private static func noise(_ noise: ShareDifference) -> FieldValue {
    [
      "share": .double(noise.share), "control": .double(noise.noise), "low": .double(noise.interval.lowerBound),
      "high": .double(noise.interval.upperBound), "blamed": .bool(noise.isBlamed),
    ]
  }

  private static func sample(_ sample: ReconciliationReport.Sample) -> FieldValue {
    var members: [(String, FieldValue)] = [
      ("verdict", .string(sample.verdict.rawValue)), ("name", .string(sample.name)),
    ]
    if let reason = sample.reason { members.append(("reason", .string(reason))) }
    if let here = sample.here { members.append(("here", .string(here))) }
    if let there = sample.there { members.append(("there", .string(there))) }
    if let difference = sample.difference {
      var values: [(String, FieldValue)] = [
        ("field", .string(difference.path)), ("kind", .string(difference.kind.rawValue)),
      ]
      if let value = difference.here { values.append(("here", value)) }
      if let value = difference.there { values.append(("there", value)) }
      members.append(("difference", .object(FieldObject(values))))
    }
    return .object(FieldObject(members))
  }
}

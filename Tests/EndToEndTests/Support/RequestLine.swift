// RequestLine.swift: a second reading of the Apache combined log format, by regular expression, that shares no code
// with the tool's own parser. Both must come to the same fields.
import Foundation

enum RequestLine {
  /// What `weir record --format clf` should make of a line: the event's name and fields in one canonical text.
  static func canonical(line: String) throws -> String {
    // The expression is compiled once a call rather than kept: a Regex is not Sendable.
    try canonical(line: line, pattern: pattern())
  }

  static func canonical(lines: [String]) throws -> [String] {
    let compiled = try pattern()
    return try lines.map { try canonical(line: $0, pattern: compiled) }
  }

  private static func pattern() throws -> NSRegularExpression {
    let quoted = #""((?:[^"\\]|\\.)*)""#
    return try NSRegularExpression(
      pattern: #"^(\S+) (\S+) (\S+) \[([^\]]+)\] "(\S+) (\S+) (\S+)" (\d{3}) (\d+|-) \#(quoted) \#(quoted)$"#)
  }

  private static func canonical(line: String, pattern: NSRegularExpression) throws -> String {
    let whole = NSRange(line.startIndex..., in: line)
    guard let match = pattern.firstMatch(in: line, range: whole) else { return "malformed|\(line)" }
    let groups = (1..<match.numberOfRanges).map { group in
      Range(match.range(at: group), in: line).map { String(line[$0]) } ?? ""
    }
    guard let time = seconds(groups[3]) else { return "malformed|\(line)" }
    let absentIfDash = groups.map { $0 == "-" ? "" : $0 }
    return
      ([
        "request", groups[0], absentIfDash[1], absentIfDash[2], "\(time)", groups[4], groups[5], groups[6], groups[7],
        absentIfDash[8], absentIfDash[9], absentIfDash[10],
      ]).joined(separator: "|")
  }

  /// `17/May/2015:10:05:03 +0000` in seconds since 1970.
  private static func seconds(_ text: String) -> Int? {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let parts = text.split { "/: ".contains($0) }.map(String.init)
    guard parts.count == 7, let day = Int(parts[0]), let month = months.firstIndex(of: parts[1]),
      let year = Int(parts[2]), let hour = Int(parts[3]), let minute = Int(parts[4]), let second = Int(parts[5]),
      let zone = Int(parts[6])
    else { return nil }
    // Days since 1970 by counting, which is slow and hard to get wrong.
    var days = 0
    for earlier in 1970..<year { days += isLeap(earlier) ? 366 : 365 }
    let lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    days += lengths[..<month].reduce(0, +) + day - 1
    let offset = (zone / 100 * 60 + zone % 100) * 60
    return ((days * 24 + hour) * 60 + minute) * 60 + second - offset
  }

  private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  /// The same canonical text, made from what `weir cat` printed.
  static func canonical(stored: CatLine) throws -> String {
    if stored.event == "malformed" { return "malformed|\(stored.text ?? "?")" }
    let fields = stored.fields
    func string(_ name: String) -> String {
      switch fields[name] {
      case nil, is NSNull: return ""
      case let text as String: return text
      case let number as NSNumber: return number.stringValue
      case .some(let other): return "unexpected \(other)"
      }
    }
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: false)
    let fraction = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    let time = string("time")
    let date = try (try? style.parse(time)) ?? fraction.parse(time)
    return [
      stored.event, string("host"), string("ident"), string("user"), "\(Int(date.timeIntervalSince1970))",
      string("method"), string("path"), string("protocol"), string("status"), string("bytes"), string("referrer"),
      string("agent"),
    ].joined(separator: "|")
  }

  /// The sample in the project.
  static let samplePath = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Sources/WeirTool/Sample/apache_access.log").path

  static func sampleLines() throws -> [String] {
    let text = try String(contentsOfFile: samplePath, encoding: .utf8)
    return text.split(separator: "\n").map(String.init)
  }
}

// AccessLineParserTests: a line of an access log becomes a request whose fields say all of it, or malformed.

#if Tool
  import Foundation
  import Testing

  @testable import WeirTool

  private func parse(_ line: String) -> AccessEvent { AccessEvent(line: Array(line.utf8).span) }

  private let good =
    #"1.2.3.4 - frank [10/Oct/2000:13:55:36 -0700] "GET /a?b=c HTTP/1.0" 200 2326 "http://x/" "Mozilla""#

  /// A good line with one part replaced by something that is not quite right.
  private let replacements: [(part: String, by: String)] = [
    (" - ", "  "), ("GET /a?b=c HTTP/1.0", "-"), ("GET /a?b=c HTTP/1.0", "GET /a"),
    ("GET /a?b=c HTTP/1.0", "GET /a b HTTP/1.0"), ("GET /a?b=c HTTP/1.0", "GET  HTTP/1.0"),
    ("GET /a?b=c HTTP/1.0", "GET /a "), (" 200 ", " 2000 "), (" 200 ", " 099 "), (" 200 ", " 2x0 "),
    ("2326", "02326"), ("2326", "-1"), ("2326", "+1"), ("2326", "18446744073709551616"), ("10/Oct", "31/Sep"),
    ("Oct", "oct"), ("13:55:36", "24:00:00"), ("13:55:36", "13:55:60"), ("-0700", "_0700"), ("-0700", "-07000"),
    ("Mozilla", #"Mozilla\"#), (#" "Mozilla""#, ""),
  ]

  private let unreadable: [String] =
    ["", "-", " ", "plain text", String(good.dropLast()), good + " ", good + "\r", " " + good]
    + replacements.map { good.replacingOccurrences(of: $0.part, with: $0.by) }

  struct AccessLineParserTests {
    @Test func `every part of a line is a field`() {
      let time = Date(timeIntervalSince1970: 971_211_336)
      #expect(
        parse(good)
          == .request(
            host: "1.2.3.4", ident: nil, user: "frank", time: time, method: "GET", path: "/a?b=c", protocol: "HTTP/1.0",
            status: 200, bytes: 2326, referrer: "http://x/", agent: "Mozilla"))
    }

    @Test func `a hyphen is absent, and empty is empty`() {
      let line = #"h - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 304 - "" "-""#
      let time = Date(timeIntervalSince1970: 1_431_857_103)
      #expect(
        parse(line)
          == .request(
            host: "h", ident: nil, user: nil, time: time, method: "GET", path: "/", protocol: "HTTP/1.1", status: 304,
            bytes: nil, referrer: "", agent: nil))
    }

    @Test func `escapes stay as the server wrote them`() {
      let line = #"h - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "\"\\" "\xe4""#
      guard case .request(_, _, _, _, _, _, _, _, _, let referrer, let agent) = parse(line) else {
        Issue.record("malformed")
        return
      }
      #expect(referrer == #"\"\\"#)
      #expect(agent == #"\xe4"#)
    }

    @Test(arguments: unreadable)
    func `any other line is malformed, with its exact text`(line: String) {
      #expect(parse(line) == .malformed(.text(line)))
    }

    @Test func `the largest number of bytes is read`() {
      let line = good.replacingOccurrences(of: "2326", with: "18446744073709551615")
      guard case .request(_, _, _, _, _, _, _, _, let bytes, _, _) = parse(line) else {
        Issue.record("malformed")
        return
      }
      #expect(bytes == .max)
    }

    @Test func `a line that is not UTF-8 keeps its bytes`() {
      let line = Array(good.utf8) + [0xFF]
      #expect(AccessEvent(line: line.span) == .malformed(.bytes(line)))
    }

    @Test func `every prefix of a line is malformed`() {
      let bytes = Array(good.utf8)
      for count in 0..<bytes.count {
        let prefix = Array(bytes[..<count])
        #expect(AccessEvent(line: prefix.span) == .malformed(LineText(prefix.span)))
      }
    }

    /// The strongest check there is: each line of the sample, written again from its fields, is the line that was read.
    @Test func `the sample can be written again from its fields`() throws {
      let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/WeirTool/Sample/apache_access.log").path
      let text = try String(contentsOfFile: path, encoding: .utf8)
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
      let events = try Sample.events(at: path)
      #expect(lines.count == 10_000)
      #expect(events.map(written) == lines)
      let malformed = events.filter { if case .malformed = $0 { true } else { false } }
      #expect(malformed.count == 1)
    }

    private func written(_ event: AccessEvent) -> String {
      switch event {
      case .malformed(.text(let text)): return text
      case .malformed(.bytes): return "bytes"
      case .request(
        let host, let ident, let user, let time, let method, let path, let version, let status, let bytes,
        let referrer, let agent):
        let request = "\(method) \(path) \(version)"
        let size = bytes.map(String.init) ?? "-"
        return "\(host) \(ident ?? "-") \(user ?? "-") [\(clock(time))] \"\(request)\" \(status) \(size) "
          + "\"\(referrer ?? "-")\" \"\(agent ?? "-")\""
      }
    }

    private func clock(_ time: Date) -> String {
      var seconds = time_t(time.timeIntervalSince1970)
      var parts = tm()
      gmtime_r(&seconds, &parts)
      var text = [CChar](repeating: 0, count: 64)
      let count = strftime(&text, text.count, "%d/%b/%Y:%H:%M:%S +0000", &parts)
      return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }
#endif

// Contract.swift: what scripts may rely on: help, exit codes, the shape of every output, the limits of the directory.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct Contract {
    static let commands = ["record", "cat", "verify", "recover", "stat", "schema", "contract", "demo"]

    @Test func `the help is complete`() throws {
      let whole = try Tool.run("--help")
      #expect(whole.code == 0)
      #expect(whole.errors.isEmpty)
      for command in Self.commands {
        #expect(whole.text.contains(command))
        let outcome = try Tool.run(command, "--help")
        #expect(outcome.code == 0, "\(command)")
        #expect(outcome.text.contains("USAGE: weir \(command)"), "\(command)")
      }
      let options = [
        "record": ["--format", "--threads", "--repeat", "--acknowledge", "--ring-directory", "clf", "lines", "jsonl"],
        "cat": [
          "--format", "--from", "--limit", "--follow", "--context", "--show-sensitive", "jsonl", "csv", "text",
        ],
        "verify": ["--json"], "recover": ["--json"], "stat": ["--json"],
        "schema": ["--format", "diff"],
        "contract": ["--format", "--limit", "--show-sensitive", "check", "diff"],
      ]
      for (command, names) in options {
        let text = try Tool.run(command, "--help").text
        for name in names { #expect(text.contains(name), "weir \(command) --help does not tell of \(name)") }
      }
      let codes = try Self.commands.map { try Tool.run($0, "--help").text }.joined() + whole.text
      #expect(codes.lowercased().contains("exit"), "the exit codes are documented in the help")
      #expect(try Tool.run("--version").code == 0)
    }

    @Test func `a line of cat has exactly the five keys, in their order`() throws {
      let scratch = try Scratch()
      let started = Date()
      try Tool.record(scratch("log"), ["--format", "lines"], sending: Numbered.lines(1...40))
      // A second, for that the clocks agree to the nanosecond is not the point.
      let captured = started.addingTimeInterval(-1)...Date().addingTimeInterval(1)
      for (index, line) in try Tool.cat(scratch("log")).enumerated() {
        let raw = String(decoding: line.raw, as: UTF8.self)
        let id = #""id":"\#(line.id)","time":"\#(line.time)""#
        #expect(raw.hasPrefix(#"{"offset":\#(index),\#(id),"event":"line","fields":{"#), "\(raw.prefix(200))")
        let nanoseconds = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z/
        #expect(line.time.wholeMatch(of: nanoseconds) != nil, "\(line.time) is no time to the nanosecond")
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let time = try style.parse(String(line.time.prefix(23)) + "Z")
        #expect(captured.contains(time), "\(line.time)")
      }
    }

    @Test func `cat prints from the offset and up to the limit that it is told`() throws {
      let scratch = try Scratch()
      try Tool.record(
        scratch("log"), ["--format", "lines", "--segment-bytes", "320K"], sending: Numbered.lines(1...3000))
      let whole = try Tool.cat(scratch("log")).map(\.raw)
      #expect(whole.count == 3000)
      for from in [0, 1, 7, 1499, 2999, 3000, 3001, 1_000_000] {
        for limit in [nil, 0, 1, 10, 5000] as [Int?] {
          let options = ["--from", "\(from)"] + (limit.map { ["--limit", "\($0)"] } ?? [])
          let page = try Tool.cat(scratch("log"), options).map(\.raw)
          #expect(page == Array(whole.dropFirst(from).prefix(limit ?? .max)), "\(options)")
        }
      }
    }

    @Test func `CSV has a header and quotes as RFC 4180 asks`() throws {
      let scratch = try Scratch()
      let texts = ["plain", "comma, comma", "say \"so\"", "", "a\tb", "semi;colon"]
      try Tool.record(
        scratch("log"), ["--format", "lines"], sending: Data((texts.joined(separator: "\n") + "\n").utf8))
      let outcome = try Tool.run("cat", scratch("log"), "--format", "csv")
      let rows = outcome.text.split(whereSeparator: \.isNewline).map { Self.csvFields(String($0)) }
      #expect(rows.first == ["offset", "id", "time", "event", "fields"])
      #expect(rows.count == texts.count + 1)
      for (row, text) in zip(rows.dropFirst(), texts) {
        try #require(row.count == 5)
        #expect(row[3] == "line")
        let fields = try JSONSerialization.jsonObject(with: Data(row[4].utf8)) as? [String: String]
        #expect(fields == ["text": text])
      }
      let text = try Tool.run("cat", scratch("log"), "--format", "text")
      #expect(text.code == 0)
      #expect(text.text.split(separator: "\n").count == texts.count)
    }

    private static func csvFields(_ row: String) -> [String] {
      var fields = [""]
      var isQuoted = false
      var previous: Character?
      for character in row {
        if character == "\"" {
          if !isQuoted, previous == "\"" { fields[fields.count - 1].append("\"") }
          isQuoted.toggle()
        } else if character == ",", !isQuoted {
          fields.append("")
        } else {
          fields[fields.count - 1].append(character)
        }
        previous = character
      }
      return fields
    }

    @Test func `verify, recover and stat speak JSON`() throws {
      let scratch = try Scratch()
      try Tool.record(scratch("log"), ["--format", "lines"], sending: Numbered.lines(1...100))
      func object(_ command: String) throws -> [String: Any] {
        let outcome = try Tool.run(command, scratch("log"), "--json")
        try Tool.require(outcome, code: 0, "weir \(command) --json")
        let parsed = try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any]
        let keys = try #require(parsed, "\(command): \(outcome.text)").keys
        #expect(keys.allSatisfy { $0.wholeMatch(of: /[a-z][a-z0-9_]*/) != nil }, "\(keys)")
        return parsed ?? [:]
      }
      #expect(try object("stat")["events"] as? Int == 100)
      #expect(try object("verify")["events"] as? Int == 100)
      #expect(try object("recover")["events_from_lanes"] as? Int == 0)
      for command in ["verify", "recover", "stat"] { #expect(try !Tool.run(command, scratch("log")).text.isEmpty) }
    }

    @Test func `the keys of JSON are just those that the help names`() throws {
      let scratch = try Scratch()
      try Tool.record(scratch("log"), ["--format", "lines"], sending: Numbered.lines(1...3))
      let expected = [
        "stat": [
          "live", "damaged", "ring_vanished", "segments", "segment_bytes", "total_bytes", "first_offset", "next_offset",
          "events", "lane_events", "accepted", "removed", "notices", "lanes", "lanes_in_use", "lane_bytes", "dropped",
          "first_time", "last_time", "ledger",
        ],
        "recover": [
          "previous_opening", "opening", "segments_scanned", "bytes_scanned", "events_in_segments", "lanes_drained",
          "events_from_lanes", "torn_bytes", "damaged_blocks", "damaged_bytes", "damaged_records", "unkept_bytes",
          "missing_events", "dropped", "sampled", "overwritten", "first_offset", "duration_nanoseconds", "was_clean",
          "ring_replaced", "ring_vanished", "start_damaged", "rebooted", "unknown_tail",
        ],
      ]
      let reasons = [
        "full", "no_lane", "too_large", "closed", "detached", "storage", "invalid", "sampled", "overwritten", "expired",
        "displaced",
      ]
      for (command, keys) in expected {
        let output = try Tool.run(command, scratch("log"), "--json").output
        let object = try #require(try JSONSerialization.jsonObject(with: output) as? [String: Any])
        #expect(Set(object.keys) == Set(keys), "weir \(command)")
        let help = try Tool.run(command, "--help").text
        for key in keys { #expect(help.contains(key), "weir \(command) --help does not tell of \(key)") }
        guard command == "stat" else { continue }
        let dropped = try #require(object["dropped"] as? [String: Int])
        #expect(Set(dropped.keys) == Set(reasons))
        for reason in reasons { #expect(help.contains(reason), "weir stat --help does not tell of \(reason)") }
      }
    }

    @Test func `stat agrees with what is there, before and after a death`() throws {
      let scratch = try Scratch()
      let input = try scratch.file("input", Numbered.lines(1...60_000))
      let arguments = ["record", scratch("log"), "--format", "lines", "--acknowledge", "--threads", "3"]
      let writer = try Child(Tool.path, arguments + ["--segment-bytes", "1M"], input: .file(input))
      try writer.waitUntil { $0.output.count > 30_000 }
      _ = try writer.kill()
      for step in ["dead", "recovered"] {
        let stored = try Tool.cat(scratch("log"))
        let outcome = try Tool.run("stat", scratch("log"), "--json")
        let sums = try #require(try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
        let events = (sums["events"] as? Int ?? -1) + (sums["lane_events"] as? Int ?? 0)
        #expect(events == stored.filter { !$0.isNotice }.count, "\(step): \(sums)")
        #expect(sums["segments"] as? Int == (try Files.segments(in: scratch("log")).count), "\(step): \(sums)")
        if step == "dead" { try Tool.require(Tool.run("recover", scratch("log")), code: 0, "weir recover") }
      }
    }

    @Test func `a new directory takes at most 4 MiB, and only segments have names that start with a digit`() throws {
      let scratch = try Scratch()
      let writer = try Child(Tool.path, ["record", scratch("log"), "--format", "lines", "--acknowledge"], input: .pipe)
      try writer.waitUntil { _ in (try? Files.segments(in: scratch("log")).isEmpty) == false }
      writer.serve(until: Moment.now + 0.5)
      let usage = try Child("du", ["-sk", scratch("log")]).wait().text
      let kilobytes = try #require(Int(usage.prefix { $0.isNumber }))
      #expect(kilobytes <= 4 << 10, "\(kilobytes) KiB before the first event")
      writer.send(Numbered.lines(1...10))
      try writer.waitUntil { $0.output.count >= 21 }
      for name in try Files.names(in: scratch("log")) where name.first?.isNumber == true {
        #expect(name.wholeMatch(of: /\d{20}\.weir(\.active)?/) != nil, "\(name)")
      }
      var status = stat()
      #expect(stat(scratch("log"), &status) == 0)
      #expect(status.st_mode & 0o777 == 0o700)
      for name in try Files.names(in: scratch("log")) {
        guard lstat(scratch("log/\(name)"), &status) == 0 else {
          // The writer may give a file its final name meanwhile.
          #expect(errno == ENOENT, "\(name)")
          continue
        }
        if status.st_mode & S_IFMT == S_IFREG { #expect(status.st_mode & 0o777 == 0o600, "\(name)") }
      }
      writer.finishInput()
      try Tool.require(writer.wait(), code: 0, "weir record")
    }

    @Test func `a recording is repeated, acknowledged and summed up`() throws {
      let scratch = try Scratch()
      let input = try scratch.file("input", "a\nb\nc\n")
      let arguments = ["record", scratch("log"), input, "--format", "lines", "--repeat", "3", "--acknowledge"]
      let outcome = try Tool.run(arguments)
      #expect(outcome.code == 0)
      #expect(outcome.text == (1...9).map { "\($0)\n" }.joined())
      #expect(try Tool.cat(scratch("log")).compactMap(\.text) == ["a", "b", "c", "a", "b", "c", "a", "b", "c"])
      #expect(outcome.errors.contains("9"), "\(outcome.errors)")
      #expect(outcome.errors.contains("dropped"), "\(outcome.errors)")
      #expect(!outcome.errors.contains("\r"), "no progress bar where nobody looks")
      let again = try Tool.run(arguments)
      #expect(again.code == 0)
      let both = try Tool.cat(scratch("log"))
      #expect(both.count == 18)
      #expect(Set(both.map(\.id)).count == 18)
      #expect(Set(both.map(\.opening)).count == 2)
      #expect(zip(both, both.dropFirst()).allSatisfy { $0.offset < $1.offset })
    }

    @Test func `what the bounds remove is in the last line, with the bound, and in stat`() throws {
      let scratch = try Scratch()
      let input = try scratch.file("input", Numbered.lines(1...100_000))
      let small = ["--lane-bytes", "128K", "--segment-bytes", "320K", "--repeat", "5"]
      let bounds = [
        ("displaced", ["--max-bytes", "8M", "--drop-oldest"], " displaced at the byte limit (--max-bytes 8388608)"),
        ("expired", ["--retain-bytes", "1M"], " expired by retention (--retain-bytes 1048576)"),
      ]
      for (reason, options, words) in bounds {
        let outcome = try Tool.run(["record", scratch(reason), input] + small + options)
        #expect(outcome.code == 0, "it was told to: \(outcome.errors)")
        let output = try Tool.run("stat", scratch(reason), "--json").output
        let object = try #require(try JSONSerialization.jsonObject(with: output) as? [String: Any])
        let removed = try #require((object["dropped"] as? [String: Int])?[reason])
        #expect(removed > 0)
        #expect(object["removed"] as? Int == removed)
        let shown = outcome.errors.filter { $0 != "," }
        #expect(shown.contains(" \(removed)\(words)"), "\(removed): \(outcome.errors)")
      }
      let wrong = [
        ("--max-bytes is 0; ", ["--max-bytes", "0"]), ("--max-bytes is 5; ", ["--max-bytes", "5", "--drop-oldest"]),
        ("--retain-bytes must", ["--retain-bytes", "0"]), ("--ring-directory must", ["--ring-directory", ""]),
        ("--lane-bytes is 0; ", ["--lane-bytes", "0"]), ("--drop-oldest needs", ["--drop-oldest"]),
      ]
      for (words, options) in wrong {
        let outcome = try Tool.run(["record", scratch("wrong"), input] + options)
        #expect(outcome.code == 2, "\(options): \(outcome.errors)")
        #expect(outcome.errors.contains(words), "\(options): \(outcome.errors)")
      }
    }

    @Test func `the help has at most 80 columns`() throws {
      for command in [[]] + Self.commands.map({ [$0] }) {
        for line in try Tool.run(command + ["--help"]).text.split(separator: "\n") {
          #expect(line.count <= 80, "weir \(command.first ?? ""): \(line)")
        }
      }
    }

    @Test func `an interrupt ends a recording cleanly`() throws {
      let scratch = try Scratch()
      for (number, code) in [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)] {
        let directory = scratch("log-\(number)")
        let writer = try Child(Tool.path, ["record", directory, "--format", "lines", "--acknowledge"], input: .pipe)
        writer.send(Numbered.lines(1...100))
        try writer.waitUntil { $0.output.count >= 292 }
        writer.signal(number)
        let outcome = try writer.wait()
        #expect(outcome.code == code, "\(outcome.code ?? -1), signal \(outcome.signal ?? 0)")
        #expect(try Tool.cat(directory).count == 100)
        #expect(try Files.segments(in: directory).allSatisfy { $0.hasSuffix(".weir") }, "closed, so sealed")
      }
    }

    @Test func `the demo shows its promise kept`() throws {
      // The demo keeps its log in the temporary directory, for a person to look at.
      let scratch = try Scratch()
      let outcome = try Child(Tool.path, ["demo"], environment: ["TMPDIR": scratch.path]).wait()
      #expect(outcome.code == 0, "\(outcome.text) \(outcome.errors)")
      #expect(outcome.text.contains("weir cat"))
      #expect(outcome.text.contains("weir verify"))
    }
  }
}

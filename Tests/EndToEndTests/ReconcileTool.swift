// ReconcileTool.swift: `weir reconcile` as a script sees it: verdicts, reasons, forms of vendors, exit codes.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct ReconcileTool {
    private struct Log {
      let scratch: Scratch
      /// The lines of `weir cat`.
      let lines: [String]

      var path: String { scratch("log") }
    }

    private func log(_ count: Int) throws -> Log {
      let scratch = try Scratch()
      let lines = (1...count).map {
        #"{"event":"e\#($0 % 3)","fields":{"order":\#($0),"total":\#(Double($0) / 8),"coupon":"SPRING-\#($0)"}}"#
      }
      try Tool.record(
        scratch("log"), ["--format", "jsonl"], sending: Data((lines.joined(separator: "\n") + "\n").utf8))
      let shown = try Tool.run("cat", scratch("log"))
      return Log(scratch: scratch, lines: shown.text.split(separator: "\n").map(String.init))
    }

    private func reconcile(
      _ log: Log, _ control: [String], _ options: [String] = [], code: Int32
    ) throws -> [String: Any] {
      let file = try log.scratch.file("control.jsonl", control.map { $0 + "\n" }.joined())
      let outcome = try Tool.run(["reconcile", log.path, "--against", file, "--json"] + options)
      try Tool.require(outcome, code: code, "weir reconcile")
      return try #require(try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
    }

    @Test func `the same events on both sides are identical, and the exit code is 0`() throws {
      let log = try log(1_000)
      for control in [log.lines, log.lines.reversed()] {
        let report = try reconcile(log, control, code: 0)
        #expect(report["identical"] as? Int == 1_000)
        for verdict in ["differing", "only_here", "only_there", "duplicate_here", "duplicate_there", "unknown"] {
          #expect(report[verdict] as? Int == 0, "\(verdict)")
        }
      }
    }

    @Test func `each verdict is counted, with its reason and an example`() throws {
      let log = try log(100)
      var control = log.lines
      control[50] = control[50].replacing("SPRING-51", with: "SPR")
      control.remove(at: 20)
      control.append(control[10])
      let other = String(repeating: "a", count: 32)
      control.append(#"{"id":"\#(other)","event":"e0","time":"2001-01-01T00:00:00Z","fields":{}}"#)
      let report = try reconcile(log, control, code: 1)
      #expect(report["identical"] as? Int == 98)
      #expect(report["differing"] as? Int == 1)
      #expect(report["only_here"] as? Int == 1)
      #expect(report["only_there"] as? Int == 1)
      #expect(report["duplicate_there"] as? Int == 1)
      #expect(report["unknown"] as? Int == 1)
      let fields = try #require(report["fields"] as? [[String: Any]])
      #expect(fields.map { $0["field"] as? String } == ["coupon"])
      #expect(fields.map { $0["kind"] as? String } == ["truncated"])
      let reasons = try #require(report["reasons"] as? [[String: Any]]).map { $0["reason"] as? String ?? "" }
      #expect(Set(reasons) == ["unknown", "before the log's first event"])
      let samples = try #require(report["samples"] as? [[String: Any]])
      #expect(Set(samples.compactMap { $0["verdict"] as? String }).count == 4)
      let allowed = try reconcile(log, control, ["--band", "e*=0.1"], code: 0)
      #expect(allowed["differing"] as? Int == 1)
    }

    @Test func `vendors' exports match by the id that Weir gave them, or by content`() throws {
      let log = try log(30)
      struct Line: Decodable {
        var id: String
        var time: String
        var event: String
        var fields: Fields

        struct Fields: Decodable {
          var order: Int
          var total: Double
          var coupon: String

          var json: String { #""order":\#(order),"total":\#(total),"coupon":"\#(coupon)""# }
        }
      }
      let events = try log.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
      let forms: [(String, [String])] = [
        (
          "segment",
          events.map {
            #"{"messageId":"\#($0.id)","type":"track","event":"\#($0.event)","timestamp":"\#($0.time)","properties":{\#($0.fields.json)}}"#
          }
        ),
        (
          "mixpanel",
          events.map {
            #"{"event":"\#($0.event)","properties":{"$insert_id":"\#($0.id)","distinct_id":"","mp_lib":"x","time":1700000000,\#($0.fields.json)}}"#
          }
        ),
        (
          "amplitude",
          events.map {
            #"{"event_type":"\#($0.event)","$insert_id":"\#($0.id)","event_time":"2026-11-21 00:00:00.000000","event_properties":{\#($0.fields.json)}}"#
          }
        ),
        (
          "plain",
          events.map { #"{"event":"\#($0.event)","timestamp":"\#($0.time)",\#($0.fields.json)}"# }
        ),
      ]
      for (form, control) in forms {
        for options in [[], ["--form", form]] {
          let report = try reconcile(log, control, options + ["--key", "order", "--ignore", "@user"], code: 0)
          #expect(report["identical"] as? Int == 30, "\(form)")
          let ways = report["matched_by"] as? [String: Int]
          #expect(ways?[form == "plain" ? "content" : "id"] == 30, "\(form)")
        }
      }
    }

    @Test func `bad input is told in one line`() throws {
      let log = try log(3)
      let file = try log.scratch.file("control.jsonl", "not JSON\n{\"no\":\"name\"}\n")
      let report = try reconcile(log, ["not JSON", #"{"no":"name"}"#], code: 1)
      #expect(report["unreadable"] as? Int == 2)
      for (arguments, words) in [
        ([log.scratch("none"), "--against", file], log.scratch("none")),
        ([log.path, "--against", log.scratch("none")], log.scratch("none")),
        ([log.path, "--against", file, "--clean", "a=shout"], "shout"),
        ([log.path, "--against", file, "--band", "a=2"], "--band"),
        ([log.path, "--against", file, "--name", "nobody"], "nobody"),
        ([log.path, "--against", file, "--json", "--markdown"], "--markdown"),
      ] {
        let outcome = try Tool.run(["reconcile"] + arguments)
        #expect(outcome.code == 2, "\(arguments)")
        #expect(outcome.complaints.count == 1, "\(outcome.errors)")
        #expect(outcome.errors.contains(words), "\(outcome.errors)")
      }
    }
  }
}

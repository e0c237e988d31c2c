// DeliverPlan.swift: a plan in the program and in the tool: the same bytes, and nobody delivers others in a program's
// name.
import Foundation
import Testing
import Weir
import WeirDelivery
import WeirHTTP

#if HTTP
  extension EndToEnd {
    @Suite struct DeliverPlan {
      /// The number of events that is asked for: `WEIR_PLAN_EVENTS=100000`.
      private static let asked = ProcessInfo.processInfo.environment["WEIR_PLAN_EVENTS"].flatMap(Int.init)

      /// Eight vendors' forms and files, each at its own path of one server, with steps that change every event.
      private static func plan(_ port: Int, _ place: String) -> String {
        let presets = ["jsonl", "segment", "mixpanel", "amplitude", "posthog", "ga4", "clickhouse", "otlp"]
        let urls = presets.map { preset in
          let project = preset == "ga4" ? #""project": "G-SHOP", "# : ""
          let url = "http://127.0.0.1:\(port)/\(place)/\(preset)"
          return #""\#(preset)": {"to": "\#(url)", "preset": "\#(preset)", \#(project)"gzip": false}"#
        }
        return """
          {"attempt_timeout": "1h", "flush": {"maximum_events": 50},
           "contract": {"contract": "shop", "version": "1", "events": {"order.Paid": {"open": true, "fields":
             {"currency": {"type": "string", "mandatory": true, "default": "EUR"}}}}},
           "mapper": [
             {"deriving": {"fields": {"average": {"ratio": ["total", "items"]}, "who": {"copy": "context.user.id"}}}},
             {"adding": {"fields": {"channel": "web"}}}, {"without": {"events": ["debug.*"]}}, "snake_case"],
           "providers": {"files": {"to": "\(place)"}, \(urls.joined(separator: ", "))}}
          """
      }

      private struct Recorder {
        let child: Child
        let port: Int

        /// A server that takes everything, and writes each body into a file named after the path.
        init(_ directory: String) throws {
          let code = """
            import http.server, os, sys, threading
            lock = threading.Lock()
            class Handler(http.server.BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"
                def do_POST(self):
                    body = self.rfile.read(int(self.headers["content-length"]))
                    name = "-".join(self.path.split("?")[0].strip("/").split("/")[:2])
                    with lock, open(os.path.join(sys.argv[1], name), "ab") as file: file.write(body + b"\\n")
                    answer = b"" if "clickhouse" in name else b'{"status":1}'
                    self.send_response(200)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                def log_message(self, *arguments): pass
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            print(server.server_address[1], flush=True)
            server.serve_forever()
            """
          child = try Child("/usr/bin/env", ["python3", "-c", code, directory])
          try child.waitUntil { $0.output.contains(UInt8(ascii: "\n")) }
          port = try #require(Int(String(decoding: child.output, as: UTF8.self).trimmingCharacters(in: .newlines)))
        }
      }

      @Test func `the tool sends what the program sends, byte for byte`() async throws {
        let scratch = try Scratch()
        for folder in ["bodies", "files"] {
          try FileManager.default.createDirectory(atPath: scratch(folder), withIntermediateDirectories: false)
        }
        let recorder = try Recorder(scratch("bodies"))
        defer { _ = try? recorder.child.kill() }
        let tracker = try Tracker(directory: scratch("log"))
        let count = Self.asked ?? 200
        for number in 0..<count {
          Bindings.with(user: "user-\(number % 7)", traits: ["plan": "pro"]) {
            tracker.track("order.Paid", fields: ["totalAmount": 10, "total": .int(Int64(number)), "items": 4])
            if number % 10 == 0 { tracker.track("debug.Trace", fields: ["n": .int(Int64(number))]) }
          }
        }
        try tracker.close()
        try Files.copy(scratch("log"), to: scratch("copy"))

        let own = try DeliveryPlan(
          json: Data(Self.plan(recorder.port, "program").utf8), directory: scratch("files"))
        let dispatcher = try Dispatcher(directory: scratch("log"))
        try dispatcher.add(own) { try HTTPProvider($0) }
        let run = Task { try await dispatcher.run(budget: .seconds(900)) }
        let report = await dispatcher.flush(timeout: .seconds(900))
        #expect(report.isComplete, "\(report)")
        run.cancel()
        _ = try await run.value

        try Data(Self.plan(recorder.port, "tool").utf8).write(to: URL(fileURLWithPath: scratch("files/plan.json")))
        let outcome = try Tool.run("deliver", scratch("copy"), "--plan", scratch("files/plan.json"))
        try Tool.require(outcome, code: 0, "weir deliver --plan")
        let presets = ["jsonl", "segment", "mixpanel", "amplitude", "posthog", "ga4", "clickhouse", "otlp"]
        for preset in presets {
          // The time of the sending differs, and is nothing of the events.
          let bodies = try ["program", "tool"].map { place in
            let body = String(decoding: try Files.read(scratch("bodies/\(place)-\(preset)")), as: UTF8.self)
            return preset == "segment" ? body.replacing(#/"sentAt":"[^"]*"/#, with: "") : body
          }
          let (mine, its) = (bodies[0], bodies[1])
          #expect(mine.utf8.count > 50 * count, "\(preset)")
          #expect(mine == its, "\(preset)")
        }
        let files = try ["program", "tool"].map { place in
          try Files.names(in: scratch("files/\(place)")).filter { $0.contains(".jsonl") }.sorted()
            .map { try Files.read(scratch("files/\(place)/\($0)")) }
        }
        #expect(files[0] == files[1])
        let text = String(decoding: files[0].flatMap { $0 }, as: UTF8.self)
        #expect(text.components(separatedBy: "\"currency\":\"EUR\"").count == count + 1)
        #expect(!text.contains("debug"))
      }

      /// The program delivers half of the log and ends, and the tool delivers the rest: whoever tells a vendor of a
      /// user, it is told once for each change, before the first event after the change.
      @Test func `users are told once for each change, by the program or after it by the tool`() async throws {
        let scratch = try Scratch()
        try FileManager.default.createDirectory(atPath: scratch("bodies"), withIntermediateDirectories: false)
        let recorder = try Recorder(scratch("bodies"))
        defer { _ = try? recorder.child.kill() }
        let count = Self.asked ?? 2_000
        let users = max(count / 100, 1)
        func capture(_ numbers: Range<Int>) throws {
          let tracker = try Tracker(directory: scratch("log"))
          for number in numbers {
            Bindings.with(user: "user-\(number % users)", traits: ["plan": number < count / 2 ? "free" : "pro"]) {
              tracker.track("order.Paid", fields: ["n": .int(Int64(number))])
            }
          }
          try tracker.close()
        }
        // In the middle of the second half's first events, which are changes.
        let handover = count / 2 + users / 2
        try capture(0..<handover)
        let presets = ["segment", "mixpanel", "amplitude", "posthog"]
        let entries = presets.map { preset in
          let key = #""preset": "\#(preset)", "gzip": false, "key_file": "\#(scratch("key"))""#
          return #""\#(preset)": {"to": "http://127.0.0.1:\#(recorder.port)/\#(preset)/events", \#(key)}"#
        }
        let text = """
          {"attempt_timeout": "1h", "flush": {"maximum_events": 100},
           "providers": {\(entries.joined(separator: ","))}}
          """
        try Data("key".utf8).write(to: URL(fileURLWithPath: scratch("key")))
        try Data(text.utf8).write(to: URL(fileURLWithPath: scratch("plan.json")))

        let plan = try DeliveryPlan(contentsOf: scratch("plan.json"))
        let dispatcher = try Dispatcher(directory: scratch("log"))
        try dispatcher.add(plan) { try HTTPProvider($0) }
        let run = Task { try await dispatcher.run(budget: .seconds(900)) }
        let report = await dispatcher.flush(timeout: .seconds(900))
        #expect(report.isComplete, "\(report)")
        run.cancel()
        _ = try await run.value

        try capture(handover..<count)
        try Tool.require(
          Tool.run("deliver", scratch("log"), "--plan", scratch("plan.json")), code: 0, "weir deliver --plan")
        for preset in presets {
          let told = try Self.story(preset, in: scratch("bodies"))
          var expected: [String] = []
          for number in 0..<count {
            let isChange = number % (count / 2) < users
            if isChange, preset != "mixpanel" {
              expected.append("user-\(number % users) \(number < count / 2 ? "free" : "pro")")
            }
            expected.append("\(number) user-\(number % users)")
          }
          #expect(told == expected, "\(preset)")
        }
        let profiles = try Self.bodies(scratch("bodies/engage")).flatMap { $0 as? [[String: Any]] ?? [] }
        var plans: [String: [String]] = [:]
        for profile in profiles {
          let plan = (profile["$set"] as? [String: Any])?["plan"] as? String
          plans[profile["$distinct_id"] as? String ?? "", default: []].append(plan ?? "")
        }
        #expect(plans.count == users)
        #expect(plans.values.allSatisfy { $0 == ["free", "pro"] })
      }

      private static func bodies(_ path: String) throws -> [Any] {
        try Files.read(path).split(separator: UInt8(ascii: "\n")).map {
          try JSONSerialization.jsonObject(with: Data($0))
        }
      }

      /// What a vendor was sent, in order: `user plan` for what is known about a user, and `number user` for an event.
      private static func story(_ preset: String, in directory: String) throws -> [String] {
        let elements = try bodies("\(directory)/\(preset)-events").flatMap { body -> [[String: Any]] in
          if let list = body as? [[String: Any]] { return list }
          let object = body as? [String: Any]
          return (object?["batch"] ?? object?["events"]) as? [[String: Any]] ?? []
        }
        return elements.map { element in
          let properties = (element["properties"] ?? element["event_properties"]) as? [String: Any]
          let user =
            element["userId"] ?? element["user_id"] ?? element["distinct_id"] ?? properties?["distinct_id"] ?? "-"
          let changed = element["traits"] ?? element["user_properties"] ?? element["properties"]
          let traits = (changed as? [String: Any]).map { $0["$set"] as? [String: Any] ?? $0 }
          if let plan = traits?["plan"] { return "\(user) \(plan)" }
          return "\(properties?["n"] ?? "?") \(user)"
        }
      }

      @Test func `in a program's name the tool delivers only what the program would, or when it is told to`() throws {
        let scratch = try Scratch()
        let tracker = try Tracker(directory: scratch("log"))
        tracker.track("a.Happened", fields: ["b": 1])
        do {
          let dispatcher = try Dispatcher(tracker)
          try dispatcher.add(
            DeliveryPlan([
              .init("plain", to: .init(scratch("plain")), mapper: .snakeCase()),
              .init("closed", to: .init(scratch("closed")), mapper: .adding("c") { _ in 1 }),
            ]))
        }
        try tracker.close()
        try Data(#"{"mapper": ["snake_case"], "providers": {"plain": {"to": "out"}, "closed": {"to": "out"}}}"#.utf8)
          .write(to: URL(fileURLWithPath: scratch("plan.json")))
        func deliver(_ arguments: String...) throws -> Outcome {
          try Tool.run(["deliver", scratch("log")] + arguments)
        }

        let bare = try deliver("--to", scratch("out"), "--name", "plain")
        #expect(bare.code == 2, "\(bare.errors)")
        #expect(bare.errors.contains("--anyway") && bare.errors.contains("snake_case"), "\(bare.errors)")
        try Tool.require(deliver("--plan", scratch("plan.json"), "--name", "plain"), code: 0, "the same plan")
        let closed = try deliver("--plan", scratch("plan.json"), "--name", "closed")
        #expect(closed.code == 2, "\(closed.errors)")
        #expect(closed.errors.contains("adding(c, _:)"), "\(closed.errors)")
        let both = try deliver("--plan", scratch("plan.json"))
        #expect(both.code == 2, "\(both.errors)")
        try Tool.require(deliver("--plan", scratch("plan.json"), "--anyway"), code: 0, "--anyway")
        let other = try deliver("--to", scratch("other"), "--name", "other")
        try Tool.require(other, code: 0, "another name")
      }

      @Test func `after a plan the tool does not deliver more by a forgotten option`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...3))
        try Data(#"{"mapper": [{"without": {"fields": ["text"]}}], "providers": {"out": {"to": "out"}}}"#.utf8)
          .write(to: URL(fileURLWithPath: scratch("plan.json")))
        func deliver(_ arguments: String...) throws -> Outcome {
          try Tool.run(["deliver", scratch("log")] + arguments)
        }
        try Tool.require(deliver("--plan", scratch("plan.json")), code: 0, "the plan")
        try Tool.require(deliver("--plan", scratch("plan.json")), code: 0, "the same plan")
        let bare = try deliver("--to", scratch("out"), "--name", "out")
        #expect(bare.code == 2, "\(bare.errors)")
        #expect(bare.errors.contains("--anyway") && bare.errors.contains("without"), "\(bare.errors)")
        try Tool.require(deliver("--to", scratch("out"), "--name", "out", "--anyway"), code: 0, "--anyway")
        try Tool.require(deliver("--to", scratch("out"), "--name", "out"), code: 0, "what --anyway decided stays")
      }

      @Test func `a plan is checked and shown`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...3))
        let path = scratch("plan.json")
        func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
        try write("{\n\"providers\": {\"a\": {\"too\": 1},\n\"b\": {\"mapper\": [\"snakes\"]}}}")
        let wrong = try Tool.run("plan", "check", path)
        #expect(wrong.code == 2)
        #expect(wrong.errors.contains("line 2") && wrong.errors.contains("line 3"), "\(wrong.errors)")
        try write(
          #"""
          {"providers": {
            "a": {"to": "http://localhost:1", "preset": "segment", "key_env": "NOT_SET", "mapper": ["title_case"]},
            "b": {"to": "out"}, "c": {"mapper": [{"without": {"events": ["line"]}}]}}}
          """#)
        let checked = try Tool.run("plan", "check", path)
        try Tool.require(checked, code: 0, "weir plan check")
        try write(checked.text)
        let again = try Tool.run("plan", "check", path)
        #expect(again.text == checked.text)
        let offset = try #require(try Tool.cat(scratch("log")).first?.offset)
        let shown = try Tool.run("plan", "show", path, scratch("log"), "\(offset)")
        try Tool.require(shown, code: 0, "weir plan show")
        let lines = try shown.text.split(separator: "\n").map {
          try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        try #require(lines.count == 3)
        #expect((lines[0]["gets"] as? [String: Any])?["event"] as? String == "Line")
        #expect((lines[1]["gets"] as? [String: Any])?["name"] as? String == "line")
        #expect(lines[2]["withheld"] as? Bool == true)
        #expect(try Tool.run("plan", "show", path, scratch("log"), "\(offset)", "--name", "x").code == 2)
      }

      @Test func `a plan that no delivery could use is refused by the check, with the provider`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...3))
        let key = #""key_env": "NOT_SET", "cacert": "/none.pem""#
        let plans: [(String, String)] = [
          (
            #""a": {"to": "http://localhost:1", "preset": "ga4", \#(key)}"#,
            "providers.a: the preset ga4 needs a project"
          ),
          (#""b": {"to": "http://localhost:1", "preset": "mixpanel", "user": "u", \#(key)}"#, "providers.b: "),
          ("", "has no providers"),
        ]
        for (providers, words) in plans {
          let path = try scratch.file("plan.json", #"{"providers": {\#(providers)}}"#)
          for command in [["plan", "check", path], ["plan", "show", path, scratch("log"), "0"]] {
            let outcome = try Tool.run(command)
            #expect(outcome.code == 2, "\(command)")
            #expect(outcome.errors.contains(words), "\(outcome.errors)")
          }
          #expect(try Tool.run("deliver", scratch("log"), "--plan", path).code == 2)
        }
        let good = try scratch.file(
          "plan.json",
          #"{"providers": {"a": {"to": "https://h", "preset": "ga4", "project": "G-A1", \#(key)}}}"#)
        try Tool.require(Tool.run("plan", "check", good), code: 0, "keys and certificates are not read")
      }

      @Test func `a sample is shown as it is delivered, although the pseudonyms are not known`() throws {
        let scratch = try Scratch()
        let tracker = try Tracker(directory: scratch("log"))
        for number in 0..<12 { Bindings.with(user: "user-\(number)") { _ = tracker.track("a.Happened") } }
        try tracker.close()
        func shown(_ more: String) throws -> [Bool] {
          let path = try scratch.file(
            "plan.json",
            """
            {"mapper": [{"sampling": {"events": ["*"], "fraction": 0.5}}],
             "providers": {"a": {"to": "http://localhost:1"\(more)}}}
            """)
          return try Tool.cat(scratch("log")).map { event in
            let outcome = try Tool.run("plan", "show", path, scratch("log"), "\(event.offset)")
            try Tool.require(outcome, code: 0, "weir plan show")
            return outcome.text.contains("withheld")
          }
        }
        let plain = try shown("")
        #expect(Set(plain).count == 2)
        #expect(try shown(#", "pseudonym_key_env": "NOT_SET""#) == plain)
      }

      @Test func `an address beside a plan gets the events in the plan's form, and nobody else gets any`() throws {
        let scratch = try Scratch()
        try FileManager.default.createDirectory(atPath: scratch("bodies"), withIntermediateDirectories: false)
        let recorder = try Recorder(scratch("bodies"))
        defer { _ = try? recorder.child.kill() }
        try Tool.record(scratch("log"), sending: Numbered.lines(1...3))
        let other = "http://127.0.0.1:\(recorder.port)"
        let path = try scratch.file(
          "plan.json",
          """
          {"providers": {"seg": {
            "to": "http://localhost:1", "preset": "segment", "key_env": "NOT_SET", "failover": "\(other)/second"}}}
          """)
        let key = try scratch.file("key", "k")
        let dead = try Tool.run(
          "deliver", scratch("log"), "--plan", path, "--name", "seg", "--to", "http://127.0.0.1:1", "--key-file", key,
          "--budget", "2s")
        #expect(dead.code == 5, "\(dead.errors)")
        #expect(try Files.names(in: scratch("bodies")) == [])
        let moved = try Tool.run(
          "deliver", scratch("log"), "--plan", path, "--name", "seg", "--to", other, "--key-file", key)
        try Tool.require(moved, code: 0, "another address")
        #expect(try Files.names(in: scratch("bodies")) == ["v1-batch"])
      }
    }
  }
#endif

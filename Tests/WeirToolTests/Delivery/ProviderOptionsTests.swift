// ProviderAddressTests: what --to, --name, --from and the options for keys are taken for, and what is refused.

#if Tool
  import ArgumentParser
  import Foundation
  import Glibc
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirTool

  struct ProviderAddressTests {
    @Test(arguments: ["http://localhost:8080/v1/batch", "https://api.example.com", "HTTP://127.0.0.1/"])
    func `a URL is an endpoint`(text: String) throws {
      #expect(try ProviderAddress(text) == .endpoint(text))
    }

    @Test(arguments: [
      "out", "/var/lib/out", "./a b", "http", "./localhost:4100", "x/localhost:80", "a:b", ":80", "a:123456",
    ])
    func `a path is a place for files`(text: String) throws {
      #expect(try ProviderAddress(text) == .files(text))
    }

    @Test(arguments: ["", "ftp://host/x", "http://", "https:///path", "file:///tmp/x", "http://[::1"])
    func `a text that is neither URL nor path is refused`(text: String) {
      #expect(throws: ToolError.self) { try ProviderAddress(text) }
    }

    /// As a path each would take events into a directory of that name, and all would count as delivered.
    @Test(arguments: [
      ("localhost:4100", "http://localhost:4100"), ("127.0.0.1:80/v1/batch", "http://127.0.0.1:80/v1/batch"),
      ("api.example.com:443", "http://api.example.com:443"), ("http:/x", "http://x"), ("https:", "https://"),
      ("HTTP:/x/y", "HTTP://x/y"),
    ])
    func `an address that is not written out is refused`(text: String, url: String) throws {
      let error = try #require(throws: ToolError.self) { try ProviderAddress(text) }
      #expect(error.message.contains("write \(url) for a URL"), "\(error.message)")
      #expect(error.message.contains("./\(text)"), "\(error.message)")
    }

    /// Whoever sees the error, in a log for one, must not see the key.
    @Test func `a key in the address is refused, and not repeated`() {
      for text in ["https://user:sEcReT@host/x", "https://sEcReT@host/x", "ftp://sEcReT@host/x?key=sEcReT"] {
        let error = #expect(throws: ToolError.self) { try ProviderAddress(text) }
        #expect(error?.message.contains("sEcReT") == false)
      }
      #expect((try? ProviderAddress("https://host/x?key=sEcReT"))?.shown == "https://host/x")
    }

    @Test func `names tell providers apart`() throws {
      let texts = ["http://host/a", "http://host/b", "http://host:81/a", "out", "x/out", "https://host/a"]
      let names = try texts.map { try ProviderAddress($0).name(.json) }
      #expect(Set(names).count == texts.count)
      #expect(try ProviderAddress("http://host/a").name(.segment) != names[0])
      #expect(try ProviderAddress("http://host/a").name(.json) == names[0])
      let options = try names.map { try ProviderOptions.parse(["--to", "x", "--name", $0]) }
      #expect(options.map(\.names) == names.map { [$0] })
    }

    @Test func `the same path is the same name however it is written`() throws {
      let here = FileManager.default.currentDirectoryPath
      #expect(try ProviderAddress("out").name(.json) == ProviderAddress("\(here)/./out/").name(.json))
    }

    /// The key may change; what was delivered stays delivered.
    @Test func `a query is no part of the name`() throws {
      let names = try ["1", "2"].map { try ProviderAddress("http://host/a?key=\($0)").name(.json) }
      #expect(names[0] == names[1])
    }
  }

  struct ProviderOptionsTests {
    @Test func `several providers have their names`() throws {
      let options = try ProviderOptions.parse([
        "--to", "out", "--name", "a", "--to", "http://host/x", "--name", "b-2_C",
      ])
      let named = try options.addresses()
      #expect(named.map(\.name) == ["a", "b-2_C"])
      #expect(named.map(\.address) == [.files("out"), .endpoint("http://host/x")])
    }

    @Test(arguments: [
      ["--to", "a", "--name", "x.y"], ["--to", "a", "--name", ""], ["--to", "a", "--name", "é"],
      ["--to", "a", "--name", "x", "--name", "y"], ["--to", "a", "--to", "b", "--name", "x"],
      ["--to", "a", "--to", "b", "--name", "x", "--name", "x"],
      ["--to", "a", "--name", String(repeating: "x", count: 65)],
      ["--to", "a", "--name", "[x"], ["--to", "a", "--name", "a/b"],
      ["--to", "a", "--key-file", "k", "--key-env", "K"],
      ["--to", "a", "--preset", "none"],
    ])
    func `options that do not go together are refused`(arguments: [String]) {
      #expect(throws: (any Error).self) { try ProviderOptions.parse(arguments) }
    }

    /// A cursor tells what one provider has: another table has none of it.
    @Test func `the name has what tells providers of one address apart`() throws {
      func name(_ more: String...) throws -> String {
        try ProviderOptions.parse(["--to", "http://host"] + more).addresses()[0].name
      }
      let names = [
        try name(), try name("--table", "b"), try name("--project", "b"), try name("--user", "b"),
        try name("--table", "c"), try name("--preset", "clickhouse"),
        try name("--preset", "clickhouse", "--table", "b"),
      ]
      #expect(Set(names).count == names.count, "\(names)")
      #expect(try name("--table", "events") == names[0])
      #expect(try name("--preset", "json") == names[0])
      #expect(names[0] == ProviderAddress.endpoint("http://host").name(.json))
    }

    /// It may be another provider, or have another key.
    @Test func `an address with a query wants a name`() throws {
      let to = ["--to", "http://host/a?key=sEcReT"]
      let error = try #require(throws: ToolError.self) { try ProviderOptions.parse(to).addresses() }
      #expect(error.message.contains("--name"))
      #expect(!error.message.contains("sEcReT"))
      #expect(try ProviderOptions.parse(to + ["--name", "n"]).addresses().map(\.name) == ["n"])
      #expect(throws: Never.self) { try ProviderOptions.parse(["--to", "http://host/a#b?c"]).addresses() }
    }

    @Test(arguments: [
      ["--preset", "segment"], ["--key-file", "k"], ["--key-env", "K"], ["--user", "u"], ["--project", "p"],
      ["--table", "t"], ["--gzip"], ["--failover", "http://other"], ["--concurrency", "2"],
    ])
    func `options of URLs are refused for paths`(arguments: [String]) throws {
      let error = try #require(throws: ToolError.self) {
        try ProviderOptions.parse(["--to", "out"] + arguments).addresses()
      }
      #expect(error.message.hasPrefix(arguments[0]), "\(error.message)")
      #expect(throws: Never.self) {
        try ProviderOptions.parse(["--to", "out", "--to", "http://host"] + arguments).addresses()
      }
      #expect(throws: Never.self) { try ProviderOptions.parse(Array(arguments.prefix(0))).addresses() }
    }

    @Test func `a failover is the second URL of one provider`() throws {
      let options = try ProviderOptions.parse(["--to", "http://host", "--failover", "http://other"])
      #expect(try options.deliveryPlan().entries.map { $0.destination?.failover } == ["http://other"])
      for arguments in [
        ["--to", "http://a", "--to", "http://b", "--failover", "http://c"], ["--to", "http://a", "--failover", "out"],
        ["--to", "http://a", "--failover", "other:80"], ["--to", "http://a", "--failover", "http://sEcReT@c"],
      ] {
        let error = try #require(throws: ToolError.self) { try ProviderOptions.parse(arguments).addresses() }
        #expect(error.message.contains("--failover"), "\(error.message)")
        #expect(!error.message.contains("sEcReT"))
      }
    }

    @Test(arguments: [["--cacert", "f"], ["--cert", "f"], ["--cert", "f", "--cert-key", "k"]])
    func `options of TLS are refused without it`(arguments: [String]) throws {
      for to in ["out", "http://host"] {
        let error = try #require(throws: ToolError.self) {
          try ProviderOptions.parse(["--to", to] + arguments).addresses()
        }
        #expect(error.message.hasPrefix("\(arguments[0]) needs"))
        #expect(error.message.contains("https://"))
      }
      #expect(throws: Never.self) {
        try ProviderOptions.parse(["--to", "out", "--to", "HTTPS://host"] + arguments).addresses()
      }
      #expect(throws: (any Error).self) { try ProviderOptions.parse(["--to", "https://host", "--cert-key", "k"]) }
    }

    @Test func `a table needs a name`() throws {
      #expect(throws: ToolError.self) {
        try ProviderOptions.parse(["--to", "http://host", "--table", ""]).addresses()
      }
    }

    @Test func `a mistyped --to is told as such, not as missing`() throws {
      let deliver = try #require(throws: (any Error).self) { try DeliverCommand.parse(["log", "--tooo", "out"]) }
      let redrive = try #require(throws: (any Error).self) { try RedriveCommand.parse(["log", "a", "--tooo", "out"]) }
      for text in [DeliverCommand.message(for: deliver), RedriveCommand.message(for: redrive)] {
        #expect(text.hasPrefix("Unknown option '--tooo'"), "\(text)")
      }
      let missing = try #require(throws: (any Error).self) { try DeliverCommand.parse(["log"]).run() }
      #expect(DeliverCommand.message(for: missing).hasPrefix("--to is missing"))
    }

    @Test func `one provider twice is refused`() throws {
      let options = try ProviderOptions.parse(["--to", "out", "--to", "./out"])
      #expect(throws: ToolError.self) { try options.addresses() }
    }
  }

  /// `--plan`, and what goes with it.
  struct PlanOptionTests {
    private func plan(_ arguments: String...) throws -> DeliveryPlan { try plan(arguments) }

    private func plan(_ arguments: [String], of given: String? = nil) throws -> DeliveryPlan {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("weir-plan-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.path + "/plan.json"
      let text = #"""
        {"mapper": ["snake_case"], "providers": {
          "a": {"to": "/out", "lz4": true}, "b": {},
          "seg": {
            "to": "https://vendor/x", "preset": "mixpanel", "key_env": "K", "user": "u", "project": "p", "table": "t",
            "failover": "http://127.0.0.1:4714", "statuses": {"404": "retry"}, "groups": ["g"], "gzip": false,
            "pseudonym_key_env": "P", "cacert": "/ca", "cert": "/c", "cert_key": "/k"}}}
        """#
      try Data((given ?? text).utf8).write(to: URL(fileURLWithPath: path))
      return try ProviderOptions.parse(["--plan", path] + arguments).deliveryPlan()
    }

    @Test func `names select, and an address belongs to a name`() throws {
      #expect(try plan("--name", "a").entries.map(\.name) == ["a"])
      #expect(try plan("--name", "a")["a"]?.destination?.lz4 == true)
      let moved = try plan("--name", "b", "--to", "http://localhost:1", "--preset", "segment", "--key-env", "K")
      #expect(moved.entries.map(\.name) == ["b"])
      #expect(moved["b"]?.destination?.preset == .segment)
      #expect(moved["b"]?.destination?.key == .environment("K"))
      #expect(RecordedPlan(moved.entries[0]) == RecordedPlan(.init("b", mapper: .snakeCase())))
    }

    @Test func `another address takes the place of the plan's, and of nothing else`() throws {
      var expected = try #require(try plan("--name", "seg")["seg"]?.destination)
      #expect(expected.failover != nil)
      // The failover's address is one like any other, because nobody fails over.
      expected.to = "http://127.0.0.1:4714/"
      expected.failover = nil
      let to = ["--name", "seg", "--to", expected.to]
      func moved(_ more: String...) throws -> DeliveryPlan.Destination? {
        let moved = try plan(to + more)
        #expect(moved.entries.map(\.name) == ["seg"])
        #expect(RecordedPlan(moved.entries[0]) == RecordedPlan(.init("seg", mapper: .snakeCase())))
        return moved["seg"]?.destination
      }
      #expect(try moved() == expected)
      expected.key = .file("k")
      #expect(try moved("--key-file", "k") == expected)
      (expected.project, expected.failover) = ("q", "http://other")
      #expect(try moved("--key-file", "k", "--project", "q", "--failover", "http://other") == expected)
      (expected.preset, expected.gzip, expected.user, expected.table) = (.ga4, true, "v", "s")
      expected.concurrency = 4
      #expect(
        try moved(
          "--key-file", "k", "--project", "q", "--failover", "http://other", "--preset", "ga4", "--gzip", "--user", "v",
          "--table", "s", "--concurrency", "4") == expected)
      var files = DeliveryPlan.Destination("other")
      files.lz4 = true
      #expect(try plan("--name", "a", "--to", "other")["a"]?.destination == files)
    }

    @Test func `an address of another kind is refused, with what to give`() throws {
      let path = try #require(throws: ToolError.self) { try plan("--name", "seg", "--to", "out") }
      #expect(path.message.contains("seg has a URL, and --to out is a path; give a URL with --to"), "\(path.message)")
      let url = try #require(throws: ToolError.self) { try plan("--name", "a", "--to", "http://host?k=sEcReT") }
      #expect(url.message.contains("a has a path, and --to http://host is a URL; give a path"), "\(url.message)")
    }

    @Test func `a plan without providers is refused`() throws {
      for more in [[], ["--name", "a"], ["--name", "a", "--to", "out"]] {
        let error = try #require(throws: ToolError.self) { try plan(more, of: #"{"providers": {}}"#) }
        #expect(error.message.contains("plan.json has no providers"), "\(error.message)")
      }
    }

    @Test func `what does not go together is refused`() throws {
      #expect(throws: ToolError.self) { try plan() }
      #expect(throws: ToolError.self) { try plan("--name", "c") }
      #expect(throws: (any Error).self) { try plan("--to", "out") }
      #expect(throws: (any Error).self) { try plan("--name", "a", "--lz4") }
      #expect(throws: (any Error).self) { try plan("--name", "a", "--preset", "json") }
      #expect(throws: ToolError.self) { try ProviderOptions.parse(["--plan", "/none.json"]).deliveryPlan() }
    }
  }

  struct StartArgumentTests {
    @Test func `a start is read from its words`() throws {
      #expect(try StartArgument(parsing: "beginning").position == .beginning)
      #expect(try StartArgument(parsing: "end").position == .end)
      let second = Timestamp(nanosecondsSince1970: 1_000_000_000)
      #expect(try StartArgument(parsing: "1970-01-01T00:00:01Z").position == .time(second))
      #expect(throws: ValidationError.self) { try StartArgument(parsing: "middle") }
    }

    @Test(arguments: [
      (["--from", "wrong"], "give beginning, end, offset:N, or a time"), (["--budget", "5"], "such as 90s"),
      (["--budget", "0s"], "such as 90s"), (["--budget", "s"], "such as 90s"),
    ])
    func `a wrong start is answered with what is right`(_ arguments: [String], _ words: String) throws {
      let error = try #require(throws: (any Error).self) {
        try DeliverCommand.parse(["log", "--to", "out"] + arguments)
      }
      #expect(DeliverCommand.message(for: error).contains(words), "\(DeliverCommand.message(for: error))")
    }

    @Test func `the help says nothing in Swift`() {
      func words(_ help: String) -> String { help.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
      let helps = [DeliverCommand.helpMessage(), RecordCommand.helpMessage(), RedriveCommand.helpMessage()].map(words)
      #expect(helps[0].contains("2026-11-21T09:30:00Z (default: the plan's, or beginning)"))
      for help in helps {
        #expect(!help.contains("StartArgument"), "\(help)")
        #expect(!help.contains("TimeSpan("), "\(help)")
      }
      #expect(helps[1].components(separatedBy: "a second signal ends the command at once").count == 2)
    }

    @Test func `a moment is RFC 3339`() {
      #expect(Instant(argument: "1970-01-01T01:00:00.5+01:00")?.timestamp.nanosecondsSince1970 == 500_000_000)
      #expect(Instant(argument: "1970-01-01 00:00:00") == nil)
    }
  }
#endif

// Plans: what a file means, what is written for a plan, and which problems are told with their places.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

/// A plan that uses every key, and every step with every argument.
private let everything = """
  {
    "contract": {"contract": "shop", "version": "1", "events": {"e": {"fields": {"a": {"type": "integer"}}}}},
    "mapper": ["joining_context"],
    "providers": {
      "files": {"to": "out", "lz4": true, "contract": null, "duplicate_window": null},
      "url": {
        "to": "https://host/x", "preset": "mixpanel", "key_env": "KEY", "user": "u", "project": "p", "cacert": "ca.pem",
        "cert": "/c.pem", "cert_key": "k.pem", "gzip": false, "failover": "https://other/x", "concurrency": 6,
        "groups": ["company"], "pseudonym_key_env": "PSEUDONYMS",
        "rate_caps": [{"events": ["a"], "most": 1, "per": "1s"}], "budget": {"calls_per_second": 2},
        "statuses": {"409": "accept", "5xx": "stop", "404": "retry", "4xx": "reject"},
        "start": "2026-11-21T09:30:00Z", "duplicate_window": "2s", "duplicate_memory": 7, "user_memory": 8,
        "redacts_sensitive": false, "omits_unknown_fields": true,
        "annotations": ["duplicate_of", "kind"], "sends_gaps": false, "attempt_timeout": "90s",
        "flush": {
          "triggers": ["count", "first_events"], "queue_limit": 1, "delivery_size": 2, "interval": "500ms",
          "first_events": 3, "idle_after": "1m", "overflow_threshold": 0.5, "maximum_events": 4, "maximum_bytes": 5
        },
        "backoff": {"least": "1s", "most": "2h", "failures": 2, "open_for": "3d", "probe_events": 4},
        "mapper": [
          {"deriving": {
            "fields": {
              "a": {"copy": "context.user.id"}, "b": {"count": "items"}, "c": {"sum": ["items[].price", "tip"]},
              "d": {"ratio": ["x", "y"]}, "e": {"text": "{first} {last} {{x}"}
            },
            "from": ["shop.*"]
          }},
          {"adding": {"fields": {"n": null, "b": true, "i": 1, "u": 18446744073709551615, "d": 1.0, "t": "x", "l": [1], "o": {"x": {}}}}},
          {"only": {"events": ["a*", "*b", "c"]}}, {"only": {"fields": ["x"]}},
          {"without": {"events": ["d"]}}, {"without": {"fields": ["y", "z"]}},
          {"renaming": {"events": {"a": "A"}}}, {"renaming": {"fields": {"b": "B"}, "in": "A"}},
          "flattening", {"flattening": {"separator": "."}},
          "snake_case", {"snake_case": {"separator": ".", "words": ["OAuth"]}}, {"camel_case": {"separator": "_"}},
          "title_case", {"title_case": {"words": ["iOS"]}}, "json_values", {"json_values": {"dates": "seconds"}},
          {"shortening_addresses": {"in": ["ip"]}}, {"sampling": {"events": ["x"], "fraction": 0.5}},
          {"limiting": {"name_bytes": 40, "value_bytes": 100}}
        ]
      }
    }
  }
  """

private func plan(_ json: String, directory: String = ".") throws -> DeliveryPlan {
  try DeliveryPlan(json: Data(json.utf8), directory: directory)
}

private func problems(_ json: String) -> [String] {
  do {
    _ = try plan(json)
    return []
  } catch {
    let message = (error as? WeirError)?.message ?? "\(error)"
    return message.split(separator: "\n").map { String($0.trimmingPrefix("the plan: ")) }
  }
}

struct DeliveryPlanTests {
  @Test func `every key reaches its option`() throws {
    let plan = try plan(everything, directory: "/etc/shop")
    #expect(plan.entries.map(\.name) == ["files", "url"])
    let files = try #require(plan["files"])
    #expect(files.destination?.to == "/etc/shop/out")
    #expect(files.destination?.lz4 == true)
    #expect(files.options.contract == nil)
    #expect(files.options.duplicateWindow == nil)
    let url = try #require(plan["url"])
    var destination = DeliveryPlan.Destination("https://host/x")
    destination.preset = .mixpanel
    destination.key = .environment("KEY")
    (destination.user, destination.project) = ("u", "p")
    (destination.authorities, destination.certificate) = ("/etc/shop/ca.pem", "/c.pem")
    destination.certificateKey = "/etc/shop/k.pem"
    destination.gzip = false
    destination.concurrency = 6
    destination.failover = "https://other/x"
    destination.groups = ["company"]
    destination.pseudonymKey = .environment("PSEUDONYMS")
    destination.statusRules[409] = .accept
    destination.statusRules[404] = .retry
    destination.statusRules[class: 5] = .stop
    destination.statusRules[class: 4] = .reject
    #expect(url.destination == destination)
    #expect(url.options.contract?.contract.name == "shop")
    #expect(url.options.start == .time(Timestamp(nanosecondsSince1970: 1_795_253_400_000_000_000)))
    #expect(url.options.duplicateWindow == .seconds(2))
    #expect(url.options.duplicateMemory == 7)
    #expect(url.options.userMemory == 8)
    #expect(!url.options.redactsSensitive)
    #expect(url.options.omitsUnknownFields)
    #expect(!files.options.omitsUnknownFields)
    #expect(url.options.annotations == [.kind, .duplicateOf])
    #expect(!url.options.sendsGaps)
    #expect(url.options.attemptTimeout == .seconds(90))
    var flush = FlushPolicy([.count, .firstEvents])
    (flush.queueLimit, flush.deliverySize, flush.interval) = (1, 2, .milliseconds(500))
    (flush.firstEvents, flush.idleAfter, flush.overflowThreshold) = (3, .seconds(60), 0.5)
    (flush.maximumEvents, flush.maximumBytes) = (4, 5)
    #expect(url.options.flush == flush)
    var backoff = DeliveryOptions.Backoff()
    (backoff.least, backoff.most, backoff.failures) = (.seconds(1), .seconds(7200), 2)
    (backoff.openFor, backoff.probeEvents) = (.seconds(3 * 86_400), 4)
    #expect(url.options.backoff == backoff)
    #expect(url.closures.isEmpty)
  }

  @Test func `a plan is written as a file that is read as the same plan`() throws {
    let first = try plan(everything).json()
    #expect(try DeliveryPlan(json: first).json() == first)
    // What every step does is in the text, so equal texts are equal plans.
    let text = String(decoding: first, as: UTF8.self)
    for step in PlanKeys.steps { #expect(text.contains("\"\(step.name)\""), "\(step.name)") }
    for key in PlanKeys.provider.names where !["table", "key_file", "pseudonym_key_file"].contains(key) {
      #expect(text.contains("\"\(key)\""), "\(key)")
    }
  }

  @Test func `options of the plan are those of each provider, which may have others`() throws {
    let plan = try plan(
      """
      {"duplicate_memory": 5, "flush": {"interval": "5s", "queue_limit": 3}, "mapper": [{"adding": {"fields": {"a": 1}}}],
       "providers": {"one": {}, "two": {"duplicate_memory": 6, "flush": {"interval": "7s"},
       "mapper": [{"renaming": {"fields": {"a": "b"}}}]}}}
      """)
    let (one, two) = (try #require(plan["one"]), try #require(plan["two"]))
    #expect(one.options.duplicateMemory == 5)
    #expect(two.options.duplicateMemory == 6)
    #expect(one.options.flush.interval == .seconds(5))
    #expect(two.options.flush.interval == .seconds(7))
    #expect(two.options.flush.queueLimit == 3)
    #expect(one.mapper(prepared("e", [:]))?.fields == ["a": 1])
    #expect(two.mapper(prepared("e", [:]))?.fields == ["b": 1])
  }

  @Test func `steps of a file do what the functions do`() throws {
    let mapper = try #require(
      try plan(
        #"{"providers": {"p": {"mapper": [{"only": {"events": ["shop.*", "x"]}}, "snake_case", "title_case"]}}}"#)["p"]
    ).mapper
    #expect(mapper(prepared("shop.OrderDone", ["aB": 1]))?.name == "Shop Order Done")
    #expect(mapper(prepared("shop.OrderDone", ["aB": 1]))?.fields == ["a_b": 1])
    #expect(mapper(prepared("y", [:])) == nil)
  }

  @Test func `an event goes where its first route leads`() async throws {
    let text = """
      {"routes": [
        {"events": ["checkout.*", "cart.Opened"], "to": ["one"]},
        {"events": ["debug.*"], "to": []},
        {"events": ["*"], "to": ["one", "two"]}],
       "providers": {
         "one": {}, "two": {"mapper": [{"renaming": {"events": {"page.Seen": "checkout.Seen"}}}]}, "three": {}}}
      """
    let plan = try DeliveryPlan(json: Data(text.utf8))
    #expect(
      plan.routes == [
        .init("checkout.*", "cart.Opened", to: ["one"]), .init("debug.*", to: []), .init("*", to: ["one", "two"]),
      ])
    #expect(try DeliveryPlan(json: plan.json()).routes == plan.routes)
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let providers = plan.entries.map { ScriptedProvider(name: $0.name) }
      try stage.dispatcher.add(plan) { entry in providers.first { $0.name == entry.name }! }
      for name in ["checkout.Done", "cart.Opened", "cart.Closed", "debug.Trace", "page.Seen"] {
        stage.tracker.track(name, fields: [:])
      }
      try stage.tracker.drain()
      for name in ["one", "two", "three"] { #expect(await stage.run { stage.entry(name).offset == 5 }) }
      #expect(
        providers.map { $0.delivered.map(\.name) } == [
          ["checkout.Done", "cart.Opened", "cart.Closed", "page.Seen"], ["cart.Closed", "checkout.Seen"], [],
        ])
      try await stage.close()
    }
  }

  @Test(arguments: [
    (#"{"routes": 1, "providers": {}}"#, "line 1: routes is a list of maps with the keys events and to"),
    (#"{"routes": [{"events": ["a"]}], "providers": {}}"#, "line 1: a route has events and to"),
    (
      #"{"routes": [{"events": ["a"], "to": ["segmnet"]}], "providers": {"segment": {}}}"#,
      "line 1: the plan has no provider \"segmnet\""
    ),
  ])
  func `a wrong route is named`(_ text: String, _ problem: String) {
    let error = #expect(throws: WeirError.self) { try DeliveryPlan(json: Data(text.utf8)) }
    #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
  }

  @Test func `caps, samples and budgets are read and written`() throws {
    let text = """
      {"rate_caps": [{"events": ["debug.*"], "most": 100, "per": "1s"}],
       "budget": {"calls_per_second": 2, "bytes_per_second": 1000, "processor_time_per_second": "50ms"},
       "mapper": [{"sampling": {"events": ["debug.*"], "fraction": 0.25}}], "providers": {"a": {"to": "out"}}}
      """
    let plan = try DeliveryPlan(json: Data(text.utf8))
    let options = plan.entries[0].options
    #expect(options.rateCaps == [RateCap("debug.*", most: 100, per: .seconds(1))])
    #expect(options.budget.callsPerSecond == 2)
    #expect(options.budget.bytesPerSecond == 1_000)
    #expect(options.budget.processorTimePerSecond == .milliseconds(50))
    let again = try DeliveryPlan(json: plan.json())
    #expect(again.entries[0].options.rateCaps == options.rateCaps)
    #expect(again.entries[0].options.budget == options.budget)
    #expect(try again.json() == plan.json())
    for wrong in ["\"0s\"", "50", "\"fast\""] {
      let text = "{\"budget\": {\"processor_time_per_second\": \(wrong)}, \"providers\": {\"a\": {}}}"
      #expect(throws: WeirError.self) { try DeliveryPlan(json: Data(text.utf8)) }
    }
    for wrong in ["\"most\": -1, \"per\": \"1s\"", "\"most\": 1", "\"most\": 1, \"per\": \"0s\""] {
      let text = "{\"rate_caps\": [{\"events\": [\"a\"], \(wrong)}], \"providers\": {\"a\": {}}}"
      #expect(throws: WeirError.self) { try DeliveryPlan(json: Data(text.utf8)) }
    }
  }

  @Test func `numbers are read by their value, and durations in each unit`() throws {
    let plan = try plan(
      """
      {"providers": {"p": {"duplicate_memory": 1e3, "user_memory": 2.0,
       "flush": {"interval": "7ns", "idle_after": "8us"}, "budget": {"calls_per_second": 18446744073709551615}}}}
      """)
    let options = plan.entries[0].options
    #expect((options.duplicateMemory, options.userMemory) == (1_000, 2))
    #expect((options.flush.interval, options.flush.idleAfter) == (.nanoseconds(7), .microseconds(8)))
    #expect(options.budget.callsPerSecond == 0x1p64)
  }

  @Test func `text that is not UTF-8 is told with its line`() {
    let error = #expect(throws: WeirError.self) {
      try DeliveryPlan(json: Data(Array("{\n\"providers\": {\n\"".utf8) + [0xFF] + Array("\": {}}}".utf8)))
    }
    #expect(
      error?.message.contains("line 3: the JSON can't be read: the text is not UTF-8") == true,
      "\(error?.message ?? "")")
  }

  @Test func `closures are named, and not written`() throws {
    let entry = DeliveryPlan.Entry(
      "p", mapper: EventMapper(.deriving { _ in [:] }, .adding("a") { _ in 1 }, EventMapper { $0 }, .snakeCase()))
    #expect(entry.closures == ["deriving(_:)", "adding(a, _:)", "EventMapper(_:)"])
    let error = try #require(throws: WeirError.self) { try DeliveryPlan([entry]).json() }
    #expect(error.message.contains("adding(a, _:)"), "\(error.message)")
    // A date has no form in JSON that is read as a date.
    let dated = DeliveryPlan.Entry("p", mapper: .adding(["at": .date(Date(timeIntervalSince1970: 0))]))
    #expect(dated.closures.count == 1)
  }

  @Test(arguments: [
    ("{}", ["line 1: the key providers is missing; it lists the providers by name"]),
    ("{\"providers\": {}, \"x\": 1}", ["line 1: the plan has no key \"x\"; there are "]),
    (
      "{\n\"provider\": {}}",
      ["the plan has no key \"provider\"; did you mean providers?", "the key providers is missing"]
    ),
    (
      "{\"providers\": {\"a b\": {}}}",
      ["line 1: providers.a b: a provider's name has 1 to 64 letters, digits, - and _"]
    ),
    ("{\"providers\": {\"a\": {},\n\"a\": {}}}", ["line 2: the provider \"a\" appears twice; merge the two"]),
    ("{\"providers\": {\"a\": {\"to\": \"\"}}}", ["to is empty; give a URL or a path"]),
    ("{\"providers\": {\"a\": {\"to\": \"localhost:80\"}}}", ["write http://localhost:80 for a URL"]),
    ("{\"providers\": {\"a\": {\"to\": \"https://u:p@h/\"}}}", ["give the key with key_env or key_file"]),
    ("{\"providers\": {\"a\": {\"to\": \"x\", \"gzip\": true}}}", ["gzip needs a URL in to"]),
    ("{\"providers\": {\"a\": {\"to\": \"http://h\", \"concurrency\": 0}}}", ["concurrency is 0"]),
    ("{\"providers\": {\"a\": {\"to\": \"http://x\", \"lz4\": true}}}", ["lz4 needs a path"]),
    ("{\"providers\": {\"a\": {\"preset\": \"json\"}}}", ["preset needs the key to"]),
    ("{\"providers\": {\"a\": {\"to\": \"http://x\", \"preset\": \"segmnt\"}}}", ["did you mean segment?"]),
    (
      "{\"providers\": {\"a\": {\"to\": \"http://x\", \"key_env\": \"A\", \"key_file\": \"b\"}}}",
      ["key_env and key_file are both given"]
    ),
    (
      "{\"providers\": {\"a\": {\"to\": \"http://x\", \"failover\": \"out\"}}}", ["failover is a path; write a URL"]
    ),
    (
      "{\"providers\": {\"a\": {\"to\": \"http://x\", \"failover\": \"http://k@y\"}}}",
      ["give the key with key_env or key_file"]
    ),
    ("{\"providers\": {\"a\": {\"to\": \"x\", \"failover\": \"http://y\"}}}", ["failover needs a URL in to"]),
    (
      "{\"providers\": {\"a\": {\"to\": \"http://x\", \"failover\": \"http://x\"}}}",
      ["failover is the URL of to; write the URL of another host"]
    ),
    ("{\"providers\": {\"a\": {\"to\": \"http://x:99999\"}}}", ["to http://x:99999 is no URL"]),
    (
      "{\"providers\": {\"a\": {\"to\": \"http://[::1]:18446744073709551617/\"}}}",
      ["to http://[::1]:18446744073709551617/ is no URL"]
    ),
    (
      "{\"providers\": {\"a\": {\"user_memory\": 9223372036854775808}}}",
      ["user_memory is 9223372036854775808; write a number of at most 9223372036854775807"]
    ),
    (
      "{\"providers\": {\"a\": {\"mapper\": [{\"limiting\": {\"name_bytes\": -1}}]}}}",
      ["name_bytes is -1; write 0 or more"]
    ),
    ("{\"providers\": {\"a\": {\"mapper\": [{\"sampling\": {\"events\": []}}]}}}", ["the key fraction is missing"]),
    ("{\"providers\": {\"a\": {\"to\": \"http://x\", \"statuses\": 5}}}", ["statuses is a number"]),
    (
      "{\"providers\": {\"a\": {\"to\": \"http://x\", \"statuses\": {\"404\": \"ignore\",\n\"1xx\": \"retry\", "
        + "\"0404\": \"retry\", \"6xx\": \"stop\", \"199\": \"retry\", \"+40\": \"retry\"}}}}",
      [
        "line 1: providers.a: the status \"404\" has an unknown meaning; write one of accept, retry, reject, stop",
        "line 2: providers.a: \"1xx\" is no status; write 200 to 599, or a class such as 5xx", "\"0404\" is no status",
        "\"6xx\" is no status", "\"199\" is no status", "\"+40\" is no status",
      ]
    ),
    ("{\"providers\": {\"a\": {\"start\": \"soon\"}}}", ["start is beginning, end, offset:N, or a time"]),
    ("{\"providers\": {\"a\": {\"start\": \"offset:-1\"}}}", ["start is beginning, end, offset:N, or a time"]),
    ("{\"providers\": {\"a\": {\"flush\": {\"interval\": 5}}}}", ["interval is not a duration"]),
    ("{\"providers\": {\"a\": {\"flush\": {\"interval\": \"-5s\"}}}}", ["interval is not a duration"]),
    ("{\"providers\": {\"a\": {\"flush\": {\"triggers\": [\"never\"]}}}}", ["there is no trigger \"never\""]),
    ("{\"providers\": {\"a\": {\"flush\": {\"queue_limit\": 0}}}}", ["flush.queueLimit is 0; it must be at least 1"]),
    (
      "{\"providers\": {\"a\": {\"annotations\": [\"violation\"]}}}",
      ["there is no annotation \"violation\"; did you mean violations?"]
    ),
    ("{\"providers\": {\"a\": {\"annotations\": true}}}", ["annotations is true or false; write a list of texts"]),
    ("{\"providers\": {\"a\": {\"contract\": 5}}}", ["contract is a number; write the path of a contract"]),
    (
      "{\"providers\": {\"a\":\n{\"contract\": {\"contract\": \"c\", \"version\": \"1\",\n\"event\": {}}}}}",
      ["line 2: providers.a: contract: ", "line 3: providers.a: contract: "]
    ),
    ("{\"providers\": {\"a\": {\"contract\": \"/none.json\"}}}", ["contract: /none.json can't be read"]),
    (
      "{\"providers\": {\"a\": {\"mapper\": [\"snakecase\"]}}}",
      ["providers.a.mapper[0]: there is no step \"snakecase\""]
    ),
    ("{\"providers\": {\"a\": {\"mapper\": [{}]}}}", ["mapper[0]: a step is a name, or a map"]),
    (
      "{\"providers\": {\"a\": {\"mapper\": [\"flattening\",\n{\"only\": {}}]}}}",
      ["line 2: providers.a.mapper[1].only: "]
    ),
    (
      "{\"providers\": {\"a\": {\"mapper\": [{\"only\": {\"events\": \"x\"}}]}}}",
      ["events is a text; write a list of texts"]
    ),
    (
      "{\"providers\": {\"a\": {\"mapper\": [{\"renaming\": {\"events\": {\"a\": 1}}}]}}}",
      ["the name for \"a\" is a number"]
    ),
    (
      "{\"providers\": {\"a\": {\"mapper\": [{\"deriving\": {\"fields\": {\"x\": {\"copy\": \"a..b\"}}}}]}}}",
      ["\"a..b\" is no path: a part of the path is empty"]
    ),
    (
      "{\"providers\": {\"a\": {\"mapper\": [{\"deriving\": {\"fields\": {\"x\": {\"text\": \"{a\"}}}}]}}}",
      ["a { has no }"]
    ),
    (
      "{\"providers\": {\"a\": {\"mapper\": [{\"json_values\": {\"dates\": \"iso\"}}]}}}", ["there is no form of dates"]
    ),
    ("[", ["line 1: the JSON can't be read: the text ends too early"]),
  ])
  func `a problem has its line, its place and a remedy`(_ json: String, _ expected: [String]) throws {
    let found = problems(json)
    try #require(found.count == expected.count, "\(found)")
    for (problem, text) in zip(found, expected) { #expect(problem.contains(text), "\(problem)") }
  }

  @Test func `the rule of a status comes before that of its class`() {
    var rules = HTTPStatusRules()
    #expect(rules.isEmpty)
    rules[class: 4] = .retry
    rules[404] = .stop
    #expect([404, 400, 499, 399, 500].map { rules.meaning(of: $0) } == [.stop, .retry, .retry, nil, nil])
    rules[404] = nil
    #expect(rules.meaning(of: 404) == .retry)
  }

  @Test func `all problems are told at once`() {
    #expect(problems(#"{"x": 1, "providers": {"a": {"y": 1, "flush": {"z": 1}}, "b": 1}}"#).count == 4)
  }

  @Test func `a contract is read from beside the plan`() throws {
    try withDirectory { directory in
      let contract = Contract("c", version: "2", events: [EventRule("e", fields: [])])
      try contract.json().write(to: URL(filePath: directory + "/c.json"))
      let path = directory + "/plan.json"
      try Data(#"{"contract": "c.json", "providers": {"a": {"to": "out"}}}"#.utf8).write(to: URL(filePath: path))
      let plan = try DeliveryPlan(contentsOf: path)
      #expect(plan["a"]?.options.contract?.contract.version == "2")
      #expect(plan["a"]?.destination?.to == directory + "/out")
      #expect(throws: WeirError.self) { try DeliveryPlan(contentsOf: directory + "/none.json") }
      #expect(throws: WeirError.self) { try DeliveryPlan(contentsOf: directory) }
    }
  }

  @Test func `a dispatcher delivers to the providers of a plan`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory + "/log", configuration: quiet())
      for number in 0..<3 { tracker.track("shop.Paid", fields: ["itemCount": .int(Int64(number))]) }
      let json = """
        {"mapper": ["snake_case"], "attempt_timeout": "1h",
         "providers": {"files": {"to": "out"}, "own": {"duplicate_window": null}}}
        """
      let plan = try DeliveryPlan(json: Data(json.utf8), directory: directory)
      let seen = Lock<[String]>([])
      let dispatcher = try Dispatcher(tracker)
      try dispatcher.add(plan) { entry in
        ClosureProvider(entry.name) { events in
          seen.withLock { $0 += events.map(\.name) }
          return events.map { _ in .accepted }
        }
      }
      try dispatcher.start()
      let report = await dispatcher.shutdown(budget: .seconds(900))
      #expect(report.isComplete, "\(report)")
      #expect(seen.withLock { $0 } == ["shop_paid", "shop_paid", "shop_paid"])
      let files = try FileManager.default.contentsOfDirectory(atPath: directory + "/out")
        .filter { $0.contains(".jsonl") }
      let lines = try files.map { try String(contentsOfFile: directory + "/out/" + $0, encoding: .utf8) }.joined()
      #expect(lines.components(separatedBy: "item_count").count == 4, "\(lines)")
    }
  }

  @Test func `a provider that the plan can't make is refused, and none is added`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory + "/log", configuration: quiet())
      let dispatcher = try Dispatcher(tracker)
      let plan = DeliveryPlan([.init("a", to: .init(directory + "/out")), .init("b", to: .init("http://localhost:1"))])
      #expect(throws: WeirError.self) { try dispatcher.add(plan) }
      #expect(throws: WeirError.self) { try dispatcher.add(plan) { _ in ClosureProvider("c") { _ in [] } } }
      #expect(dispatcher.providers.isEmpty)
    }
  }
}

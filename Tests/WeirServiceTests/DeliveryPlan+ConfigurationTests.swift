// Plans from a configuration: the same plan as from the file with the same keys, over a file key by key, and problems
// that name the key.

#if Configuration
  import Configuration
  import Foundation
  import TestSupport
  import Testing
  import Weir
  import WeirConfiguration
  import WeirContracts
  import WeirDelivery
  import WeirJSON

  /// The options of a plan and of its providers, with other values for each number and flag.
  private func options(_ contract: String, _ n: Int, _ flag: Bool) -> String {
    """
    "contract": \(contract), "omits_unknown_fields": \(flag), "mapper": [{"adding": {"fields": {"f\(n)": \(n)}}}],
    "start": "offset:\(n)", "duplicate_window": "\(n)s", "duplicate_memory": 1\(n), "user_memory": 2\(n),
    "redacts_sensitive": \(!flag), "annotations": ["kind", "\(flag ? "duplicate_of" : "violations")"],
    "sends_gaps": \(!flag),
    "rate_caps": [{"events": ["debug.*"], "most": \(n), "per": "1s"}], "attempt_timeout": "1\(n)m",
    "flush": {
      "triggers": ["count", "\(flag ? "first_events" : "bytes")"], "queue_limit": 3\(n), "delivery_size": 4\(n),
      "interval": "\(n)00ms", "first_events": 5\(n), "idle_after": "\(n)h", "overflow_threshold": 0.2\(n),
      "maximum_events": 6\(n), "maximum_bytes": 7\(n)
    },
    "backoff": {"least": "3\(n)ms", "most": "\(n)d", "failures": 8\(n), "open_for": "4\(n)s", "probe_events": 9\(n)},
    "budget": {"calls_per_second": \(n), "bytes_per_second": 10\(n), "processor_time_per_second": "\(n)ms"}
    """
  }

  private let contract = #"{"contract": "c", "version": "1", "events": {"e": {"fields": {"a": {"type": "integer"}}}}}"#

  /// A plan with every key.
  private let everything = """
    {
      \(options(contract, 2, true)),
      "routes": [{"events": ["debug.*"], "to": ["url"]}],
      "providers": {
        "files": {"to": "out", "lz4": true, "contract": null, "duplicate_window": null},
        "url": {
          "to": "https://host/x", "preset": "mixpanel", "key_env": "KEY", "pseudonym_key_env": "PSEUDONYMS",
          "user": "u", "project": "p", "table": "t", "groups": ["company", "team"], "failover": "https://other/x",
          "statuses": {"409": "accept", "5xx": "stop"}, "cacert": "ca.pem", "cert": "c.pem", "cert_key": "k.pem",
          "gzip": false, "concurrency": 6,
          \(options(#""shop.json""#, 3, false))
        },
        "other-url": {"to": "http://host/y", "key_file": "key", "pseudonym_key_file": "pseudonyms"}
      }
    }
    """

  /// The configuration that says what `everything` says.
  private func everythingAsValues() throws -> [String: ConfigValue] {
    var all = values(try DocumentJSON.read(Array(everything.utf8)), "")
    all["provider_names"] = .init(.stringArray(["files", "url", "other-url"]), isSecret: false)
    return all
  }

  /// The values of a configuration that say what the file says.
  private func values(_ node: DocumentNode, _ key: String) -> [String: ConfigValue] {
    func one(_ content: ConfigContent) -> [String: ConfigValue] { [key: ConfigValue(content, isSecret: false)] }
    let last = key.split(separator: ".").last
    switch node.content {
    case .null: return one(.string("null"))
    case .bool(let flag): return one(.bool(flag))
    case .number(.int(let number)): return one(.int(Int(number)))
    case .number(.double(let number)): return one(.double(number))
    case .number: fatalError("\(key) is too large")
    case .text(let text): return one(.string(text))
    case .list(let values):
      let texts = values.compactMap { if case .text(let text) = $0.content { text } else { nil } }
      return one(texts.count == values.count ? .stringArray(texts) : .string(node.jsonLine()))
    case .map(let entries):
      guard last != "contract", last != "statuses" else { return one(.string(node.jsonLine())) }
      return entries.reduce(into: [:]) { all, entry in
        all.merge(values(entry.value, key.isEmpty ? entry.key : "\(key).\(entry.key)")) { $1 }
      }
    }
  }

  private func reader(_ values: [String: ConfigValue]) -> ConfigReader {
    let keys = values.map {
      (AbsoluteConfigKey(["delivery"] + $0.key.split(separator: ".").map(String.init)), $0.value)
    }
    let provider = InMemoryProvider(values: Dictionary(uniqueKeysWithValues: keys))
    return ConfigReader(provider: provider).scoped(to: "delivery")
  }

  /// The same values as text in the environment.
  private func environment(_ values: [String: ConfigValue]) -> ConfigReader {
    let variables = values.map { key, value in
      let name = String(key.uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
      let text =
        switch value.content {
        case .string(let text): text
        case .int(let number): "\(number)"
        case .double(let number): "\(number)"
        case .bool(let flag): "\(flag)"
        case .stringArray(let texts): texts.joined(separator: ",")
        default: ""
        }
      return ("DELIVERY_" + name, text)
    }
    return reader(variables: Dictionary(uniqueKeysWithValues: variables))
  }

  private func reader(variables: [String: String]) -> ConfigReader {
    ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables)).scoped(to: "delivery")
  }

  private func withContract(_ body: (String) async throws -> Void) async throws {
    try await withDirectoryAsync { directory in
      let contract = Contract("shop", version: "2", events: [EventRule("e", fields: [])])
      try contract.json().write(to: URL(filePath: directory + "/shop.json"))
      try await body(directory)
    }
  }

  /// The keys of a map. A name of the user's is `*`.
  private func keys(_ map: PlanMap, _ key: String = "") -> [String] {
    map.keys.flatMap { entry -> [String] in
      let name = key.isEmpty ? entry.name : "\(key).\(entry.name)"
      return switch entry.value {
      case .map(let map): keys(map, name)
      case .names(.provider, _): keys(PlanKeys.provider, name + ".*")
      default: [name]
      }
    }
  }

  struct DeliveryPlanConfigurationTests {
    @Test func `every key of a plan's file is a key of a configuration`() async throws {
      try await withContract { directory in
        let expected = try DeliveryPlan(json: Data(everything.utf8), directory: directory).json()
        let values = try everythingAsValues()
        let found = values.keys.map { $0.replacing(/^providers\.[^.]+/, with: "providers.*") }
        #expect(Set(found + ["$schema"]) == Set(keys(PlanKeys.plan) + ["provider_names"]))
        #expect(try await DeliveryPlan(config: reader(values), directory: directory).json() == expected)
        #expect(try await DeliveryPlan(config: environment(values), directory: directory).json() == expected)
        // Each key is read: without it the plan is another, or none.
        for key in values.keys {
          var others = values
          others[key] = nil
          let plan = try? await DeliveryPlan(config: reader(others), directory: directory).json()
          #expect(plan != expected, "\(key)")
        }
      }
    }

    @Test func `a configuration changes the plan of a file key by key`() async throws {
      try await withContract { directory in
        let file = """
          {"contract": "shop.json", "flush": {"interval": "5s", "queue_limit": 3},
           "providers": {
             "files": {"to": "out", "mapper": ["snake_case"]},
             "url": {"to": "https://host/x", "key_file": "key", "statuses": {"404": "retry"},
               "flush": {"interval": "6s"}}
           }}
          """
        try Data(file.utf8).write(to: URL(filePath: directory + "/plan.json"))
        let changed = """
          {"contract": "shop.json", "flush": {"interval": "7s", "queue_limit": 3}, "duplicate_memory": 9,
           "providers": {
             "files": {"to": "elsewhere", "lz4": true, "mapper": ["snake_case"]},
             "url": {"to": "https://host/x", "key_env": "KEY", "statuses": {"5xx": "stop"}, "backoff": {"failures": 2},
               "flush": {"interval": "6s", "first_events": 4}},
             "new": {"to": "more"}
           }}
          """
        let variables = [
          "FILE": "plan.json", "PROVIDER_NAMES": "new,url", "FLUSH_INTERVAL": "7s", "DUPLICATE_MEMORY": "9",
          "PROVIDERS_FILES_TO": "elsewhere", "PROVIDERS_FILES_LZ4": "true", "PROVIDERS_URL_KEY_ENV": "KEY",
          "PROVIDERS_URL_STATUSES": #"{"5xx": "stop"}"#, "PROVIDERS_URL_FLUSH_FIRST_EVENTS": "4",
          "PROVIDERS_URL_BACKOFF_FAILURES": "2", "PROVIDERS_NEW_TO": "more",
        ]
        let config = reader(variables: .init(uniqueKeysWithValues: variables.map { ("DELIVERY_" + $0.key, $0.value) }))
        let plan = try await DeliveryPlan(config: config, directory: directory)
        #expect(try plan.json() == DeliveryPlan(json: Data(changed.utf8), directory: directory).json())
        #expect(plan["url"]?.destination?.key == .environment("KEY"))
        let alone = try await DeliveryPlan(config: reader(variables: ["DELIVERY_FILE": directory + "/plan.json"]))
        #expect(try alone.json() == DeliveryPlan(contentsOf: directory + "/plan.json").json())
      }
    }

    @Test func `a map is given as JSON or key by key, and a key comes first`() async throws {
      let json = #"{"flush": {"interval": "1s", "queue_limit": 5}, "providers": {"a": {"to": "y"}, "b": {"to": "x"}}}"#
      let config = reader(variables: [
        "DELIVERY_FLUSH": #"{"interval": "9s", "queue_limit": 5}"#, "DELIVERY_FLUSH_INTERVAL": "1s",
        "DELIVERY_PROVIDERS": #"{"a": {"to": "x"}, "b": {"to": "x"}}"#, "DELIVERY_PROVIDERS_A": #"{"to": "y"}"#,
      ])
      #expect(try await DeliveryPlan(config: config).json() == DeliveryPlan(json: Data(json.utf8)).json())
    }

    @Test func `an empty variable is an empty list`() async throws {
      let plan = try await DeliveryPlan(
        config: reader(variables: ["DELIVERY_PROVIDER_NAMES": "a", "DELIVERY_ANNOTATIONS": ""]))
      #expect(plan["a"]?.options.annotations == [])
      #expect(plan["a"]?.destination == nil)
    }

    private static let faulty: [([String: String], String)] = [
      ([:], "there are no providers; give their names in provider_names, or a plan's file in file"),
      (["PROVIDER_NAMES": ""], "there are no providers"),
      (["PROVIDER_NAMES": "a b"], "providers.a b: a provider's name has 1 to 64 letters"),
      (["PROVIDERS_A_GZIP": "perhaps"], "providers.a.gzip can't be read as true or false: "),
      (["PROVIDERS_A_FLUSH_QUEUE_LIMIT": "1.5"], "providers.a.flush.queue_limit can't be read as a whole number: "),
      (["PROVIDERS_A_BUDGET_CALLS_PER_SECOND": "x"], "providers.a.budget.calls_per_second can't be read as a number: "),
      (
        ["PROVIDERS_A_FLUSH_INTERVAL": "soon"],
        "providers.a.flush.interval: interval is not a duration; write a whole number"
      ),
      (
        ["PROVIDERS_A_TO": "http://x", "PROVIDERS_A_PRESET": "segmnt"],
        "providers.a.preset: there is no preset \"segmnt\"; did you mean segment?"
      ),
      (["PROVIDERS_A_KEY_ENV": "K"], "providers.a.key_env: key_env needs the key to, a URL or a path"),
      (
        ["PROVIDERS_A_TO": "http://x", "PROVIDERS_A_KEY_ENV": "K", "PROVIDERS_A_KEY_FILE": "f"],
        "providers.a.key_file: key_env and key_file are both given; remove one of them"
      ),
      (
        ["PROVIDERS_A_FLUSH_QUEUE_LIMIT": "0"],
        "providers.a: the delivery options of a: flush.queueLimit is 0; it must be at least 1"
      ),
      (["PROVIDERS_A_FLUSH": "{\"x\": 1}"], "providers.a.flush: flush has no key \"x\""),
      (["PROVIDERS_A_FLUSH": "5"], "providers.a.flush: flush is a number; write a map"),
      (["PROVIDERS_A_MAPPER": "[\n["], "providers.a.mapper: line 2 of the text: the JSON can't be read: "),
      (["PROVIDERS_A_MAPPER": "[\"snakecase\"]"], "providers.a.mapper[0]: there is no step \"snakecase\""),
      (["MAPPER": "[\"flattening\", {\"only\": {}}]"], "mapper[1].only: write exactly one of the keys events, fields"),
      (["ROUTES": "[{\"events\": [\"e\"], \"to\": [\"b\"]}]"], "routes: the plan has no provider \"b\""),
      (["CONTRACT": "{\"contract\": \"c\""], "contract: line 1 of the text: the JSON can't be read: "),
      (["CONTRACT": "{\"contract\": \"c\", \"version\": \"1\", \"event\": {}}"], "contract: contract: "),
      (["PROVIDERS_A_CONTRACT": "/none.json"], "providers.a.contract: contract: /none.json can't be read"),
    ]

    @Test(arguments: faulty)
    func `a problem has the key and a remedy`(_ variables: [String: String], _ expected: String) async throws {
      var named = Dictionary(uniqueKeysWithValues: variables.map { ("DELIVERY_" + $0.key, $0.value) })
      if !variables.isEmpty, named["DELIVERY_PROVIDER_NAMES"] == nil { named["DELIVERY_PROVIDER_NAMES"] = "a" }
      let config = reader(variables: named)
      let error = await #expect(throws: WeirError.self) { try await DeliveryPlan(config: config) }
      #expect(error?.code == .invalid)
      #expect(error?.message.hasPrefix("the configuration: " + expected) == true, "\(error?.message ?? "")")
    }

    private static let ofOtherKinds: [(String, ConfigContent, String)] = [
      ("providers.a.gzip", .string("true"), "true or false"), ("providers.a.to", .bool(true), "a text"),
      ("providers.a.flush.interval", .int(5), "a text"), ("providers.a.groups", .string("company"), "a list of texts"),
      ("user_memory", .double(1), "a whole number"), ("mapper", .stringArray(["snake_case"]), "a text with JSON"),
      ("contract", .int(1), "a text"), ("providers.a", .int(1), "a text with JSON"), ("file", .int(1), "a text"),
    ]

    @Test(arguments: ofOtherKinds)
    func `a value of another kind is refused`(_ key: String, _ content: ConfigContent, _ kind: String) async throws {
      let config = reader([
        "provider_names": .init(.stringArray(["a"]), isSecret: false), key: .init(content, isSecret: false),
      ])
      let error = await #expect(throws: WeirError.self) { try await DeliveryPlan(config: config) }
      #expect(error?.message.contains("configuration: \(key) can't be read as \(kind): ") == true, "\(error as Any)")
    }

    @Test func `a problem of the file has its line`() async throws {
      try await withDirectoryAsync { directory in
        let path = directory + "/plan.json"
        let config = reader(variables: ["DELIVERY_FILE": path, "DELIVERY_PROVIDERS_A_TO": "out"])
        func message(_ json: String) async throws -> String {
          try Data(json.utf8).write(to: URL(filePath: path))
          let error = await #expect(throws: WeirError.self) { try await DeliveryPlan(config: config) }
          return try #require(error).message
        }
        #expect(
          try await message("{\"providers\": {\n\"a\": {\n\"gzip\": 1}}}").hasPrefix(
            "the configuration: \(path): line 3: providers.a: gzip needs a URL in to\n"))
        #expect(
          try await message("{\"x\": 1,\n\"y\": 2, \"providers\": {}}").contains("\(path): line 2: the plan has no key")
        )
        #expect(try await message("{\n").hasPrefix("\(path): line 2: the JSON can't be read: "))
        #expect(try await message("[]").contains("\(path): line 1: the plan is a list; write a map"))
        #expect(try await message("{}").contains("\(path): line 1: the key providers is missing"))
        try FileManager.default.removeItem(atPath: path)
        let error = await #expect(throws: WeirError.self) { try await DeliveryPlan(config: config) }
        #expect(error?.code == .missing, "\(error as Any)")
      }
    }
  }
#endif

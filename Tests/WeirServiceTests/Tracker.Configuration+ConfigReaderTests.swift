// The options of a log from a configuration: each option from its key, and problems that name the key.

#if Configuration
  import Configuration
  import TestSupport
  import Testing
  import Weir
  import WeirConfiguration

  struct TrackerConfigurationTests {
    private func reader(_ values: [String: ConfigValue]) -> ConfigReader {
      let keys = values.map {
        (AbsoluteConfigKey(["events"] + $0.key.split(separator: ".").map(String.init)), $0.value)
      }
      return ConfigReader(provider: InMemoryProvider(values: Dictionary(uniqueKeysWithValues: keys)))
        .scoped(to: "events")
    }

    private func reader(variables: [String: String]) -> ConfigReader {
      ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables)).scoped(to: "events")
    }

    /// All options but the logger, in the order of their declaration.
    private func options(_ configuration: Tracker.Configuration) -> [String] {
      Mirror(reflecting: configuration).children.filter { $0.label != "logger" }
        .map { "\($0.label ?? ""): \($0.value)" }
    }

    @Test func `an empty configuration is the default`() async throws {
      let configuration = try await Tracker.Configuration(config: reader([:]))
      #expect(options(configuration) == options(Tracker.Configuration()))
    }

    private let everything = [
      "lane_count": "32", "spare_lanes": "3", "lane_bytes": "2097152", "overflow_bytes": "0",
      "segment_bytes": "16777216", "maximum_event_bytes": "100000", "drain_interval": "500us", "when_full": "5ms",
      "durability": "1s", "byte_limit": "1073741824", "at_byte_limit": "drop_oldest", "retention.bytes": "7",
      "retention.age": "7d", "remove_delivered": "true", "batch_threads": "2", "clock": "monotonic",
      "create_directory": "false", "ring_directory": "/dev/shm/shop", "globals.app": "shop",
      "globals.version": "4.2.0", "globals.host": "h1", "globals.environment": "staging", "globals.session": "s",
      "globals.consent": "statistics", "globals.fields": "region=eu-west,query=a=b", "globals.sensitive": "query,name",
      "sampling": "page.scrolled=0.01,a=b=1",
    ]

    private var expected: Tracker.Configuration {
      var expected = Tracker.Configuration()
      expected.laneCount = 32
      expected.spareLanes = 3
      expected.laneBytes = 2 << 20
      expected.overflowBytes = 0
      expected.segmentBytes = 16 << 20
      expected.maximumEventBytes = 100_000
      expected.drainInterval = .microseconds(500)
      expected.whenFull = .block(upTo: .milliseconds(5))
      expected.durability = .interval(.seconds(1))
      expected.byteLimit = 1 << 30
      expected.atByteLimit = .dropOldest
      expected.retention = .init(age: .seconds(7 * 86_400), bytes: 7)
      expected.removeDelivered = true
      expected.batchThreads = 2
      expected.clock = .monotonic
      expected.createDirectory = false
      expected.ringDirectory = "/dev/shm/shop"
      expected.globals = GlobalFields(
        app: "shop", version: "4.2.0", host: "h1", environment: "staging", session: "s", consent: "statistics",
        fields: ["region": "eu-west", "query": "a=b"])
      expected.sampling = [SamplingRule("page.scrolled", rate: 0.01), SamplingRule("a=b", rate: 1)]
      return expected
    }

    @Test func `each option has a key, and the environment has each key`() async throws {
      let variables = everything.map { key, value in
        ("EVENTS_" + key.uppercased().replacing(".", with: "_"), value)
      }
      var configuration = try await Tracker.Configuration(
        config: reader(variables: Dictionary(uniqueKeysWithValues: variables)))
      // A set has no order, which the texts of the options would have.
      #expect(configuration.globals.sensitive == ["query", "name"])
      configuration.globals.sensitive = []
      #expect(options(configuration) == options(expected))
      let defaults = options(Tracker.Configuration())
      for (option, standard) in zip(options(expected), defaults) where option == standard {
        // What tests alone set has no key.
        #expect(option.hasPrefix("isThreadless") || option.hasPrefix("refusalClock"), "\(option) has no key")
      }
    }

    @Test func `values that are no texts are read as they are`() async throws {
      let configuration = try await Tracker.Configuration(
        config: reader([
          "lane_count": .init(.int(32), isSecret: false), "remove_delivered": .init(.bool(true), isSecret: false),
          "globals.sensitive": .init(.stringArray(["name"]), isSecret: false),
        ]))
      #expect(configuration.laneCount == 32)
      #expect(configuration.removeDelivered)
      #expect(configuration.globals.sensitive == ["name"])
    }

    @Test(arguments: [
      ("when_full", "drop_newest", Tracker.OverflowPolicy.dropNewest), ("when_full", "drop_oldest", .dropOldest),
      ("when_full", "block", .block), ("when_full", "2s", .block(upTo: .seconds(2))),
    ])
    func `a policy is a word or a duration`(_ key: String, _ text: String, _ policy: Tracker.OverflowPolicy)
      async throws
    {
      let configuration = try await Tracker.Configuration(config: reader([key: .init(.string(text), isSecret: false)]))
      #expect(configuration.whenFull == policy)
    }

    @Test(arguments: Tracker.ClockSource.allCases)
    func `each clock has a word`(_ clock: Tracker.ClockSource) async throws {
      let configuration = try await Tracker.Configuration(
        config: reader(["clock": .init(.string("\(clock)"), isSecret: false)]))
      #expect(configuration.clock == clock)
    }

    @Test func `each wrong value is an error with its key and what is allowed`() async throws {
      let wrong = [
        "EVENTS_LANE_COUNT": "many", "EVENTS_WHEN_FULL": "wait", "EVENTS_DRAIN_INTERVAL": "1 ms",
        "EVENTS_DURABILITY": "power_cut", "EVENTS_AT_BYTE_LIMIT": "drop", "EVENTS_CLOCK": "TSC",
        "EVENTS_REMOVE_DELIVERED": "maybe", "EVENTS_RETENTION_AGE": "week", "EVENTS_SAMPLING": "page.scrolled=2",
        "EVENTS_GLOBALS_FIELDS": "region",
      ]
      let error = await #expect(throws: WeirError.self) {
        try await Tracker.Configuration(config: reader(variables: wrong))
      }
      let lines = try #require(error).message.split(separator: "\n").map(String.init)
      #expect(error?.code == .invalid)
      #expect(lines.count == wrong.count)
      func line(_ key: String) -> String { lines.first { $0.hasPrefix("the configuration: \(key) ") } ?? "" }
      #expect(line("lane_count").hasSuffix("; write a whole number"))
      #expect(line("when_full").contains(#"is "wait"; write drop_newest, drop_oldest, block, or"#))
      #expect(line("drain_interval").contains(#"is "1 ms"; write a whole number with ns"#))
      #expect(line("durability").contains(#"is "power_cut"; write process_crash, or"#))
      #expect(line("at_byte_limit").hasSuffix(#"is "drop"; write refuse or drop_oldest"#))
      #expect(line("clock").hasSuffix(#"is "TSC"; write automatic, counter, monotonic, coarse or tick"#))
      #expect(line("remove_delivered").hasSuffix("; write true or false"))
      #expect(line("retention.age").contains(#"is "week"; write a whole number with ns"#))
      #expect(line("sampling").contains(#"is "page.scrolled=2"; write each event with its rate from 0 to 1"#))
      #expect(line("globals.fields").contains(#"is "region"; write each field as name=value"#))
    }

    @Test func `a value out of range is an error of the opening, with the option`() async throws {
      let configuration = try await Tracker.Configuration(
        config: reader(["lane_count": .init(.int(1), isSecret: false)]))
      try withDirectory { directory in
        let error = #expect(throws: WeirError.self) {
          try Tracker(directory: directory, configuration: configuration)
        }
        #expect(error?.code == .invalid)
        #expect(error?.message.hasPrefix("laneCount is 1; ") == true)
      }
    }
  }
#endif

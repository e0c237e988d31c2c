// Tracker.Configuration+ConfigReader: the options of a log from a configuration of swift-configuration.

#if Configuration
  public import Configuration
  public import Weir

  extension Tracker.Configuration {
    /// Reads the options of a log from a configuration. An option without a value keeps its default.
    ///
    /// ```swift
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider())
    /// let configuration = try await Tracker.Configuration(config: config.scoped(to: "events"))
    /// let tracker = try Tracker(directory: directory, configuration: configuration)
    /// ```
    ///
    /// | key | value |
    /// |---|---|
    /// | `lane_count`, `spare_lanes`, `batch_threads` | a whole number |
    /// | `lane_bytes`, `overflow_bytes`, `segment_bytes`, `maximum_event_bytes` | a whole number of bytes |
    /// | `byte_limit`, `retention.bytes` | a whole number of bytes |
    /// | `drain_interval`, `retention.age` | a duration, as in a plan: `500us`, `90s`, `7d` |
    /// | `when_full` | `drop_newest`, `drop_oldest`, `block`, or how long to block: `5ms` |
    /// | `durability` | `process_crash`, or the interval between syncs: `1s` |
    /// | `at_byte_limit` | `refuse` or `drop_oldest` |
    /// | `clock` | `automatic`, `counter`, `monotonic`, `coarse` or `tick` |
    /// | `remove_delivered`, `create_directory` | true or false |
    /// | `ring_directory` | a path |
    /// | `globals.app`, `globals.version`, `globals.host` | a text |
    /// | `globals.environment`, `globals.session`, `globals.consent` | a text |
    /// | `globals.fields` | a list of texts: `region=eu-west` |
    /// | `globals.sensitive` | a list of names |
    /// | `sampling` | a list of events with their rates: `page.scrolled=0.01` |
    ///
    /// ``Tracker/Configuration/logger`` has no key. No option is a secret. A configuration can't list its keys, so a
    /// misspelt key is not noticed.
    ///
    /// Throws `invalid` with all values that can't be read, each with its key and what is allowed. The opening of the
    /// log checks the ranges, and names the option: `laneCount` for `lane_count`. Each key is fetched once, one after
    /// the other.
    ///
    /// - Parameter config: The configuration, scoped to the keys of the log.
    public init(config: ConfigReader) async throws(WeirError) {
      self.init()
      var values = ConfigValues(config)
      await values.read(.whole, "lane_count", to: &laneCount)
      await values.read(.whole, "spare_lanes", to: &spareLanes)
      await values.read(.whole, "lane_bytes", to: &laneBytes)
      await values.read(.whole, "overflow_bytes", to: &overflowBytes)
      await values.read(.whole, "segment_bytes", to: &segmentBytes)
      await values.read(.whole, "maximum_event_bytes", to: &maximumEventBytes)
      await values.read(.duration, "drain_interval", to: &drainInterval)
      await values.read(.overflowPolicy, "when_full", to: &whenFull)
      await values.read(.durability, "durability", to: &durability)
      await values.read(.whole, "byte_limit", to: &byteLimit)
      await values.read(.byteLimitPolicy, "at_byte_limit", to: &atByteLimit)
      await values.read(.whole, "retention.bytes", to: &retention.bytes)
      await values.read(.duration, "retention.age", to: &retention.age)
      await values.read(.flag, "remove_delivered", to: &removeDelivered)
      await values.read(.whole, "batch_threads", to: &batchThreads)
      await values.read(.clock, "clock", to: &clock)
      await values.read(.flag, "create_directory", to: &createDirectory)
      await values.read(.text, "ring_directory", to: &ringDirectory)
      await values.read(.text, "globals.app", to: &globals.app)
      await values.read(.text, "globals.version", to: &globals.version)
      await values.read(.text, "globals.host", to: &globals.host)
      await values.read(.text, "globals.environment", to: &globals.environment)
      await values.read(.text, "globals.session", to: &globals.session)
      await values.read(.text, "globals.consent", to: &globals.consent)
      await values.read(.fields, "globals.fields", to: &globals.fields)
      await values.read(.names, "globals.sensitive", to: &globals.sensitive)
      await values.read(.rules, "sampling", to: &sampling)
      guard values.problems.isEmpty else {
        throw WeirError(.invalid, values.problems.map { "the configuration: \($0)" }.joined(separator: "\n"))
      }
    }
  }

  /// The values of a configuration, and what is wrong with them.
  private struct ConfigValues {
    private(set) var problems: [String] = []
    private let config: ConfigReader

    init(_ config: ConfigReader) {
      self.config = config
    }

    mutating func read<Value>(_ kind: ConfigValueKind<Value>, _ key: String, to option: inout Value) async {
      do {
        guard let value = try await kind.fetch(config, ConfigKey(key.split(separator: ".").map(String.init))) else {
          return
        }
        option = value
      } catch let error as UnreadableValue {
        problems.append("\(key) is \(error.value); \(kind.allowed)")
      } catch {
        problems.append("\(key) can't be read (\(error)); \(kind.allowed)")
      }
    }
  }

  extension ConfigValues {
    /// Reads an option that may be absent.
    mutating func read<Value>(_ kind: ConfigValueKind<Value>, _ key: String, to option: inout Value?) async {
      await read(kind.map { .some($0) }, key, to: &option)
    }
  }

  /// A value that is of the right type and can't be read nevertheless.
  private struct UnreadableValue: Error {
    let value: String
  }

  /// How a value is read, and the remedy for a value that can't be.
  private struct ConfigValueKind<Value> {
    let allowed: String
    // Fetched: the synchronous calls return nil also for a value that can't be read.
    let fetch: (ConfigReader, ConfigKey) async throws -> Value?

    func map<Other>(_ change: @escaping (Value) -> Other) -> ConfigValueKind<Other> {
      .init(allowed: allowed) { config, key in try await fetch(config, key).map(change) }
    }

    /// A text that `read` understands; `read` returns `nil` for any other.
    static func text(_ allowed: String, _ read: @escaping (String) -> Value?) -> Self {
      .init(allowed: allowed) { config, key in
        guard let text = try await config.fetchString(forKey: key) else { return nil }
        guard let value = read(text) else { throw UnreadableValue(value: "\"\(text)\"") }
        return value
      }
    }

    /// A list of texts that `read` understands, each by itself.
    static func list<Element>(
      _ allowed: String, _ read: @escaping (String) -> Element?
    ) -> Self where Value == [Element] {
      .init(allowed: allowed) { config, key in
        guard let texts = try await config.fetchStringArray(forKey: key) else { return nil }
        // An empty text of the environment is a list with an empty text.
        return try (texts == [""] ? [] : texts).map { text in
          guard let value = read(text) else { throw UnreadableValue(value: "\"\(text)\"") }
          return value
        }
      }
    }
  }

  extension ConfigValueKind where Value == Int {
    static var whole: Self { .init(allowed: "write a whole number") { try await $0.fetchInt(forKey: $1) } }
  }

  extension ConfigValueKind where Value == Bool {
    static var flag: Self { .init(allowed: "write true or false") { try await $0.fetchBool(forKey: $1) } }
  }

  extension ConfigValueKind where Value == String {
    static var text: Self { .text("write a text") { $0 } }
  }

  extension ConfigValueKind where Value == Duration {
    static var duration: Self {
      .text("write a whole number with ns, us, ms, s, m, h or d, such as 90s") { Duration(text: $0) }
    }
  }

  extension ConfigValueKind where Value == Tracker.OverflowPolicy {
    static var overflowPolicy: Self {
      .text("write drop_newest, drop_oldest, block, or how long to block, such as 5ms") { text in
        switch text {
        case "drop_newest": .dropNewest
        case "drop_oldest": .dropOldest
        case "block": .block
        default: Duration(text: text).map { .block(upTo: $0) }
        }
      }
    }
  }

  extension ConfigValueKind where Value == Tracker.Durability {
    static var durability: Self {
      .text("write process_crash, or the interval between syncs, such as 1s") { text in
        text == "process_crash" ? .processCrash : Duration(text: text).map { .interval($0) }
      }
    }
  }

  extension ConfigValueKind where Value == Tracker.ByteLimitPolicy {
    static var byteLimitPolicy: Self {
      .text("write refuse or drop_oldest") { ["refuse": .refuse, "drop_oldest": .dropOldest][$0] }
    }
  }

  extension ConfigValueKind where Value == Tracker.ClockSource {
    static var clock: Self {
      .text("write automatic, counter, monotonic, coarse or tick") { text in
        Tracker.ClockSource.allCases.first { "\($0)" == text }
      }
    }
  }

  extension ConfigValueKind where Value == Set<String> {
    static var names: Self {
      ConfigValueKind<[String]>.list("write a list of names") { $0.isEmpty ? nil : $0 }.map { Set($0) }
    }
  }

  extension ConfigValueKind where Value == FieldObject {
    static var fields: Self {
      ConfigValueKind<[FieldObject.Member]>
        .list("write each field as name=value, such as region=eu-west") { text in
          guard let end = text.firstIndex(of: "="), end > text.startIndex else { return nil }
          return .init(name: String(text[..<end]), value: .string(String(text[text.index(after: end)...])))
        }.map { FieldObject($0) }
    }
  }

  extension ConfigValueKind where Value == [SamplingRule] {
    static var rules: Self {
      .list("write each event with its rate from 0 to 1, such as page.scrolled=0.01") { text in
        guard let end = text.lastIndex(of: "="), end > text.startIndex else { return nil }
        guard let rate = Double(text[text.index(after: end)...]), 0...1 ~= rate else { return nil }
        return SamplingRule(String(text[..<end]), rate: rate)
      }
    }
  }
#endif

// NATSServer: a nats-server with JetStream for a test, and a client that changes its streams.

#if NATS
  import Foundation
  import Synchronization
  import TestSupport
  import Testing
  import Weir
  import WeirDelivery
  import WeirFleet

  @testable import WeirNATS

  /// A server of one node. Ends with the test.
  final class NATSServer {
    /// Where the server is; `nil` if there is none on this machine, and the tests are skipped.
    static let binary: String? = {
      let named = ProcessInfo.processInfo.environment["NATS_SERVER"]
      let places = [named, "/usr/sbin/nats-server", "/usr/local/bin/nats-server", "/usr/bin/nats-server"]
      return places.compactMap { $0 }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    private let directory: String
    private var process: Process?
    private(set) var port = 0

    /// Starts a server whose files are in a directory. `more` is added to its configuration.
    init(_ directory: String, _ more: String = "") throws {
      self.directory = directory
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      try start(more)
    }

    deinit { kill() }

    var address: String { "nats://127.0.0.1:\(port)" }

    /// Starts the server again, where it was.
    func start(_ more: String = "") throws {
      try configure(more)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: try #require(Self.binary))
      process.arguments = ["-c", directory + "/conf", "--ports_file_dir", directory, "-l", directory + "/log"]
      process.standardError = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      self.process = process
      let deadline = Date(timeIntervalSinceNow: 300)
      let ports = directory + "/nats-server_\(process.processIdentifier).ports"
      struct Ports: Decodable { var nats: [String] }
      while Date.now < deadline {
        if let bytes = FileManager.default.contents(atPath: ports),
          let found = try? JSONDecoder().decode(Ports.self, from: bytes), let url = found.nats.first,
          let port = url.split(separator: ":").last.flatMap({ Int($0) })
        {
          self.port = port
          return
        }
        usleep(10_000)
      }
      Issue.record("the server did not start: see \(directory)/log")
    }

    private func configure(_ more: String) throws {
      let text = """
        listen: "127.0.0.1:\(port == 0 ? -1 : port)"
        jetstream { store_dir: "\(directory)/store" }
        \(more)

        """
      try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "/conf"))
    }

    /// Has the server read another configuration.
    func reload(_ more: String) throws {
      try configure(more)
      if let process { Foundation.kill(process.processIdentifier, SIGHUP) }
    }

    func kill() {
      guard let process else { return }
      Foundation.kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      self.process = nil
    }

    // MARK: Streams

    /// Asks JetStream, as a user of the test.
    @discardableResult
    func ask(_ subject: String, _ body: String = "", user: String? = nil) throws -> String {
      var configuration = try NATSConfiguration(address, stream: "any")
      if let user { configuration.authentication = .user(user, password: Secret(user)) }
      let connection = try NATSConnection(configuration, name: "test")
      return String(decoding: try connection.ask("$JS.API." + subject, body), as: UTF8.self)
    }

    func makeStream(
      _ name: String, subjects: String? = nil, more: String = "", user: String? = nil, update: Bool = false
    ) throws {
      let body =
        #"{"name":"\#(name)","subjects":["\#(subjects ?? name + ".>")"],"storage":"file","num_replicas":1,"#
        + #""discard":"new"\#(more)}"#
      let answer = try ask("STREAM.\(update ? "UPDATE" : "CREATE").\(name)", body, user: user)
      #expect(!answer.contains(#""error""#), "\(answer)")
    }
  }

  /// Options under which whatever waits goes out at once.
  func soon() -> DeliveryOptions {
    var options = DeliveryOptions.asParts
    options.flush.interval = .milliseconds(10)
    options.backoff.least = .milliseconds(10)
    options.backoff.most = .milliseconds(200)
    options.backoff.openFor = .milliseconds(50)
    return options
  }

  func dispatcherConfiguration() -> Dispatcher.Configuration {
    var configuration = Dispatcher.Configuration()
    configuration.logger = nil
    configuration.cursorInterval = .zero
    return configuration
  }

  /// Captures events, and returns their ids.
  @discardableResult
  func capture(_ count: Int, in tracker: Tracker, text: String = "some text") throws -> [EventID] {
    let ids = (0..<count).compactMap { number in
      tracker.track("e", fields: ["n": .int(Int64(number)), "text": .string("\(text) \(number % 7)")]).id
    }
    #expect(ids.count == count)
    try tracker.drain()
    return ids
  }

  /// Collects everything that a source has, and returns the events of the log.
  func collect(_ source: any MessageSource, in directory: String, missing: UInt64 = 0) throws -> [StoredEvent] {
    var configuration = FleetReader.Configuration()
    // What was rejected never comes, and what follows on it need not wait for long.
    if missing > 0 { configuration.limits.patience = .milliseconds(500) }
    let reader = FleetReader(directory: directory, configuration: configuration)
    let end = Date(timeIntervalSinceNow: 120)
    var calm = 0
    try reader.run(source) {
      calm = reader.report.isAtEnd ? calm + 1 : 0
      return calm > 3 || Date.now > end
    }
    #expect(reader.report.trouble == nil)
    #expect(reader.report.missing == missing)
    return try EventReader(directory: directory).all().filter { !$0.isNotice }
  }
#endif

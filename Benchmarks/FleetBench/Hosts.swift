// Hosts: hosts that capture into logs of their own, and deliver these through the broker.

#if Tool && NATS
  import ArgumentParser
  import Foundation
  import Synchronization
  import Weir
  import WeirDelivery
  import WeirFleet
  import WeirNATS

  struct HostsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "hosts", abstract: "Hosts that capture and deliver with Weir, each with a log of its own.")

    @OptionGroup var load: Load

    @Option(help: "Folder for the logs, which must be empty. The logs stay there.")
    var directory: String

    @Option(help: "Events of a host that may wait for their acknowledgement. Nothing is captured meanwhile.")
    var pending = 6_000

    func run() async throws {
      let hosts = try load.names.map { name in
        try WeirHost(name, NATSConfiguration(load.servers, stream: load.stream), in: directory, pending: pending)
      }
      for host in hosts { try host.dispatcher.start() }
      try await BenchRun(load, hosts).run()
      await withTaskGroup { group in
        for host in hosts { group.addTask { await host.dispatcher.shutdown(budget: .seconds(10)) } }
      }
      let settled = try hosts.reduce(0) { try $0 + $1.settled() }
      let acknowledged = hosts.reduce(0) { $0 + $1.acknowledged }
      // The answer to a call that was cut short at the end counts for nothing.
      guard settled <= acknowledged else {
        throw BenchFailure(description: "the cursors have \(settled) events, and the broker \(acknowledged)")
      }
    }
  }

  /// A process of a fleet: a tracker, and a dispatcher with the broker as its only provider.
  private final class WeirHost: BenchHost {
    let tracker: Tracker
    let dispatcher: Dispatcher
    private let provider: CountedProvider
    private let pending: Int
    /// Belongs to the thread that makes the events.
    private let captured = Atomic(0)

    init(_ name: String, _ stream: NATSConfiguration, in folder: String, pending: Int) throws {
      self.pending = pending
      var configuration = Tracker.Configuration()
      configuration.laneCount = 2
      configuration.spareLanes = 1
      configuration.laneBytes = 256 << 10
      configuration.maximumEventBytes = 1 << 10
      configuration.segmentBytes = 1 << 20
      configuration.overflowBytes = 0
      configuration.whenFull = .block
      configuration.removeDelivered = true
      configuration.logger = nil
      tracker = try Tracker(directory: folder + "/" + name, configuration: configuration)
      provider = CountedProvider(try BrokerBatchProvider.nats(stream, host: name))
      var options = Dispatcher.Configuration()
      options.logger = nil
      dispatcher = try Dispatcher(tracker, configuration: options)
      try dispatcher.add(batchesTo: provider, options: .asParts)
    }

    func make(_ count: Int) -> Int {
      let first = captured.load(ordering: .relaxed)
      guard first - provider.events.load(ordering: .relaxed) + count <= pending else { return 0 }
      for number in first..<first + count { _ = tracker.track(Sale(number: number)) }
      captured.store(first + count, ordering: .relaxed)
      return count
    }

    func tend() {}

    var acknowledged: Int { provider.events.load(ordering: .relaxed) }
    var messages: Int { provider.parts.load(ordering: .relaxed) }
    var bytes: Int { provider.bytes.load(ordering: .relaxed) }

    /// What the cursor says that the broker has.
    func settled() throws -> Int {
      guard case .position(let position) = try Cursor.read(provider.name, of: tracker.directory) else { return 0 }
      return Int(position.counts?.acknowledged ?? 0)
    }
  }

  /// The provider of the broker, whose answers are counted: a ledger would read files for that.
  private final class CountedProvider: PartProvider {
    let events = Atomic(0)
    let parts = Atomic(0)
    let bytes = Atomic(0)
    private let provider: BrokerBatchProvider

    init(_ provider: BrokerBatchProvider) { self.provider = provider }

    var name: String { provider.name }
    var largestPart: Int { provider.largestPart }
    var bytesAtOnce: Int { provider.bytesAtOnce }
    func setup() async throws { try await provider.setup() }
    func shutdown() async { await provider.shutdown() }

    func deliver(_ cut: [LogPart]) async throws -> [Verdict] {
      let verdicts = try await provider.deliver(cut)
      // Those behind the first one that is to come again come again, too.
      for (part, verdict) in zip(cut, verdicts) {
        guard verdict == .accepted else { break }
        events.add(Int(part.summary.events), ordering: .relaxed)
        parts.add(1, ordering: .relaxed)
        bytes.add(part.bytes.count, ordering: .relaxed)
      }
      return verdicts
    }
  }
#endif

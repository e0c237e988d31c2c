// Region: thousands of hosts, a broker and a collector, by a virtual clock.

import Foundation
import Weir
import WeirFleet

/// Runs a scenario. All that is random comes from the seed.
///
/// The broker takes messages in the order in which they come, whoever still waits for the answer.
struct Region {
  private enum Happening {
    case start(host: Int)
    case stop(host: Int)
    case flush(host: Int)
    case stored(host: Int, call: Int, part: Int, message: Int)
    case noAnswer(host: Int, call: Int)
    case read
    case kill
  }

  /// As in NATSSender and DeliveryOptions.
  private static let (answerTime, patience, roundTrip) = (5.0, 20.0, 0.002)
  private static let leastPause = 0.5
  private static let largestPart = 256.0 * 1_024
  private static let leastCall = 16.0 * 1_024
  private static let readInterval = 0.2
  /// After the end nothing is captured, and what was is to arrive within so long.
  private static let settling = 900.0

  private let scenario: Scenario
  private let sizes: PartSizes
  private let builder: FleetBuilder
  private let mostEvents: UInt64
  private var random: Seeded
  private var queue = EventQueue<Happening>()
  private var hosts: [SimulatedHost] = []
  private var broker: SimulatedBroker
  private var collector: SimulatedCollector
  /// The messages on their way to the broker.
  private var sent: [Int: PartMessage] = [:]
  private var sentCount = 0
  private var openings = 0
  private var unanswered = 0
  /// The most that hosts held together, and the largest of them, in events.
  private var backlog = (all: UInt64(0), host: UInt64(0))
  /// When the collector had what had waited, and when the hosts had heard of it.
  private var caughtUp: (collected: Double?, settled: Double?)
  private var mostMessages = (second: 0, inSecond: 0, most: 0)

  init(
    _ scenario: Scenario, _ sizes: PartSizes, _ broker: BrokerCost, _ collector: CollectorCost, lanes: Int,
    seed: UInt64, in directory: String
  ) throws {
    self.scenario = scenario
    self.sizes = sizes
    builder = try FleetBuilder(lanes: lanes)
    random = Seeded(seed: seed)
    self.broker = SimulatedBroker(scenario, broker)
    try? FileManager.default.removeItem(atPath: directory + "/collected")
    self.collector = try SimulatedCollector(scenario, collector, in: directory)
    mostEvents = sizes.events(min(Self.largestPart, scenario.callBytes))
    // The mean of a load is e^½.
    let mean = scenario.eventsPerSecond / exp(0.5)
    hosts = (0..<scenario.hosts).map { SimulatedHost(number: $0, rate: mean * random.load()) }
  }

  // MARK: The clock

  /// Runs all of it, and returns what happened. Throws if an event is missing, or was collected twice.
  mutating func run() throws -> RegionResult {
    for host in hosts.indices { queue.add(.start(host: host), at: random.share() * scenario.interval) }
    queue.add(.read, at: Self.readInterval)
    for kill in scenario.collectorKills where kill < scenario.duration { queue.add(.kill, at: kill) }
    while let happening = queue.next(until: scenario.duration + Self.settling) {
      try handle(happening)
      if queue.now > scenario.duration, isSettled { break }
    }
    return try result()
  }

  private var isOver: Bool { queue.now >= scenario.duration }

  private func captured(_ host: SimulatedHost) -> Offset { host.captured(at: min(queue.now, scenario.duration)) }

  private var isSettled: Bool {
    collector.next == broker.end && collector.commitTime == nil
      && hosts.allSatisfy { $0.settled == captured($0) }
  }

  private mutating func handle(_ happening: Happening) throws {
    switch happening {
    case .start(let host): start(host)
    case .stop(let host):
      guard !isOver else { return }
      hosts[host].stop(at: queue.now, isKilled: Bool.random(using: &random), random: &random)
      queue.add(.start(host: host), at: queue.now + 5 + 25 * random.share())
    case .flush(let host): flush(host)
    case .stored(let host, let call, let part, let message): stored(host, call, part, message)
    case .noAnswer(let host, let call): noAnswer(host, call)
    case .read: try read()
    case .kill: try collector.restart()
    }
  }

  // MARK: Hosts

  private mutating func start(_ host: Int) {
    hosts[host].start(at: queue.now)
    openings += 1
    queue.add(.stop(host: host), at: queue.now + random.time(of: scenario.startsPerDay / 86_400))
    queue.add(.flush(host: host), at: queue.now + scenario.interval * random.share())
  }

  private mutating func flush(_ number: Int) {
    let host = hosts[number]
    guard host.isUp, host.call == nil else { return }
    let budget = scenario.bytesPerSecond.map { max($0, Self.largestPart) } ?? .infinity
    let callBytes = min(scenario.callBytes, host.callBytes, budget)
    host.cut(
      builder, sizes, mostEvents: min(mostEvents, sizes.events(callBytes)), callBytes: callBytes,
      at: min(queue.now, scenario.duration))
    guard host.call != nil else { return again(number, in: scenario.interval) }
    publish(host)
  }

  private mutating func again(_ host: Int, in seconds: Double) {
    queue.add(.flush(host: host), at: queue.now + seconds)
  }

  /// Sends all parts of a call that have no answer.
  private mutating func publish(_ host: SimulatedHost) {
    guard let call = host.call else { return }
    if broker.isUp(at: queue.now) {
      for part in call.parts.indices where !call.isAnswered[part] {
        let bytes = sizes.bytes(Double(call.parts[part].offsets.count)) + sizes.headerBytes
        guard let time = broker.publish(call.parts[part], bytes: bytes, at: queue.now) else { continue }
        sentCount += 1
        sent[sentCount] = call.parts[part]
        queue.add(.stored(host: host.number, call: host.callNumber, part: part, message: sentCount), at: time)
      }
    }
    queue.add(.noAnswer(host: host.number, call: host.callNumber), at: queue.now + Self.answerTime)
  }

  private mutating func stored(_ number: Int, _ callNumber: Int, _ part: Int, _ token: Int) {
    guard let message = sent.removeValue(forKey: token) else { return }
    broker.arrived(message)
    // What the broker had not taken when it went away may be there or not. Nobody hears of it.
    let isUp = broker.isUp(at: queue.now)
    guard isUp || Bool.random(using: &random) else { return }
    let bytes = sizes.bytes(Double(message.offsets.count)) + sizes.headerBytes
    broker.store(message, bytes: bytes, at: queue.now)
    count()
    guard isUp, random.share() >= scenario.lostAnswers else {
      unanswered += 1
      return
    }
    let host = hosts[number]
    guard host.callNumber == callNumber, host.call != nil else { return }
    host.call?.isAnswered[part] = true
    host.call?.lastAnswer = queue.now
    if host.call?.isAnswered.allSatisfy({ $0 }) ?? false { end(host) }
  }

  private mutating func count() {
    let second = Int(queue.now)
    if second != mostMessages.second { (mostMessages.second, mostMessages.inSecond) = (second, 0) }
    mostMessages.inSecond += 1
    mostMessages.most = max(mostMessages.most, mostMessages.inSecond)
  }

  private mutating func noAnswer(_ number: Int, _ callNumber: Int) {
    let host = hosts[number]
    guard host.callNumber == callNumber, let call = host.call else { return }
    guard queue.now - call.lastAnswer < Self.patience else { return end(host) }
    publish(host)
  }

  /// Ends a call, with all its answers or without.
  private mutating func end(_ host: SimulatedHost) {
    guard let call = host.call else { return }
    host.settle()
    let budget = scenario.bytesPerSecond.map { call.bytes / $0 } ?? 0
    if call.isAnswered.allSatisfy({ $0 }) {
      let isMore = call.bytes >= min(scenario.callBytes, host.callBytes) / 2
      host.failures = 0
      host.callBytes *= 2
      return again(host.number, in: max(budget, isMore ? Self.roundTrip : scenario.interval))
    }
    host.failures += 1
    if scenario.halvesCalls {
      host.callBytes = max(Self.leastCall, min(scenario.callBytes, host.callBytes, call.bytes) / 2)
    }
    let bound = min(Self.leastPause * exp2(Double(min(host.failures, 30) - 1)), scenario.longestPause)
    again(host.number, in: max(budget, bound * random.share()))
  }

  // MARK: The collector

  private mutating func read() throws {
    noteBacklog()
    var taken = 0.0
    // While the broker is away nothing can be read.
    if broker.isUp(at: queue.now) {
      while collector.next < broker.end, taken < Self.readInterval {
        let stored = broker.stream[collector.next]
        taken += collector.take(stored.message, bytes: stored.bytes, at: queue.now + taken)
      }
    }
    collector.look(at: queue.now)
    if let due = collector.commitTime, due <= queue.now + taken {
      taken += try collector.commit(at: queue.now + taken)
      broker.forget(below: collector.durable)
    }
    queue.add(.read, at: queue.now + max(Self.readInterval, taken))
  }

  private mutating func noteBacklog() {
    guard let outage = scenario.outage, queue.now >= outage.lowerBound - 1 else { return }
    guard caughtUp.collected == nil || caughtUp.settled == nil else { return }
    var (all, here, most): (UInt64, UInt64, UInt64) = (0, 0, 0)
    for host in hosts {
      let captured = captured(host)
      all += captured
      here += host.settled
      most = max(most, captured - host.settled)
    }
    backlog = (max(backlog.all, all - here), max(backlog.host, most))
    guard queue.now > outage.upperBound else { return }
    // As before the outage: an interval of events, and those of hosts that are down.
    let usual = UInt64(scenario.eventsPerSecond * Double(scenario.hosts) * scenario.interval * 1.2)
    if caughtUp.collected == nil, all - collector.events < usual { caughtUp.collected = queue.now }
    if caughtUp.settled == nil, all - here < usual { caughtUp.settled = queue.now }
  }

  // MARK: What happened

  private func result() throws -> RegionResult {
    let captured = hosts.reduce(0) { $0 + self.captured($1) }
    let settled = hosts.reduce(0) { $0 + $1.settled }
    let collected = collector.state.logs.values.reduce(0) { $0 + $1.events }
    let isComplete = settled == captured && collector.next == broker.end
    guard isComplete || scenario.mayFallBehind else {
      throw SimulationFailure("\(scenario.name): \(captured - settled) events are still at hosts")
    }
    guard collected == collector.events, isComplete ? collected == captured : collected <= captured else {
      throw SimulationFailure("\(scenario.name): \(captured) events were captured, and \(collected) collected")
    }
    for (id, _) in collector.state.logs where isComplete && !collector.state.missing(ofLog: id).isEmpty {
      throw SimulationFailure("\(scenario.name): something of the log \(PartMessage.digits(id)) is missing")
    }
    let live = scenario.duration - (scenario.outage.map { $0.upperBound - $0.lowerBound } ?? 0)
    return RegionResult(
      scenario: scenario, events: captured, collected: collected, openings: openings, messages: broker.messages,
      bytes: broker.bytes,
      duplicates: broker.duplicates, repeated: collector.repeated, unanswered: unanswered,
      brokerShare: broker.busy / live, longestQueue: broker.longestQueue, mostMessages: mostMessages.most,
      segments: collector.segments, commitShare: collector.commitSeconds / live, delays: collector.delays,
      backlog: backlog,
      collectedAfter: scenario.outage.map { (caughtUp.collected ?? .infinity) - $0.upperBound },
      settledAfter: scenario.outage.map { (caughtUp.settled ?? .infinity) - $0.upperBound }, live: live)
  }
}

/// What happened in a region.
struct RegionResult {
  let scenario: Scenario
  let events: UInt64
  /// By the end.
  let collected: UInt64
  let openings: Int
  let messages: Int
  let bytes: Double
  let duplicates: Int
  let repeated: UInt64
  let unanswered: Int
  let brokerShare: Double
  let longestQueue: Double
  let mostMessages: Int
  let segments: Int
  let commitShare: Double
  let delays: Delays
  let backlog: (all: UInt64, host: UInt64)
  /// Seconds from the outage's end until the collector had what had waited, and until the hosts had heard of it.
  let collectedAfter: Double?
  let settledAfter: Double?
  /// Seconds in which the broker was there.
  let live: Double
}

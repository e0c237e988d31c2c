// SimulatedCollector: a collector of a simulated region: the real state, its file, and kills.

import Weir
import WeirFleet

/// What `FleetCollector` and `FleetReader` do, without the bytes of the parts. Messages and commits take the time that
/// the real ones took.
struct SimulatedCollector {
  /// The limits of `FleetReader`.
  private static let commit = (least: 1.0, log: 0.02, most: 30.0, bytes: 32.0 * 1_048_576)
  private static let patience = 60.0
  private static let summaryInterval = 60.0

  private let cost: CollectorCost
  private let file: FleetStateFile
  private(set) var state = FleetState()
  private(set) var next = 0
  private var waiting: [UInt64: [(message: PartMessage, position: Int, since: Double)]] = [:]

  /// What was added since the last commit.
  private var uncommitted: [(message: PartMessage, new: UInt64)] = []
  private var uncommittedOpenings: Set<UInt64> = []
  private var uncommittedSince = 0.0
  private var uncommittedBytes = 0.0
  /// What the segments have that the summary does not.
  private var sinceSummary: [(message: PartMessage, new: UInt64)] = []
  private(set) var durable = 0
  private var nextSummary = summaryInterval

  private(set) var events: UInt64 = 0
  private var committedEvents: UInt64 = 0
  private(set) var repeated: UInt64 = 0
  private(set) var messages = 0
  private(set) var segments = 0
  private(set) var commitSeconds = 0.0
  private(set) var delays = Delays()

  init(_ scenario: Scenario, _ cost: CollectorCost, in directory: String) throws {
    self.cost = cost
    file = try FleetStateFile(in: directory)
  }

  /// Takes a message, and returns the seconds that this takes.
  mutating func take(_ message: PartMessage, bytes: Double, at now: Double) -> Double {
    messages += 1
    let position = next
    next += 1
    switch state.standing(of: message) {
    case .known: repeated += message.events
    case .early: waiting[message.logID, default: []].append((message, position, now))
    case .next:
      add(message, bytes: bytes, at: now)
      release(message.logID, at: now)
    }
    return cost.message + cost.byte * bytes
  }

  private mutating func add(_ message: PartMessage, bytes: Double, at now: Double) {
    let known = state.known(in: message).filter { $0.lane == LaneSpan.offsets }
    let old = known.reduce(0) { $0 + UInt64($1.positions.count) >> 3 }
    events += message.events - old
    repeated += old
    state.collected(message)
    state.count(message.events - old, ofLog: message.logID)
    if uncommitted.isEmpty { uncommittedSince = now }
    uncommitted.append((message, message.events - old))
    uncommittedOpenings.insert(message.opening)
    uncommittedBytes += bytes
  }

  private mutating func release(_ log: UInt64, at now: Double) {
    while let index = waiting[log]?.firstIndex(where: { state.standing(of: $0.message) != .early }) {
      guard let message = waiting[log]?.remove(at: index).message else { return }
      if state.standing(of: message) == .known { repeated += message.events } else { add(message, bytes: 0, at: now) }
    }
    if waiting[log]?.isEmpty ?? false { waiting[log] = nil }
  }

  /// Takes parts that have waited for too long.
  mutating func look(at now: Double) {
    for (log, parts) in waiting {
      guard let first = parts.first, first.since <= now - Self.patience else { continue }
      waiting[log]?.removeFirst()
      add(first.message, bytes: 0, at: now)
      release(log, at: now)
    }
  }

  /// When the next commit is due.
  var commitTime: Double? {
    guard !uncommitted.isEmpty else { return nil }
    if uncommittedBytes >= Self.commit.bytes { return uncommittedSince }
    let wait = Self.commit.least + Self.commit.log * Double(max(uncommittedOpenings.count - 1, 0))
    return uncommittedSince + min(wait, Self.commit.most)
  }

  /// Commits, and returns the seconds that this takes.
  mutating func commit(at now: Double) throws -> Double {
    let begun = uncommittedOpenings.count
    let seconds = Double(begun) * cost.segment
    for (message, _) in uncommitted {
      let first = Double(message.times?.lowerBound ?? 0) / 1e9
      delays.note(now + seconds - first)
    }
    segments += begun
    commitSeconds += seconds
    sinceSummary += uncommitted
    committedEvents = events
    durable = waiting.values.joined().map(\.position).min() ?? next
    (uncommitted, uncommittedOpenings, uncommittedBytes) = ([], [], 0)
    if now >= nextSummary {
      nextSummary = now + Self.summaryInterval
      var content = FleetStateFile.Content()
      content.state = state
      content.positions = ["stream": UInt64(durable)]
      try file.write(content)
      sinceSummary = []
    }
    return seconds
  }

  /// A kill, and the next start: from the file, and from the segments that it does not have.
  mutating func restart() throws {
    let content = try file.read() ?? FleetStateFile.Content()
    state = content.state
    for (message, new) in sinceSummary {
      state.collected(message)
      state.count(new, ofLog: message.logID)
    }
    (events, next, waiting) = (committedEvents, durable, [:])
    (uncommitted, uncommittedOpenings, uncommittedBytes) = ([], [], 0)
  }
}

/// How long the oldest event of each part waited from its capture until readers of the log saw it.
struct Delays {
  private var tenths = [Int](repeating: 0, count: 200_000)
  private var count = 0
  private(set) var most = 0.0

  mutating func note(_ seconds: Double) {
    tenths[min(max(Int(seconds * 10), 0), tenths.count - 1)] += 1
    count += 1
    most = max(most, seconds)
  }

  func percentile(_ share: Double) -> Double {
    var left = Int((Double(count) * share).rounded(.up))
    for (index, number) in tenths.enumerated() where number > 0 {
      left -= number
      if left <= 0 { return Double(index) / 10 }
    }
    return 0
  }
}

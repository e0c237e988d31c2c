// SimulatedBroker: a broker of a simulated region: a stream with retention, a window for duplicates, and outages.

import Weir
import WeirFleet

/// A stream of one cluster. Messages are taken one after the other, each for its time.
struct SimulatedBroker {
  struct Stored {
    var time: Double
    var message: PartMessage
    var bytes: Double
  }

  private struct ID: Hashable {
    var log: UInt64
    var offsets: Range<Offset>
  }

  let cost: BrokerCost
  private let scenario: Scenario
  /// The messages that the collector may still ask for, and the position of the first one.
  private(set) var stream: ArraySlice<Stored> = []
  private var window: Set<ID> = []
  private var windowOrder: ArraySlice<(time: Double, id: ID)> = []
  private var busyUntil = 0.0
  /// Copies of one message that are on their way.
  private var coming: [ID: Int] = [:]
  /// More copies do not fit into the buffers of a connection: the sender waits.
  private static let mostCopies = 2
  /// A message that is there already goes to one of three servers alone.
  private static let costOfKnown = 1 / 3.0

  private(set) var messages = 0
  private(set) var bytes = 0.0
  private(set) var duplicates = 0
  private(set) var busy = 0.0
  /// The longest time that a message had to wait for the ones before.
  private(set) var longestQueue = 0.0

  init(_ scenario: Scenario, _ cost: BrokerCost) {
    self.scenario = scenario
    self.cost = cost
  }

  var end: Int { stream.endIndex }

  /// Whether the stream has a leader.
  func isUp(at now: Double) -> Bool {
    if let outage = scenario.outage, outage.contains(now) { return false }
    let every = scenario.failovers.every
    return now < every || now.truncatingRemainder(dividingBy: every) >= scenario.failovers.length
  }

  /// Takes a message, behind all that came before, and returns when it is stored; `nil` if the connection is full.
  mutating func publish(_ message: PartMessage, bytes: Double, at now: Double) -> Double? {
    let id = ID(log: message.logID, offsets: message.offsets)
    guard coming[id, default: 0] < Self.mostCopies else { return nil }
    let isKnown = window.contains(id) || coming[id] != nil
    coming[id, default: 0] += 1
    let seconds = cost.seconds(bytes) * (isKnown ? Self.costOfKnown : 1)
    busyUntil = max(busyUntil, now) + seconds
    busy += seconds
    longestQueue = max(longestQueue, busyUntil - now)
    return busyUntil
  }

  /// A message is no longer on its way.
  mutating func arrived(_ message: PartMessage) {
    let id = ID(log: message.logID, offsets: message.offsets)
    if let copies = coming[id] { coming[id] = copies > 1 ? copies - 1 : nil }
  }

  /// Stores a message, unless its id is known.
  mutating func store(_ message: PartMessage, bytes: Double, at now: Double) {
    while let first = windowOrder.first, first.time < now - scenario.window {
      window.remove(first.id)
      windowOrder.removeFirst()
    }
    let id = ID(log: message.logID, offsets: message.offsets)
    guard window.insert(id).inserted else {
      duplicates += 1
      return
    }
    windowOrder.append((now, id))
    stream.append(Stored(time: now, message: message, bytes: bytes))
    messages += 1
    self.bytes += bytes
  }

  /// Forgets what nobody asks for any more, for the sake of this process's memory.
  mutating func forget(below position: Int) {
    if position > stream.startIndex { stream.removeFirst(position - stream.startIndex) }
  }
}

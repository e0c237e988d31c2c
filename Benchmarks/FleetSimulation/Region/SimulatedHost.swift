// SimulatedHost: a host of a simulated region: a log that grows, and what its sender has of it.

import Weir
import WeirFleet

/// A host's log and its sender, as `BatchLoop` and `NATSSender` go about it: one call at a time, settled in order.
final class SimulatedHost {
  let number: Int
  let name: String
  let log: UInt64
  /// Events a second while the process runs.
  let rate: Double

  /// The openings that are not settled; the last one is the present one.
  private(set) var openings: [SimulatedOpening] = []
  private var openingCount = 0
  /// Offsets at `since`, where the process began to capture; `nil` while it is down.
  private var base: Offset = 0
  private var since: Double?
  /// Everything below was acknowledged.
  private(set) var settled: Offset = 0
  /// As the file has it, which a new process goes by.
  private var kept: Offset = 0

  struct Call {
    var parts: [PartMessage]
    var isAnswered: [Bool]
    var bytes: Double
    var lastAnswer: Double
  }

  /// The call that waits for answers, and its number: answers to earlier calls come too late.
  var call: Call?
  private(set) var callNumber = 0
  var failures = 0
  /// The most bytes of the next call, where failures make calls smaller.
  var callBytes = Double.infinity

  init(number: Int, rate: Double) {
    self.number = number
    self.rate = rate
    name = FleetBuilder.name(number)
    log = FleetBuilder.id(number, 0)
  }

  func start(at now: Double) {
    openingCount += 1
    openings.append(SimulatedOpening(number: FleetBuilder.id(number, openingCount), start: base, begun: now))
    since = now
    settled = kept
    failures = 0
    callBytes = .infinity
  }

  /// The process ends. After a kill its cursor may be older than what was acknowledged.
  func stop(at now: Double, isKilled: Bool, random: inout Seeded) {
    base = captured(at: now)
    since = nil
    call = nil
    callNumber += 1
    if !isKilled || Bool.random(using: &random) { kept = settled }
  }

  var isUp: Bool { since != nil }

  func captured(at now: Double) -> Offset {
    guard let since, now > since else { return base }
    return base + Offset((now - since) * rate)
  }

  /// When an event of an opening was captured.
  private func time(of offset: Offset, in opening: SimulatedOpening) -> Double {
    opening.begun + Double(offset - opening.start) / rate
  }

  /// Cuts the next call: parts that follow on one another, each of one opening.
  func cut(_ builder: FleetBuilder, _ sizes: PartSizes, mostEvents: UInt64, callBytes: Double, at now: Double) {
    var parts: [PartMessage] = []
    var (position, bytes) = (settled, 0.0)
    let end = captured(at: now)
    for (index, opening) in openings.enumerated() where bytes < callBytes {
      let openingEnd = index + 1 < openings.count ? openings[index + 1].start : end
      while position < openingEnd, bytes < callBytes {
        let upper = min(openingEnd, position + mostEvents)
        var part = builder.message(host: number, name: name, log: log, opening: opening, offsets: position..<upper)
        part.pending = end - upper
        part.times = Int64(min(time(of: position, in: opening), now) * 1e9)...Int64(now * 1e9)
        parts.append(part)
        bytes += sizes.bytes(Double(upper - position))
        position = upper
      }
    }
    guard !parts.isEmpty else { return }
    callNumber += 1
    call = Call(parts: parts, isAnswered: parts.map { _ in false }, bytes: bytes, lastAnswer: now)
  }

  /// Settles the parts of the call up to the first one without an answer, and ends the call.
  func settle() {
    guard let call else { return }
    kept = settled
    settled += zip(call.parts, call.isAnswered).prefix { $0.1 }.reduce(0) { $0 + UInt64($1.0.offsets.count) }
    while openings.count > 1, openings[1].start <= kept { openings.removeFirst() }
    self.call = nil
  }
}

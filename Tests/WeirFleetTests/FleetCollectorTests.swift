// The parts of several logs come to one, each event once and in the order of its lane: repeated, early, late, cut in
// another way, and wherever the collector is cut off.

import Foundation
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirFleet

/// A message as a broker has it.
private struct Sent {
  var headers: [String: String]
  var bytes: [UInt8]
}

private func capture(_ count: Int, in directory: String) throws {
  let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
  for number in 0..<count {
    let fields: FieldObject = ["n": .int(Int64(number)), "text": .string("some text \(number % 11)")]
    #expect(tracker.track("e\(number % 3)", fields: fields).id != nil)
  }
  try tracker.close()
}

/// Cuts a log from an offset on, as its sender would.
private func cut(_ directory: String, from: Offset = 0, host: String, largest: Int = 2_048) throws -> [Sent] {
  let cutter = try LogCutter(directory: directory, from: from)
  var sent: [Sent] = []
  while case .part(let part) = try cutter.next(atMost: largest) {
    let headers = PartMessage(part, host: host, sent: 0).headers.map { ($0.name, $0.value) }
    sent.append(Sent(headers: Dictionary(uniqueKeysWithValues: headers), bytes: part.bytes))
  }
  return sent
}

private func events(_ directory: String, host: String? = nil) throws -> [StoredEvent] {
  try EventReader(directory: directory).all().filter { !$0.isNotice && (host == nil || $0.host == host) }
}

private func limits(_ patience: Duration, heldBytes: Int = 1 << 30) -> FleetCollector.Limits {
  var limits = FleetCollector.Limits()
  limits.patience = patience
  limits.heldBytes = heldBytes
  return limits
}

extension FleetCollector {
  fileprivate func take(_ sent: Sent, _ position: UInt64, at now: Duration = .zero) throws {
    try take(headers: sent.headers, bytes: sent.bytes, source: "stream", position: position, at: now)
  }
}

struct FleetCollectorTests {
  @Test(arguments: 0..<6)
  func `every event comes once and in its order, whatever is repeated, early or cut off`(round: Int) throws {
    let seed = testSeed() &+ UInt64(round)
    print("FleetCollectorTests, round \(round): WEIR_SEED=\(seed &- UInt64(round))")
    var random = Seeded(seed: seed)
    try withDirectory { directory in
      let hosts = (0..<3).map { "host-\($0)" }
      var broker: [Sent] = []
      var queues: [[Sent]] = []
      for host in hosts {
        for _ in 0..<Int.random(in: 1...2, using: &random) {
          try capture(Int.random(in: 1...1_500, using: &random), in: directory + "/" + host)
        }
        var sent = try cut(directory + "/" + host, host: host)
        // Killed, and cut in another way from somewhere on.
        let again = Offset.random(in: 0..<UInt64(try events(directory + "/" + host).count), using: &random)
        sent += try cut(directory + "/" + host, from: again, host: host, largest: 3_000)
        queues.append(sent)
      }
      // Each host's parts come in their order, but for some that are swapped within a window, and repetitions.
      while let index = queues.indices.filter({ !queues[$0].isEmpty }).randomElement(using: &random) {
        let place = min(Int.random(in: 0...3, using: &random), queues[index].count - 1)
        let sent = queues[index].remove(at: place)
        broker.append(sent)
        if Int.random(in: 0..<8, using: &random) == 0 { broker.append(sent) }
      }
      let target = directory + "/collected"
      var collector: FleetCollector? = try FleetCollector(directory: target, limits: limits(.seconds(3_600)))
      var position = 0
      while position < broker.count {
        try collector?.take(broker[position], UInt64(position))
        position += 1
        if Int.random(in: 0..<9, using: &random) == 0 { try collector?.commit() }
        if Int.random(in: 0..<40, using: &random) == 0 { try collector?.summarize() }
        guard Int.random(in: 0..<25, using: &random) == 0 else { continue }
        // Cut off: what was not committed is gone, and comes again.
        collector = nil
        collector = try FleetCollector(directory: target, limits: limits(.seconds(3_600)))
        position = Int(collector?.position(of: "stream") ?? 0)
      }
      try collector?.commit()
      for host in hosts {
        let (found, wanted) = (try events(target, host: host), try events(directory + "/" + host))
        #expect(found.map(\.id) == wanted.map(\.id))
        #expect(found.map(\.time) == wanted.map(\.time))
        #expect(found.map(\.fields) == wanted.map(\.fields))
      }
      let state = try #require(collector?.state)
      #expect(state.logs.count == 3)
      #expect(state.logs.keys.allSatisfy { state.missing(ofLog: $0).isEmpty })
      #expect(state.openings.values.allSatisfy { $0.lanes.values.allSatisfy { $0.gaps.isEmpty } })
      #expect(try #require(collector?.counts.impatient) == 0)
    }
  }

  @Test func `parts of many logs that come in turns are a segment for each opening of a commit`() throws {
    try withDirectory { directory in
      let hosts = (0..<4).map { "host-\($0)" }
      for host in hosts { try capture(1_500, in: directory + "/" + host) }
      let sent = try hosts.map { try cut(directory + "/" + $0, host: $0) }
      let target = directory + "/collected"
      let collector = try FleetCollector(directory: target)
      let rounds = try #require(sent.map(\.count).min())
      try #require(rounds > 3)
      var position: UInt64 = 0
      for round in 0..<rounds {
        if round == rounds / 2 { try collector.commit() }
        for parts in sent {
          try collector.take(parts[round], position)
          position += 1
        }
      }
      #expect(collector.uncommittedOpenings == hosts.count)
      try collector.commit()
      #expect(try LogCollection.segments(in: target, from: 0).count == 2 * hosts.count)
      for (host, parts) in zip(hosts, sent) {
        let count = try parts.prefix(rounds).map { Int(try PartMessage(headers: $0.headers).events) }.reduce(0, +)
        let wanted = try events(directory + "/" + host).prefix(count)
        #expect(try events(target, host: host).map(\.id) == wanted.map(\.id))
      }
    }
  }

  @Test func `what never comes is missing, and what comes late after all is in the log`() throws {
    try withDirectory { directory in
      try capture(2_000, in: directory + "/host")
      let sent = try cut(directory + "/host", host: "host")
      try #require(sent.count > 4)
      let target = directory + "/collected"
      let collector = try FleetCollector(directory: target, limits: limits(.seconds(5)))
      try collector.take(sent[0], 0)
      try collector.take(sent[2], 1, at: .seconds(1))
      try collector.take(sent[3], 2, at: .seconds(2))
      try collector.commit()
      // It waits, and so does the position.
      #expect(collector.position(of: "stream") == 1)
      let next = try collector.look(at: .seconds(5))
      #expect(next == .seconds(6))
      #expect(collector.counts.impatient == 0)
      #expect(try collector.look(at: .seconds(6)) == nil)
      try collector.commit()
      #expect(collector.position(of: "stream") == 3)
      let id = try #require(collector.state.logs.keys.first)
      let lost = try PartMessage(headers: sent[1].headers)
      #expect(collector.state.missing(ofLog: id) == [lost.offsets])
      #expect(collector.counts.impatient == 1)
      try collector.take(sent[1], 3, at: .seconds(7))
      try collector.commit()
      #expect(collector.state.missing(ofLog: id).isEmpty)
      let wanted = try sent.prefix(4).map { try PartMessage(headers: $0.headers).events }.reduce(0, +)
      let found = try events(target)
      #expect(found.count == Int(wanted))
      #expect(Set(found.map(\.id)).count == found.count)
    }
  }

  @Test func `a log's own gap makes nobody wait`() throws {
    try withDirectory { directory in
      try capture(2_000, in: directory + "/host")
      var sent = try cut(directory + "/host", host: "host")
      let first = try PartMessage(headers: sent[0].headers)
      sent[2].headers["Weir-Follows"] = "\(first.offsets.upperBound)"
      let collector = try FleetCollector(directory: directory + "/collected", limits: limits(.seconds(5)))
      try collector.take(sent[0], 0)
      try collector.take(sent[2], 1)
      #expect(collector.counts.held == 0)
      let id = try #require(collector.state.logs.keys.first)
      #expect(collector.state.missing(ofLog: id) == [try PartMessage(headers: sent[1].headers).offsets])
    }
  }

  @Test func `a message that is no part, damaged, or another than its headers say is counted, and no event is lost`()
    throws
  {
    try withDirectory { directory in
      try capture(1_000, in: directory + "/host")
      let sent = try cut(directory + "/host", host: "host")
      let target = directory + "/collected"
      let collector = try FleetCollector(directory: target, limits: limits(.seconds(5)))
      try collector.take(Sent(headers: ["Content-Type": "text/plain"], bytes: [1, 2]), 0)
      var damaged = sent[0]
      damaged.bytes[damaged.bytes.count / 2] ^= 1
      try collector.take(damaged, 1)
      var other = sent[0]
      other.bytes = sent[1].bytes
      try collector.take(other, 2)
      #expect(collector.counts.unreadable == 3)
      for (index, each) in sent.enumerated() { try collector.take(each, UInt64(index + 3)) }
      try collector.commit()
      #expect(try events(target).map(\.id) == events(directory + "/host").map(\.id))
    }
  }

  @Test func `too many bytes that wait are taken, the oldest first`() throws {
    try withDirectory { directory in
      try capture(2_000, in: directory + "/host")
      let sent = try cut(directory + "/host", host: "host")
      let target = directory + "/collected"
      let collector = try FleetCollector(
        directory: target, limits: limits(.seconds(5), heldBytes: sent[1].bytes.count + sent[2].bytes.count))
      for index in 1..<4 { try collector.take(sent[index], UInt64(index)) }
      #expect(collector.counts.impatient == 1)
      try collector.take(sent[0], 4)
      try collector.commit()
      #expect(
        Set(try events(target).map(\.id)).count
          == Int(try sent.prefix(4).map { try PartMessage(headers: $0.headers).events }.reduce(0, +)))
    }
  }

  @Test func `the summary is read as it was written, and a damaged one counts as none`() throws {
    try withDirectory { directory in
      try capture(500, in: directory + "/host")
      let sent = try cut(directory + "/host", host: "höst")
      let target = directory + "/collected"
      var collector: FleetCollector? = try FleetCollector(directory: target)
      for (index, each) in sent.enumerated() { try collector?.take(each, UInt64(index)) }
      try collector?.commit()
      try collector?.summarize()
      let state = try #require(collector?.state)
      collector = nil
      let file = try FleetStateFile(in: target)
      let content = try #require(try file.read())
      #expect(content.state == state)
      #expect(content.positions == ["stream": UInt64(sent.count)])
      let bytes = FleetStateFile.bytes(of: content)
      #expect(FleetStateFile.parse(bytes) == content)
      for place in bytes.indices {
        var damaged = bytes
        damaged[place] ^= 4
        #expect(FleetStateFile.parse(damaged) == nil)
        #expect(FleetStateFile.parse(Array(bytes[..<place])) == nil)
      }
      try Data(bytes.dropLast()).write(to: URL(fileURLWithPath: target + "/collected"))
      // The segments say it all.
      let again = try FleetCollector(directory: target)
      #expect(again.state.openings == state.openings)
      #expect(again.position(of: "stream") == nil)
    }
  }

  @Test func `headers that claim too much end nothing, and what is no part waits for nothing`() throws {
    try withDirectory { directory in
      try capture(1_000, in: directory + "/host")
      let sent = try cut(directory + "/host", host: "host")
      let target = directory + "/collected"
      let collector = try FleetCollector(directory: target, limits: limits(.seconds(5)))
      var forged = sent[0]
      for value in ["18446744073709551615", "1152921504606846976"] {
        forged.headers["Weir-Events"] = value
        for position in UInt64(0)..<3 { try collector.take(forged, position) }
      }
      #expect(collector.counts.unreadable == 6)
      forged = Sent(headers: sent[2].headers, bytes: [])
      try collector.take(forged, 3)
      #expect(collector.counts.held == 0 && !collector.isWaiting)
      for (index, each) in sent.enumerated() { try collector.take(each, UInt64(index + 4)) }
      // Known by its headers alone.
      for position in UInt64(0)..<20 {
        forged = sent[0]
        forged.headers["Weir-Events"] = "1152921504606846976"
        try collector.take(forged, 100 + position)
      }
      try collector.commit()
      #expect(try events(target).map(\.id) == events(directory + "/host").map(\.id))
      var row = try #require(collector.status.rows.first)
      (row.pending, row.bytes, row.events, row.lastEvent) = (1 << 60, .max, 1, .min)
      #expect(row.pendingBytes == .max && row.lag == .max && row.pendingAge(at: .max) == .max)
    }
  }

  @Test func `what never came before a log's first part is missing, also after a kill`() throws {
    try withDirectory { directory in
      try capture(1_000, in: directory + "/host")
      let sent = try cut(directory + "/host", host: "host")
      let lost = try PartMessage(headers: sent[0].headers)
      for _ in 0..<2 {
        let collector = try FleetCollector(directory: directory + "/collected", limits: limits(.seconds(5)))
        try collector.take(sent[1], 1, at: .zero)
        try collector.look(at: .seconds(6))
        try collector.commit()
        let id = try #require(collector.state.logs.keys.first)
        #expect(collector.state.missing(ofLog: id) == [lost.offsets])
      }
    }
  }

  @Test func `what was removed before a kill is known, and a damaged summary of it is an error`() throws {
    try withDirectory { directory in
      try capture(2_000, in: directory + "/host")
      let sent = try cut(directory + "/host", host: "host")
      try #require(sent.count > 6)
      let target = directory + "/collected"
      var bounded = Tracker.Configuration()
      bounded.retention.bytes = 1
      /// The offset of the first segment, after all parts were taken, with a commit after each.
      func takeAll(_ collector: FleetCollector) throws -> Offset? {
        for (index, each) in sent.enumerated() {
          try collector.take(each, UInt64(index))
          try collector.commit()
        }
        return try LogCollection.segments(in: target, from: 0).first?.offsets.lowerBound
      }
      // Cut off without a summary: nothing was removed.
      let removed = try takeAll(try FleetCollector(directory: target, configuration: bounded))
      #expect(removed == 0)
      try {
        let collector = try FleetCollector(directory: target, configuration: bounded)
        let kept = try takeAll(collector)
        #expect(try #require(kept) > 0)
        #expect(collector.counts.events == 0 && collector.counts.repeated == 2_000)
        #expect(collector.status.rows.map(\.events) == [2_000])
      }()
      let path = target + "/collected"
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      bytes[bytes.count / 2] ^= 1
      try bytes.write(to: URL(fileURLWithPath: path))
      let error = #expect(throws: WeirError.self) {
        try FleetCollector(directory: target, configuration: bounded)
      }
      #expect(error?.code == .invalid && error?.message.contains("collected is damaged") == true)
      try FileManager.default.removeItem(atPath: path)
      let missing = #expect(throws: WeirError.self) {
        try FleetCollector(directory: target, configuration: bounded)
      }
      #expect(missing?.code == .invalid && missing?.message.contains("collected is missing") == true)
    }
  }

  @Test func `what two collectors collected is one in the next tier, and of neither is anything missing`() throws {
    try withDirectory { directory in
      try capture(1_000, in: directory + "/host")
      let sent = try cut(directory + "/host", host: "host")
      var tiers: [[Sent]] = []
      for name in ["first", "second"] {
        let collector = try FleetCollector(directory: directory + "/" + name)
        for (index, each) in sent.enumerated() {
          try collector.take(each, UInt64(index))
          try collector.commit()
        }
        tiers.append(try cut(directory + "/" + name, host: name))
      }
      let target = directory + "/third"
      let collector = try FleetCollector(directory: target)
      for (index, each) in tiers.joined().enumerated() { try collector.take(each, UInt64(index)) }
      #expect(collector.counts.held == 0)
      try collector.commit()
      #expect(try events(target).map(\.id) == events(directory + "/host").map(\.id))
      #expect(collector.state.logs.count == 2)
      #expect(collector.state.logs.keys.allSatisfy { collector.state.missing(ofLog: $0).isEmpty })
    }
  }

  @Test func `a log of captures is not collected into`() throws {
    try withDirectory { directory in
      try capture(10, in: directory)
      let error = #expect(throws: WeirError.self) { try FleetCollector(directory: directory) }
      #expect(error?.code == .invalid && error?.message.contains("log of captures") == true)
      #expect(try events(directory).count == 10)
    }
  }

  @Test func `what came in the last minute is read again after a break, and collected once`() throws {
    try withDirectory { directory in
      try capture(2_000, in: directory + "/host")
      let sent = try cut(directory + "/host", host: "host")
      try #require(sent.count > 4)
      var limits = limits(.seconds(5))
      limits.settlingTime = .seconds(60)
      // A message each 20 seconds, by the broker's clock.
      func take(_ index: Int, by collector: FleetCollector) throws {
        try collector.take(
          headers: sent[index].headers, bytes: sent[index].bytes, source: "stream", position: UInt64(index + 1),
          time: Int64(index + 1) * 20_000_000_000, at: .zero)
      }
      let last = UInt64(sent.count)
      try {
        let collector = try FleetCollector(directory: directory + "/collected", limits: limits)
        for index in sent.indices { try take(index, by: collector) }
        #expect(collector.readPlace(of: "stream")?.next == last - 3)
        try collector.summarize()
        #expect(collector.position(of: "stream") == last + 1)
      }()
      let collector = try FleetCollector(directory: directory + "/collected", limits: limits)
      let again = try #require(collector.readPlace(of: "stream")?.next)
      #expect(again == last - 3)
      for index in Int(again) - 1..<sent.count { try take(index, by: collector) }
      try collector.commit()
      #expect(try events(directory + "/collected").count == 2_000)
      #expect(collector.status.rows.map(\.events) == [2_000])
      // It was read again, and did not come again.
      #expect(collector.counts.repeated == 0)
      #expect(collector.passOver(0..<last + 1, of: "stream") == 0)
      #expect(collector.passOver(0..<last + 4, of: "stream") == 3)
    }
  }
}

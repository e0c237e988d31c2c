// CollectorCost: what a real collector takes for real parts of many logs: by message, byte, segment and start.

import Foundation
import Weir
import WeirFleet

/// The times of a collector, which the simulation of a region goes by.
struct CollectorCost {
  /// Seconds of a message, and of each byte of its part, up to the file in the page cache.
  var message: Double
  var byte: Double
  /// Seconds of a commit, by the segments that it names.
  var segment: Double
}

enum CollectorCosts {
  private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  private static let eventsAPart = 100

  /// Parts of so many logs, in the order in which a broker has them: the first of each log, the second of each, …
  private static func messages(logs: Int, parts: Int, in directory: String) throws -> [[SampleMessage]] {
    let path = directory + "/source"
    var rounds = [[SampleMessage]](repeating: [], count: parts)
    for log in 0..<logs {
      try SampleLogs.capture(eventsAPart * parts, threads: 1, in: path)
      let cut = try SampleLogs.cut(path, host: "host-\(log)", events: UInt64(eventsAPart))
      for round in 0..<min(parts, cut.count) { rounds[round].append(cut[round]) }
      try FileManager.default.removeItem(atPath: path)
    }
    return rounds
  }

  /// Commits after one part of each log, for some numbers of logs; then starts, with the summary and without it.
  static func commits(logs: [Int], parts: Int, in directory: String) throws -> (Table, CollectorCost) {
    var table = Table(
      "commit", "A real collector that commits after one part of 100 events of each log",
      [
        "logs", "commits", "take µs/part", "commit s", "µs/segment in all", "segments", "packed bytes/part",
        "disk bytes/segment", "start s", "start without summary s",
      ])
    var segment = 0.0
    for count in logs {
      let rounds = try messages(logs: count, parts: parts, in: directory)
      let target = directory + "/collected-\(count)"
      var collector: FleetCollector? = try FleetCollector(directory: target)
      var position: UInt64 = 0
      var (taking, committing): ([Double], [Double]) = ([], [])
      for messages in rounds {
        let taken = try seconds {
          for message in messages {
            try collector?.take(
              headers: message.headers, bytes: message.bytes, source: "stream", position: position, at: .zero)
            position += 1
          }
        }
        taking.append(taken / Double(count))
        committing.append(try seconds { try collector?.commit() })
      }
      try collector?.summarize()
      collector = nil
      let files = try Machine.files(in: target)
      let start = try seconds { _ = try FleetCollector(directory: target) }
      try FileManager.default.removeItem(atPath: target + "/collected")
      let startWithout = try seconds { _ = try FleetCollector(directory: target) }
      let bytes = rounds.joined().reduce(0) { $0 + $1.bytes.count }
      let (take, commit) = (median(taking), median(committing))
      segment = take + commit / Double(count)
      table.rows.append([
        .count(count), .count(parts), .number(take * 1e6, 0), .number(commit, 3),
        .number(segment * 1e6, 0), .count(files.count),
        .number(Double(bytes) / Double(position), 0), .number(files.bytes / Double(files.count), 0), .number(start, 2),
        .number(startWithout, 2),
      ])
      try FileManager.default.removeItem(atPath: target)
    }
    let (message, byte) = try rates(in: directory)
    return (table, CollectorCost(message: message, byte: byte, segment: max(0, segment - message)))
  }

  /// What a message costs, and each of its bytes, its share of the commit included, and its segment not: the difference
  /// between many parts of one log and one part. Of hosts whose events are drained one by one.
  private static func rates(in directory: String) throws -> (message: Double, byte: Double) {
    func each(_ events: Int) throws -> (seconds: Double, bytes: Double) {
      let one = try costs(of: 1, events: events, in: directory)
      let many = try costs(of: 41, events: events, in: directory)
      return ((many.seconds - one.seconds) / 40, (many.bytes - one.bytes) / 40)
    }
    let (small, large) = (try each(30), try each(1_000))
    let byte = max(0, (large.seconds - small.seconds) / (large.bytes - small.bytes))
    return (max(0, small.seconds - byte * small.bytes), byte)
  }

  /// The least time that so many parts take, with a commit.
  private static func costs(of parts: Int, events: Int, in directory: String) throws -> (
    seconds: Double, bytes: Double
  ) {
    let (source, target) = (directory + "/source", directory + "/target")
    try SampleLogs.capture(parts * events, threads: 4, pause: 1_500, in: source)
    let messages = try SampleLogs.cut(source, host: "host", events: UInt64(events))
    try FileManager.default.removeItem(atPath: source)
    var least = Double.infinity
    for _ in 0..<5 {
      let collector = try FleetCollector(directory: target)
      let taken = try seconds {
        try take(messages, collector)
        try collector.commit()
      }
      least = min(least, taken)
      try FileManager.default.removeItem(atPath: target)
    }
    return (least, Double(messages.reduce(0) { $0 + $1.bytes.count }))
  }

  /// The segments that a commit makes of several parts of each log, which come in turns, and the parts that these are for
  /// the next tier.
  static func segments(logs: Int, parts: Int, in directory: String) throws -> Table {
    var table = Table(
      "segments", "Segments of one commit of parts that came in turns, and what the next tier gets of them",
      ["logs", "parts", "segments", "disk bytes", "seconds", "next parts", "next bytes", "next logs", "hosts"])
    let messages = Array(try messages(logs: logs, parts: parts, in: directory).joined())
    let (region, central) = (directory + "/region", directory + "/central")
    let collector = try FleetCollector(directory: region)
    let taken = try seconds {
      try take(messages, collector)
      try collector.commit()
    }
    let files = try Machine.files(in: region)
    let next = try SampleLogs.cut(region, host: "region")
    let last = try FleetCollector(directory: central)
    try take(next, last)
    try last.commit()
    guard last.counts.events == collector.counts.events, last.state.openings.count == logs else {
      throw SimulationFailure("\(last.counts.events) of \(collector.counts.events) events came to the next tier")
    }
    var hosts: Set<String> = []
    let reader = try EventReader(directory: central)
    while let event = try reader.next() { hosts.formUnion(event.host.map { [$0] } ?? []) }
    table.rows.append([
      .count(logs), .count(messages.count), .count(files.count), .number(files.bytes, 0),
      .number(taken, 2), .count(next.count), .count(next.reduce(0) { $0 + $1.bytes.count }),
      .count(last.state.logs.count), .count(hosts.count),
    ])
    for path in [region, central] { try FileManager.default.removeItem(atPath: path) }
    return table
  }

  private static func take(_ messages: [SampleMessage], _ collector: FleetCollector) throws {
    for (position, message) in messages.enumerated() {
      try collector.take(
        headers: message.headers, bytes: message.bytes, source: "stream", position: UInt64(position), at: .zero)
    }
  }

  /// Parts of one log that wait for its first one.
  static func waiting(_ counts: [Int], in directory: String) throws -> Table {
    var table = Table(
      "waiting", "Parts of one log that wait for an earlier one, in a real collector",
      ["waiting", "hold µs/part", "release µs/part", "same parts in order µs/part"])
    let source = directory + "/source"
    try SampleLogs.capture(40 * (counts.max() ?? 0) + 40, threads: 1, in: source)
    let messages = try SampleLogs.cut(source, host: "host", events: 40)
    func take(_ range: Range<Int>, _ collector: FleetCollector) throws -> Double {
      try seconds {
        for position in range {
          let message = messages[position]
          try collector.take(
            headers: message.headers, bytes: message.bytes, source: "stream", position: UInt64(position), at: .zero)
        }
      }
    }
    for count in counts where count < messages.count {
      let (late, ordered) = (directory + "/late", directory + "/ordered")
      let collector = try FleetCollector(directory: late)
      let holding = try take(1..<count + 1, collector)
      let releasing = try take(0..<1, collector)
      let straight = try take(0..<count + 1, try FleetCollector(directory: ordered))
      try collector.commit()
      guard collector.counts.events == UInt64(count + 1) * 40 else { throw SimulationFailure("events are missing") }
      table.rows.append([
        .count(count), .number(holding / Double(count) * 1e6, 1), .number(releasing / Double(count) * 1e6, 1),
        .number(straight / Double(count) * 1e6, 1),
      ])
      for path in [late, ordered] { try FileManager.default.removeItem(atPath: path) }
    }
    try FileManager.default.removeItem(atPath: source)
    return table
  }
}

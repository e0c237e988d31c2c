// Regions: the scenarios that are run, and what is shown of each.

enum Regions {
  static func scenarios(hosts: Int, isQuick: Bool) -> [Scenario] {
    func scenario(_ name: String, _ change: (inout Scenario) -> Void = { _ in }) -> Scenario {
      var scenario = Scenario(name: name)
      scenario.hosts = hosts
      change(&scenario)
      return scenario
    }
    func outage(_ name: String, minutes: Double, _ change: @escaping (inout Scenario) -> Void = { _ in }) -> Scenario {
      scenario(name) { scenario in
        scenario.outage = 600..<600 + 60 * minutes
        scenario.duration = 1_200 + 60 * minutes
        scenario.collectorKills = [610 + 60 * minutes]
        change(&scenario)
      }
    }
    let least = [
      scenario("steady, 10 s"),
      outage("away 10 min", minutes: 10),
    ]
    guard !isQuick else { return least }
    return [
      scenario("steady, 1 s") { scenario in
        (scenario.interval, scenario.duration, scenario.collectorKills) = (1, 300, [150])
        scenario.mayFallBehind = true
      },
      least[0],
      scenario("steady, 60 s") { $0.interval = 60 },
      scenario("1,000 hosts, 1 s") { ($0.hosts, $0.interval) = (1_000, 1) },
      scenario("starts 5 times an hour") { $0.startsPerDay = 120 },
      least[1],
      outage("away 1 h", minutes: 60),
      // The busiest hosts need longer than the end leaves them.
      outage("away 1 h, budget 64 KB/s", minutes: 60) { ($0.bytesPerSecond, $0.mayFallBehind) = (65_536, true) },
      outage("away 1 h, calls that stay large", minutes: 60) { ($0.halvesCalls, $0.mayFallBehind) = (false, true) },
    ]
  }

  static var table: Table {
    Table(
      "region", "Regions by a virtual clock: no event is collected twice, and none is missing of what has arrived",
      [
        "scenario", "events", "collected", "openings", "messages", "messages/s", "most/s", "MB/s", "duplicates",
        "repeated events",
        "lost answers", "broker busy", "queue s", "segments/s", "commit busy", "p50 s", "p99 s", "most s",
        "backlog MB", "largest host MB", "collected after s", "settled after s",
      ])
  }

  static func row(_ result: RegionResult, _ sizes: PartSizes) -> [Cell] {
    // Of a backlog the parts are large.
    let eventBytes = sizes.bytes(3_000) / 3_000
    return [
      .text(result.scenario.name), .count(result.events),
      .number(Double(result.collected) / Double(result.events), 3), .count(result.openings), .count(result.messages),
      .number(Double(result.messages) / result.live, 0), .count(result.mostMessages),
      .number(result.bytes / result.live / 1e6, 2), .count(result.duplicates), .count(result.repeated),
      .count(result.unanswered), .number(result.brokerShare, 3), .number(result.longestQueue, 1),
      .number(Double(result.segments) / result.live, 0), .number(result.commitShare, 3),
      .number(result.delays.percentile(0.5), 1), .number(result.delays.percentile(0.99), 1),
      .number(result.delays.most, 1), .number(Double(result.backlog.all) * eventBytes / 1e6, 0),
      .number(Double(result.backlog.host) * eventBytes / 1e6, 2),
      result.collectedAfter.map { .number($0, 0) } ?? .text(""),
      result.settledAfter.map { .number($0, 0) } ?? .text(""),
    ]
  }
}

// Tiers: from what was measured to a million hosts. No figure here is measured: each follows from some that are.

import Foundation

/// A fleet in regions: hosts send to a broker of their region, whose collector's log is sent on to the central brokers.
struct Tiers {
  var hosts = 1_000_000.0
  var hostsOfRegion = 10_000.0
  var eventsPerSecond = 10.0

  let sizes: PartSizes
  let broker: BrokerCost
  let collector: CollectorCost
  /// Bytes of the collector's state.
  let openingBytes: Double

  /// The longest wait for a commit, and a day, in seconds.
  private static let (longestWait, day) = (30.0, 86_400.0)
  /// The processors that the broker's costs were measured with.
  private static let brokerProcessors = 2.0
  private static let replicas = 3.0

  /// What flows, and what it takes. A part has events of one opening, in every tier, so a tier makes fewer messages only
  /// by waiting.
  var flow: Table {
    var table = Table(
      "tiers",
      "\(Int(hosts / 1e6)) million hosts of \(Int(eventsPerSecond)) events a second, in regions of "
        + "\(Int(hostsOfRegion))",
      [
        "tier", "interval s", "messages/s", "MB/s", "header share", "broker processors", "collector processors",
        "million segments/day", "broker TB/day",
      ])
    for interval in [1.0, 10, 60] {
      add("region", interval, hosts: hostsOfRegion, to: &table)
      add("all regions", interval, hosts: hosts, to: &table)
    }
    add("central, of parts put together for 30 s", Self.longestWait, hosts: hosts, to: &table)
    add("central, of parts put together for 5 min", 300, hosts: hosts, to: &table)
    return table
  }

  private func add(_ name: String, _ interval: Double, hosts: Double, to table: inout Table) {
    let messages = hosts / interval
    let part = sizes.bytes(eventsPerSecond * interval)
    let bytes = messages * (part + sizes.headerBytes)
    // Parts come in turns, so each is a segment.
    let collecting = messages * (collector.message + collector.byte * part + collector.segment)
    table.rows.append([
      .text(name), .number(interval, 0), .number(messages, 0), .number(bytes / 1e6, 1),
      .number(sizes.headerBytes / (part + sizes.headerBytes), 2),
      .number(messages * broker.seconds(part + sizes.headerBytes) * Self.brokerProcessors, 2),
      .number(collecting, 2), .number(messages * Self.day / 1e6, 0),
      .number(bytes * Self.day * Self.replicas / 1e12, 2),
    ])
  }

  /// The memory of a collector's state, by how often processes start and how long openings are kept.
  var memory: Table {
    var table = Table(
      "openings", "Memory of the state, by starts of each host's process",
      ["starts/day", "days", "openings/host", "region GB", "million hosts GB", "GB at 24 bytes/opening"])
    for (starts, days) in [(0.0, 30.0), (1, 30), (1, 365), (24, 30), (24, 365)] {
      let openings = 1 + starts * days
      table.rows.append([
        .number(starts, 0), .number(days, 0), .number(openings, 0),
        .number(hostsOfRegion * openings * openingBytes / 1e9, 2), .number(hosts * openings * openingBytes / 1e9, 1),
        .number(hosts * (openings * 24 + openingBytes) / 1e9, 1),
      ])
    }
    return table
  }

  /// What must be kept where, for a part of the chain that is away for so long.
  var retention: Table {
    var table = Table(
      "retention", "What waits while a tier is away",
      ["away", "host log MB", "parts of a host MB", "region GB", "region broker GB, 3 replicas", "all TB"])
    for (name, time) in [("10 min", 600.0), ("1 h", 3_600), ("1 day", 86_400), ("7 days", 604_800)] {
      let events = eventsPerSecond * time
      let small = time / 10 * (sizes.bytes(eventsPerSecond * 10) + sizes.headerBytes)
      let packed = sizes.bytes(events)
      table.rows.append([
        .text(name), .number(events * sizes.logBytes / 1e6, 1), .number(packed / 1e6, 2),
        .number(packed * hostsOfRegion / 1e9, 1), .number(small * hostsOfRegion * Self.replicas / 1e9, 1),
        .number(small * hosts * Self.replicas / 1e12, 2),
      ])
    }
    return table
  }
}

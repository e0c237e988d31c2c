// EventRates: events a second by name, over the last minute.

import Foundation
import Weir

/// Counts the events of a log by name and by the second of their capture, for the last 60 whole seconds.
///
/// Reads the log without decoding the events. Belongs to one thread at a time.
final class EventRates {
  static let seconds = 60
  /// The names with the most events, which are shown apart.
  static let mostNames = 20
  /// The names that are counted apart. Hostile events could have millions of names.
  private static let mostCounted = 2_000
  /// How far behind the end the counting begins, in events: the last minute is not found by time.
  private static let backlog: Offset = 500_000
  private static let blockEvents = 1_024
  private static let blockBytes = 256 << 10

  /// The counts of one name. The place of a second is its number modulo 64.
  private struct Buckets {
    var counts = [UInt32](repeating: 0, count: 64)
    /// The last second that was counted.
    var last: Int64 = 0

    mutating func add(_ count: UInt32, at second: Int64) {
      clear(to: second)
      guard second > last - 64 else { return }
      counts[Int(second & 63)] &+= count
    }

    /// Makes room for the seconds up to this one.
    mutating func clear(to second: Int64) {
      guard second > last else { return }
      for passed in max(last + 1, second - 63)...second { counts[Int(passed & 63)] = 0 }
      last = second
    }

    func window(before end: Int64) -> [UInt32] {
      (end - Int64(EventRates.seconds)..<end).map { $0 > last || $0 <= last - 64 ? 0 : counts[Int($0 & 63)] }
    }
  }

  private let log: LogDirectory
  private var reader: EventReader?
  private var byName: [String: Buckets] = [:]
  private var others = Buckets()
  /// The scopes that are open.
  private(set) var scopes = ScopesInLog()

  init(_ log: LogDirectory) {
    self.log = log
  }

  /// Counts what was captured since the last call, until the clock reaches `deadline`.
  func update(until deadline: ContinuousClock.Instant, end: Offset) throws(WeirError) {
    if reader == nil { reader = try EventReader(directory: log.path, from: end - min(end, Self.backlog)) }
    guard let opened = reader else { return }
    // A clock that was set wrong gives times to come, which would hide what comes until then.
    let now = Int64(Date().timeIntervalSince1970)
    while ContinuousClock.now < deadline,
      let block = try opened.nextBlock(most: Self.blockEvents, bytes: Self.blockBytes)
    {
      // Most events have the name and the second of the one before: a run of those is counted at once.
      var name: String?
      var definition = UInt32.max
      var isOfScopes = false
      var run: (second: Int64, count: UInt32) = (0, 0)
      for index in 0..<block.count {
        let entry = block.entries[index]
        if name == nil || entry.name >= 0 || entry.definition != definition {
          let other = block[index].name
          if let name, name != other { count(&run, of: name) }
          name = other
          isOfScopes = name == ScopesInLog.entered || name == ScopesInLog.exited
        }
        definition = entry.definition
        if entry.marks.contains(.isOfTheLog) { continue }
        if isOfScopes { scopes.take(block[index].stored.redacted()) }
        let second = min(entry.time / 1_000_000_000, now)
        if second != run.second { count(&run, of: name ?? "") }
        run = (second, run.count + 1)
      }
      count(&run, of: name ?? "")
    }
  }

  private func count(_ run: inout (second: Int64, count: UInt32), of name: String) {
    guard run.count > 0 else { return }
    if byName[name] != nil || byName.count < Self.mostCounted {
      byName[name, default: Buckets()].add(run.count, at: run.second)
    } else {
      others.add(run.count, at: run.second)
    }
    run.count = 0
  }

  /// The rates of one name; `nil` for all further names.
  struct Rate: Hashable {
    var name: String?
    var counts: [UInt32]

    var total: UInt64 { counts.reduce(0) { $0 + UInt64($1) } }
  }

  /// The events of the 60 seconds before `second`, the most frequent names first.
  func rates(before second: Int64) -> [Rate] {
    let all = byName.map { Rate(name: $0.key, counts: $0.value.window(before: second)) }.filter { $0.total > 0 }
      .sorted { ($1.total, $0.name ?? "") < ($0.total, $1.name ?? "") }
    byName = byName.filter { $0.value.last > second - 2 * Int64(Self.seconds) }
    var rest = others.window(before: second)
    for rate in all.dropFirst(Self.mostNames) { for index in rest.indices { rest[index] &+= rate.counts[index] } }
    let left = Rate(name: nil, counts: rest)
    return all.prefix(Self.mostNames) + (left.total > 0 ? [left] : [])
  }
}

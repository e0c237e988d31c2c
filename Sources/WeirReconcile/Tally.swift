// Tally: counts of verdicts, made by many threads.

import Weir

/// Counts by event name, and the differences of fields.
struct Tally: Sendable {
  /// A difference in one field of the events of one name.
  struct FieldKey: Hashable, Sendable {
    var name: UInt64
    var path: String
    var kind: FieldDifference.Kind
  }

  /// Two events that differ, as an example.
  struct Example: Sendable {
    var here: ComparedEvent
    var there: ComparedEvent
    var offset: UInt64
    var difference: FieldDifference
  }

  /// The number of fields that are counted apart. Hostile events could have millions.
  private static let mostFields = 10_000
  private static let mostExamples = 3
  private static let mostFieldsWithExamples = 100

  var here: UInt64 = 0
  var there: UInt64 = 0
  var unreadable: UInt64 = 0
  /// The times of the control's first and last event.
  var timesThere: ClosedRange<Int64>?
  var byName: [UInt64: ReconciliationReport.Counts] = [:]
  var byWay: [MatchWay: UInt64] = [:]
  var fields: [FieldKey: UInt64] = [:]
  var examples: [FieldKey: [Example]] = [:]
  /// The time of the first event that is not identical.
  var firstDivergence: Int64?

  mutating func add(_ verdict: ReconciliationReport.Verdict, _ mark: EventMark) {
    add(verdict, UInt64(mark.name), mark.time)
  }

  mutating func add(_ verdict: ReconciliationReport.Verdict, _ name: UInt64, _ time: Int64) {
    byName[name, default: .init()][verdict] += 1
    if verdict != .identical { firstDivergence = min(firstDivergence ?? time, time) }
  }

  mutating func add(
    _ difference: FieldDifference, _ pair: DifferingPair, _ here: ComparedEvent, _ there: ComparedEvent
  ) {
    let key = FieldKey(name: pair.name, path: difference.path, kind: difference.kind)
    guard fields[key] != nil || fields.count < Self.mostFields else { return }
    fields[key, default: 0] += 1
    if examples.count < Self.mostFieldsWithExamples, examples[key, default: []].count < Self.mostExamples {
      let example = Example(here: here, there: there, offset: pair.here, difference: difference)
      examples[key, default: []].append(example)
    }
  }

  mutating func add(timesThere times: ClosedRange<Int64>) {
    let known = timesThere ?? times
    timesThere = min(known.lowerBound, times.lowerBound)...max(known.upperBound, times.upperBound)
  }

  mutating func add(_ other: Tally) {
    here += other.here
    there += other.there
    unreadable += other.unreadable
    if let times = other.timesThere { add(timesThere: times) }
    for (name, counts) in other.byName { byName[name, default: .init()].add(counts) }
    byWay.merge(other.byWay, uniquingKeysWith: +)
    for (key, count) in other.fields where fields[key] != nil || fields.count < Self.mostFields {
      fields[key, default: 0] += count
      examples[key] = Array(((examples[key] ?? []) + (other.examples[key] ?? [])).prefix(Self.mostExamples))
    }
    if let time = other.firstDivergence { firstDivergence = min(firstDivergence ?? time, time) }
  }
}

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

  /// The fields in which pairs differ.
  struct Signature: Hashable, Sendable {
    var name: UInt64
    var fields: Set<FieldKey>
  }

  /// Pairs of one signature.
  struct Pairs: Sendable {
    var count: UInt64 = 0
    /// The time of the first one.
    var first = Int64.max
  }

  /// Two events that differ, as an example.
  struct Example: Sendable {
    var here: ComparedEvent
    var there: ComparedEvent
    var offset: UInt64
    var difference: FieldDifference
  }

  /// How far a side was read.
  struct Reach: Sendable {
    /// The first place that the next window reads.
    private(set) var again: UInt64?
    /// The last place.
    private(set) var last: UInt64?

    mutating func add(_ place: UInt64, isReadAgain: Bool) {
      if isReadAgain { again = min(again ?? place, place) }
      last = max(last ?? place, place)
    }

    mutating func add(_ other: Reach) {
      for place in [other.again, other.last].compactMap(\.self) { add(place, isReadAgain: place == other.again) }
    }
  }

  /// The number of fields that are counted apart. Hostile events could have millions.
  private static let mostFields = 10_000
  private static let mostSignatures = 10_000
  private static let mostFieldsOfSignature = 32
  private static let mostFieldsWithExamples = 100

  var here: UInt64 = 0
  var there: UInt64 = 0
  var unreadable: UInt64 = 0
  var reachHere = Reach()
  var reachThere = Reach()
  /// The times of the control's first and last event.
  var timesThere: ClosedRange<Int64>?
  var byName: [UInt64: ReconciliationReport.Counts] = [:]
  var byWay: [MatchWay: UInt64] = [:]
  var fields: [FieldKey: UInt64] = [:]
  /// Of each field the first pair that differs in it.
  var examples: [FieldKey: Example] = [:]
  /// The pairs that differ, as far as their signatures are counted apart.
  var signatures: [Signature: Pairs] = [:]
  /// The time of the first event that is not identical.
  var firstDivergence: Int64?

  mutating func add(_ verdict: ReconciliationReport.Verdict, _ mark: EventMark) {
    add(verdict, UInt64(mark.name), mark.time)
  }

  mutating func add(_ verdict: ReconciliationReport.Verdict, _ name: UInt64, _ time: Int64) {
    byName[name, default: .init()][verdict] += 1
    if verdict != .identical, verdict != .noise { firstDivergence = min(firstDivergence ?? time, time) }
  }

  /// Counts a pair that differs.
  mutating func add(
    _ differences: [FieldDifference], _ pair: DifferingPair, _ here: ComparedEvent, _ there: ComparedEvent
  ) {
    let fields = Set(differences.map { FieldKey(name: pair.name, path: $0.path, kind: $0.kind) })
    let signature = Signature(name: pair.name, fields: fields)
    let isSmall = fields.count <= Self.mostFieldsOfSignature
    if signatures[signature] != nil || isSmall && signatures.count < Self.mostSignatures {
      byName[pair.name, default: .init()][.differing] += 1
      signatures[signature, default: Pairs()].count += 1
      signatures[signature, default: Pairs()].first = min(signatures[signature]?.first ?? .max, pair.time)
    } else {
      add(.differing, pair.name, pair.time)
    }
    for difference in differences { add(difference, pair, here, there) }
  }

  /// Counts the pairs as noise that differ in such fields alone. Call it once, at the end.
  mutating func settle(isNoise: (FieldKey) -> Bool) {
    for (signature, pairs) in signatures {
      if signature.fields.allSatisfy(isNoise) {
        byName[signature.name, default: .init()][.differing] -= pairs.count
        byName[signature.name, default: .init()][.noise] += pairs.count
      } else {
        firstDivergence = min(firstDivergence ?? .max, pairs.first)
      }
    }
  }

  private mutating func add(
    _ difference: FieldDifference, _ pair: DifferingPair, _ here: ComparedEvent, _ there: ComparedEvent
  ) {
    let key = FieldKey(name: pair.name, path: difference.path, kind: difference.kind)
    guard fields[key] != nil || fields.count < Self.mostFields else { return }
    fields[key, default: 0] += 1
    keep(Example(here: here, there: there, offset: pair.here, difference: difference), of: key)
  }

  private mutating func keep(_ example: Example, of key: FieldKey) {
    let isWanted = examples[key].map { example.offset < $0.offset } ?? (examples.count < Self.mostFieldsWithExamples)
    if isWanted { examples[key] = example }
  }

  /// Where the next window begins to read.
  func start(after start: ComparisonWindow.Start) -> ComparisonWindow.Start {
    .init(
      here: reachHere.again ?? reachHere.last ?? start.here,
      there: reachThere.again ?? reachThere.last ?? start.there)
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
      if let example = other.examples[key] { keep(example, of: key) }
    }
    for (signature, pairs) in other.signatures {
      if signatures[signature] != nil || signatures.count < Self.mostSignatures {
        signatures[signature, default: Pairs()].count += pairs.count
        signatures[signature, default: Pairs()].first = min(signatures[signature]?.first ?? .max, pairs.first)
      } else {
        firstDivergence = min(firstDivergence ?? .max, pairs.first)
      }
    }
    if let time = other.firstDivergence { firstDivergence = min(firstDivergence ?? time, time) }
  }
}

// SettledSpan: which of the events that were read are settled, and so how far the cursor may move. A pure value.

import Weir

/// The stretch of the log between the cursor and what was read last.
///
/// Events are settled in any order, and the position is the first offset that is not. What is settled beyond it is kept
/// as runs, so that one event which is to be given again and again costs no more memory for all that come after it.
struct SettledSpan: Sendable {
  /// An event by both its names.
  struct Mark: Hashable, Sendable {
    var offset: Offset
    var id: EventID
  }

  /// Offsets in a row that are all settled, or one that is open.
  private struct Run: Sendable {
    let first: Offset
    /// After the last offset.
    var end: Offset
    /// Nil: it is open.
    var outcomes: Outcomes?
    /// It is no event of its own, but a part of a later one.
    var isPart = false
    /// The last event in it, if it has one.
    var last: SettledSpan.Mark?
    /// The last change of the default user in it.
    var association: Offset?
  }

  private var runs: [Run] = []
  /// Those of ``runs`` that the position has passed already.
  private var passed = 0
  private var openCount = 0

  /// The first offset that is not settled.
  private(set) var position: Offset
  /// After the last offset that was read.
  private(set) var end: Offset
  /// The last event below the position.
  private(set) var last: Mark?
  /// The last change of the default user below the position.
  private(set) var association: Offset?
  /// What became of the events below the position.
  private(set) var counts: DeliveryCounts
  /// What became of those at or above it that are settled.
  private(set) var ahead = Outcomes()
  /// What became of the events that the position has passed since the span began.
  private(set) var passedOutcomes = Outcomes()

  /// A stretch that begins where a cursor stands.
  init(_ cursor: CursorPosition) {
    position = cursor.offset
    end = cursor.offset
    last = cursor.last.map { Mark(offset: cursor.lastOffset ?? cursor.offset - 1, id: $0) }
    association = cursor.association
    counts = cursor.counts ?? DeliveryCounts(from: cursor.offset)
  }

  /// How many events were read and are not settled, parts not counted.
  var open: Int { openCount }

  /// Accepted events below ``end``, as counted here: to be the same as by the log.
  var acceptedBelowEnd: UInt64 { counts.baseline &+ counts.settled &+ ahead.all &+ UInt64(openCount) }

  /// Nothing was read yet, of a delivery that has settled nothing.
  var isUntouched: Bool { position == counts.from && end == position && counts.settled == 0 }

  // MARK: Reading

  /// Begins anew: at another offset, with nothing counted.
  mutating func restart(at offset: Offset, baseline: UInt64) {
    precondition(isUntouched)
    position = offset
    end = offset
    counts.from = offset
    counts.baseline = baseline
  }

  /// An event was read that waits for its verdict; if it is a part of one to come, it waits for that one's, and is not
  /// counted.
  mutating func opened(_ offset: Offset, id: EventID, isPart: Bool = false) {
    precondition(offset >= end)
    runs.append(Run(first: offset, end: offset + 1, outcomes: nil, isPart: isPart, last: Mark(offset: offset, id: id)))
    if !isPart { openCount += 1 }
    end = offset + 1
  }

  /// Everything up to `end` was passed over: offsets that no event has, notices, events that the provider does not get.
  mutating func passed(upTo end: Offset, _ outcomes: Outcomes, last: Mark? = nil) {
    guard end > self.end else { return }
    let run = Run(first: self.end, end: end, outcomes: outcomes, last: last)
    self.end = end
    ahead = ahead + outcomes
    if let index = runs.indices.last, index >= passed, runs[index].outcomes != nil {
      runs[index] = Self.joined(runs[index], run)
    } else {
      runs.append(run)
    }
    advance()
  }

  // MARK: Settling

  /// What became of an open event. One that is not open is none of this provider's business any more.
  mutating func settle(_ offset: Offset, _ outcomes: Outcomes, isAssociation: Bool = false) {
    guard let index = find(offset), runs[index].outcomes == nil else { return }
    runs[index].outcomes = outcomes
    if isAssociation { runs[index].association = offset }
    ahead = ahead + outcomes
    if !runs[index].isPart { openCount -= 1 }
    advance()
  }

  private func find(_ offset: Offset) -> Int? {
    var low = passed
    var high = runs.count
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].end <= offset { low = middle + 1 } else { high = middle }
    }
    return low < runs.count && runs[low].first <= offset ? low : nil
  }

  /// Moves the position over what is settled from there on.
  private mutating func advance() {
    while passed < runs.count, let outcomes = runs[passed].outcomes {
      let run = runs[passed]
      position = run.end
      last = run.last ?? last
      association = run.association ?? association
      counts.add(outcomes)
      passedOutcomes = passedOutcomes + outcomes
      ahead = ahead - outcomes
      passed += 1
    }
    if passed == runs.count {
      runs.removeAll(keepingCapacity: true)
      passed = 0
      position = end
    } else if runs.count > 64, runs.count > 4 * (openCount + 1) || passed * 2 > runs.count {
      tidy()
    }
  }

  /// Joins neighbours that are settled, and forgets what was passed.
  private mutating func tidy() {
    var joined: [Run] = []
    for run in runs[passed...] {
      if let last = joined.last, last.outcomes != nil, run.outcomes != nil {
        joined[joined.count - 1] = Self.joined(last, run)
      } else {
        joined.append(run)
      }
    }
    runs = joined
    passed = 0
  }

  private static func joined(_ first: Run, _ second: Run) -> Run {
    var run = first
    run.end = second.end
    run.outcomes = (first.outcomes ?? Outcomes()) + (second.outcomes ?? Outcomes())
    run.last = second.last ?? first.last
    run.association = second.association ?? first.association
    return run
  }
}

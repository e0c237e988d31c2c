// SettledSpan: tracks which of the read events are settled, and therefore how far the cursor may move. A pure value.

import Weir

/// The part of the log between the cursor and the last offset that was read.
///
/// Events are settled in any order. The position is the first offset that is not settled. Settled offsets above the
/// position are kept as runs, so an event that is retried for a long time costs no memory for the events after it.
struct SettledSpan: Sendable {
  /// An event's offset and id.
  struct Mark: Hashable, Sendable {
    var offset: Offset
    var id: EventID
  }

  /// What an open offset is.
  enum Weight: Sendable {
    /// An accepted event, which counts as open.
    case event
    /// A part of a later event, which waits for that event's verdict and is not counted.
    case part
    /// A notice of the log, which is delivered and is not counted as an event.
    case notice
  }

  /// Consecutive offsets that are all settled, or that are all open.
  private struct Run: Sendable {
    var first: Offset
    /// The offset after the last offset.
    var end: Offset
    /// The outcomes; `nil` if the offsets are open.
    var outcomes: Outcomes?
    /// What the offsets are, while they are open. Only events whose ids are given when they are settled share a run.
    var weight = Weight.event
    /// The last event in the run, if there is one and its id is known.
    var last: SettledSpan.Mark?
    /// The last change of the default user in the run.
    var association: Offset?
  }

  private var runs: [Run] = []
  /// The number of ``runs`` that the position has passed.
  private var passed = 0
  private var openCount = 0
  /// The number of notices that were read and are not settled.
  private(set) var openNotices = 0

  /// The first offset that is not settled.
  private(set) var position: Offset
  /// The offset after the last offset that was read.
  private(set) var end: Offset
  /// The last event below the position.
  private(set) var last: Mark?
  /// The last change of the default user below the position.
  private(set) var association: Offset?
  /// The outcomes of the events below the position.
  private(set) var counts: DeliveryCounts
  /// The outcomes of the settled events at or above the position.
  private(set) var ahead = Outcomes()
  /// The outcomes of the events that the position has passed since the span was created.
  private(set) var passedOutcomes = Outcomes()

  /// Creates a span that starts at a cursor's position.
  init(_ cursor: CursorPosition) {
    position = cursor.offset
    end = cursor.offset
    last = cursor.last.map { Mark(offset: cursor.lastOffset ?? cursor.offset - 1, id: $0) }
    association = cursor.association
    counts = cursor.counts ?? DeliveryCounts(from: cursor.offset)
  }

  /// The number of events that were read and are not settled, without parts and notices.
  var open: Int { openCount }

  /// Whether neither an event nor a notice is open.
  var isSettled: Bool { openCount == 0 && openNotices == 0 }

  /// The number of accepted events below ``end`` as counted here. Must equal the log's number.
  var acceptedBelowEnd: UInt64 { counts.baseline &+ counts.settled &+ ahead.all &+ UInt64(openCount) }

  /// Whether nothing was read yet, and nothing was settled before.
  var isUntouched: Bool { position == counts.from && end == position && counts.settled == 0 }

  // MARK: Reading

  /// Starts again at another offset, with nothing counted.
  mutating func restart(at offset: Offset, baseline: UInt64) {
    precondition(isUntouched)
    position = offset
    end = offset
    counts.from = offset
    counts.baseline = baseline
  }

  /// Adds an event, a part or a notice that waits for its verdict.
  mutating func opened(_ offset: Offset, id: EventID, as weight: Weight = .event) {
    precondition(offset >= end)
    runs.append(Run(first: offset, end: offset + 1, outcomes: nil, weight: weight, last: Mark(offset: offset, id: id)))
    count(weight, 1)
    end = offset + 1
  }

  /// Adds an event that waits for its verdict, and whose id is given when it is settled.
  mutating func opened(_ offset: Offset) {
    opened(offset..<offset + 1)
  }

  /// Adds events that wait for their verdicts, and whose ids are given when they are settled.
  mutating func opened(_ offsets: Range<Offset>) {
    precondition(offsets.lowerBound >= end)
    end = offsets.upperBound
    openCount += offsets.count
    if let index = runs.indices.last, index >= passed, runs[index].outcomes == nil, runs[index].last == nil,
      runs[index].end == offsets.lowerBound
    {
      runs[index].end = end
    } else {
      runs.append(Run(first: offsets.lowerBound, end: end, outcomes: nil))
    }
  }

  private mutating func count(_ weight: Weight, _ change: Int) {
    switch weight {
    case .event: openCount += change
    case .part: break
    case .notice: openNotices += change
    }
  }

  /// Passes over everything up to `end`: offsets without events, notices, and events that the provider does not get.
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

  /// Settles an open event. Does nothing if the event is not open. `id` is the id of an event that was opened without
  /// one.
  mutating func settle(_ offset: Offset, _ outcomes: Outcomes, id: EventID? = nil, isAssociation: Bool = false) {
    settle(offset..<offset + 1, outcomes, isAssociation: isAssociation) { _ in id }
    advance()
  }

  /// Settles the open events at these offsets, each with these outcomes. Costs the same for one event and for many.
  /// `id` returns the id of an event that was opened without one.
  mutating func settle(_ offsets: Range<Offset>, _ outcomes: Outcomes, id: (Offset) -> EventID?) {
    settle(offsets, outcomes, isAssociation: false, id: id)
    advance()
  }

  private mutating func settle(
    _ offsets: Range<Offset>, _ outcomes: Outcomes, isAssociation: Bool, id: (Offset) -> EventID?
  ) {
    var next = max(offsets.lowerBound, position)
    while next < offsets.upperBound, let index = find(next) {
      let run = runs[index]
      let first = next
      next = min(run.end, offsets.upperBound)
      guard run.outcomes == nil else { continue }
      var settled = run
      settled.first = first
      settled.end = next
      settled.outcomes = outcomes.times(next - first)
      settled.last = run.last ?? id(next - 1).map { Mark(offset: next - 1, id: $0) }
      if isAssociation { settled.association = first }
      ahead = ahead + outcomes.times(next - first)
      count(run.weight, -Int(next - first))
      guard first > run.first || next < run.end else {
        runs[index] = settled
        continue
      }
      var parts = [settled]
      if first > run.first {
        var before = run
        before.end = first
        parts.insert(before, at: 0)
      }
      if next < run.end {
        var after = run
        after.first = next
        parts.append(after)
      }
      runs.replaceSubrange(index...index, with: parts)
    }
  }

  private func find(_ offset: Offset) -> Int? {
    let index = runs[passed...].partitioningIndex { $0.end > offset }
    return index < runs.count && runs[index].first <= offset ? index : nil
  }

  /// Moves the position past the settled offsets that follow it.
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

  /// Joins adjacent settled runs, and drops the runs that the position has passed.
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

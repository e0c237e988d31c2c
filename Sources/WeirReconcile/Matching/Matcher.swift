// Matcher: which events of the two sides are the same.

import Weir

/// Matches events by one way. Pure: the order of what is passed does not matter.
///
/// Events with the same identity are a group. Of a group, n events here and m there match min(n, m) times, as far as
/// their times allow: first those with equal content, then, among the rest, as many as possible, and of those choices
/// the one whose times are nearest in sum. What is left of a group is a duplicate, if it repeats what has matched.
struct Matcher: Sendable {
  /// What became of the events of one way.
  struct Result: Sendable {
    var pairs: [MatchedPair] = []
    var duplicatesHere: [EventMark] = []
    var duplicatesThere: [EventMark] = []
    /// Those that did not match. Other ways may still match them.
    var leftHere: [EventMark] = []
    var leftThere: [EventMark] = []
    /// Those that are near to a cut, and of which none with an equal content was found.
    var held = LargePartition.Piece()
  }

  var way: MatchWay
  /// How far apart the times of two events that match by content may be, in nanoseconds.
  var tolerance: Int64

  /// Matches the events of both sides. Takes time in proportion to n log n, and for those of one key whose contents
  /// differ to their number times that of the events within the tolerance.
  ///
  /// With a cut, the last group goes on behind it: what is near to the cut is held, as far as contents are not equal.
  func match(
    _ here: consuming [EventMark], _ there: consuming [EventMark], cut: LargePartition.Cut? = nil
  ) -> Result {
    here.sort(by: inGroups)
    there.sort(by: inGroups)
    var result = Result()
    var (left, right) = (0, 0)
    while left < here.count || right < there.count {
      let identity = min(
        left < here.count ? here[left].identity(by: way) : .max,
        right < there.count ? there[right].identity(by: way) : .max)
      let leftEnd = end(of: identity, in: here, from: left)
      let rightEnd = end(of: identity, in: there, from: right)
      let isLast = leftEnd == here.count && rightEnd == there.count
      matchGroup(here[left..<leftEnd], there[right..<rightEnd], isLast ? cut : nil, &result)
      (left, right) = (leftEnd, rightEnd)
    }
    return result
  }

  private func inGroups(_ left: EventMark, _ right: EventMark) -> Bool {
    (left.identity(by: way), left.time, left.place) < (right.identity(by: way), right.time, right.place)
  }

  private func end(of identity: UInt64, in marks: [EventMark], from start: Int) -> Int {
    var end = start
    while end < marks.count, marks[end].identity(by: way) == identity { end += 1 }
    return end
  }

  private func matchGroup(
    _ here: ArraySlice<EventMark>, _ there: ArraySlice<EventMark>, _ cut: LargePartition.Cut?, _ result: inout Result
  ) {
    if cut == nil, here.isEmpty || there.isEmpty {
      result.leftHere += here
      result.leftThere += there
      return
    }
    // Nearly every group.
    if cut == nil, here.count == 1, there.count == 1, let one = here.first, let other = there.first {
      guard way != .content || isNear(one, other) else {
        result.leftHere.append(one)
        result.leftThere.append(other)
        return
      }
      result.pairs.append(MatchedPair(here: one, there: other))
      return
    }
    var (equal, restHere, restThere) = pairsOfEqualContent(here, there)
    if let cut {
      result.held.here = cut.hold(&restHere)
      result.held.there = cut.hold(&restThere)
    }
    var pairs = equal
    // What the control did not pass on is the partner of what is left.
    let passed = assign(restHere, restThere.filter { $0.outcome == 0 }, &pairs)
    let refused = assign(passed.here, restThere.filter { $0.outcome != 0 }, &pairs)
    let (leftHere, leftThere) = (refused.here, passed.there + refused.there)
    result.pairs += pairs
    take(leftHere, beside: pairs.map(\.here), &result.duplicatesHere, &result.leftHere)
    take(leftThere, beside: pairs.map(\.there), &result.duplicatesThere, &result.leftThere)
  }

  /// Pairs as many events as the tolerance allows. An event without a time is near to all. Returns what is left.
  private func assign(
    _ here: [EventMark], _ there: [EventMark], _ pairs: inout [MatchedPair]
  ) -> (here: [EventMark], there: [EventMark]) {
    guard !here.isEmpty, !there.isEmpty else { return (here, there) }
    let timed = there.filter { $0.time != .min }
    let untimed = there.filter { $0.time == .min }
    let assignment = Assignment(
      here.map(\.time), timed.map(\.time), tolerance: way == .content ? tolerance : .max)
    pairs += assignment.pairs.map { MatchedPair(here: here[$0.0], there: timed[$0.1]) }
    let left = assignment.leftHere.map { here[$0] }
    pairs += zip(left, untimed).map { MatchedPair(here: $0, there: $1) }
    return (
      Array(left.dropFirst(untimed.count)),
      assignment.leftThere.map { timed[$0] } + untimed.dropFirst(left.count)
    )
  }

  private func isNear(_ one: EventMark, _ other: EventMark) -> Bool {
    other.time == .min || one.time.distanceInTime(to: other.time) <= tolerance
  }

  /// Pairs the events of a group whose contents are equal, as many as possible. Both sides are sorted by time: of two
  /// that are left, the earlier one has no partner among later ones if it has none now.
  private func pairsOfEqualContent(
    _ here: ArraySlice<EventMark>, _ there: ArraySlice<EventMark>
  ) -> (pairs: [MatchedPair], here: [EventMark], there: [EventMark]) {
    func byContent(_ left: EventMark, _ right: EventMark) -> Bool {
      // What the control passed on comes first: a refusal may have been repeated with success.
      (left.content, left.outcome, left.time, left.place) < (right.content, right.outcome, right.time, right.place)
    }
    let here = here.sorted(by: byContent)
    let there = there.sorted(by: byContent)
    var pairs: [MatchedPair] = []
    var (restHere, restThere): ([EventMark], [EventMark]) = ([], [])
    var (left, right) = (0, 0)
    while left < here.count, right < there.count {
      let (one, other) = (here[left], there[right])
      if one.content == other.content, way != .content || isNear(one, other) {
        pairs.append(MatchedPair(here: one, there: other))
        (left, right) = (left + 1, right + 1)
      } else if (one.content, one.outcome, one.time) < (other.content, other.outcome, other.time) {
        restHere.append(one)
        left += 1
      } else {
        restThere.append(other)
        right += 1
      }
    }
    restHere += here[left...]
    restThere += there[right...]
    return (pairs, restHere.sorted(by: inGroups), restThere.sorted(by: inGroups))
  }

  /// By an id, whatever is left of a group repeats the group. By content, only what has the content of a matched event
  /// near to it: the same content may well occur again later.
  private func take(
    _ marks: [EventMark], beside matched: [EventMark], _ duplicates: inout [EventMark], _ left: inout [EventMark]
  ) {
    guard !marks.isEmpty else { return }
    guard way == .content else {
      // A refusal beside what was passed on is no second event.
      duplicates += marks.filter { $0.outcome == 0 }
      return
    }
    let times = Dictionary(grouping: matched, by: \.content).mapValues { $0.map(\.time).sorted() }
    for mark in marks {
      let isRepeated = times[mark.content].map {
        mark.time == .min || $0.hasElement(near: mark.time, within: tolerance)
      }
      if isRepeated == true {
        if mark.outcome == 0 { duplicates.append(mark) }
      } else {
        left.append(mark)
      }
    }
  }
}

extension Int64 {
  /// The distance of two times, without overflow.
  func distanceInTime(to other: Int64) -> Int64 {
    let (distance, isOver) = subtractingReportingOverflow(other)
    return isOver || distance == .min ? .max : abs(distance)
  }
}

extension [Int64] {
  /// Whether a sorted array has an element at this distance at most.
  fileprivate func hasElement(near value: Int64, within distance: Int64) -> Bool {
    let index = partitioningIndex { $0 >= value }
    return self[index...].first.map { $0.distanceInTime(to: value) <= distance } == true
      || self[..<index].last.map { $0.distanceInTime(to: value) <= distance } == true
  }
}

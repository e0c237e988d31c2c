// Reconciler: matches the events of two sides, whatever their number, and compares those that match.

import Synchronization
import Weir

/// Finds the verdict of each event of two sides.
///
/// 1. Each event becomes an ``EventMark``: hashes of its ids, its key and its content.
/// 2. The marks are put into partitions by the first way to match that both sides have, and those of a partition are
///    matched. What is left is put into partitions by the next way.
/// 3. Pairs whose contents differ are read again, and compared field by field.
///
/// **Memory.** The marks of one partition for each thread. Marks are on the disk, 64 bytes an event.
final class Reconciler<Here: EventSource, There: EventSource>: Sendable {
  /// Pairs that one thread reads again at once: an event may have a megabyte.
  private static var pairsAtOnce: Int { 500 }
  /// Pairs of one sequence whose order is checked at once, if none before them may be cut off: 150 MB.
  private static var pairsInOrder: Int { 2 << 20 }

  private let here: Here
  private let there: There
  private let rules: ComparisonRules
  private let window: ComparisonWindow?
  private let threads: Int
  /// The number of marks of both sides that a thread matches at once.
  private let marksAtOnce: Int
  private let directory: Descriptor
  private let calls = SystemCalls()
  private let tally = Mutex(Tally())
  private let waitingHere: [SpilledRecords<EventMark>]
  private let waitingThere: [SpilledRecords<EventMark>]
  private let order: SortedRuns<OrderedPair>
  private let differing: SortedRuns<DifferingPair>

  let names = TextNumbers()
  let outcomes = TextNumbers()
  /// The marks of events that are on one side only; those of the control in the order of time.
  let onlyHere: SortedRuns<EventMark>
  let onlyThere: SortedRuns<EventMark>
  let duplicatesHere: SortedRuns<EventMark>
  let duplicatesThere: SortedRuns<EventMark>
  /// The marks of the log's events that the control was given, and did not pass on: they have its outcome.
  let dropped: SortedRuns<EventMark>
  /// The marks of the control's events that the log has, and the plan withholds: they have this outcome.
  let withheld: SortedRuns<EventMark>

  /// Prepares to compare two sides, with scratch files in a directory. `marksAtOnce` marks of both sides have to fit in
  /// memory, several times, for each thread. A partition that has more is matched piece by piece.
  init(
    _ here: Here, _ there: There, _ rules: ComparisonRules, _ window: ComparisonWindow? = nil, partitions: Int,
    marksAtOnce: Int = .max, threads: Int, in directory: Descriptor
  ) {
    self.here = here
    self.there = there
    self.rules = rules
    self.window = window
    self.threads = threads
    self.marksAtOnce = marksAtOnce
    self.directory = directory
    let calls = calls
    func records<Record>(_ name: String) -> SpilledRecords<Record> {
      SpilledRecords(name, in: directory, count: partitions, calls)
    }
    func marks(_ name: String) -> SortedRuns<EventMark> {
      SortedRuns(name, in: directory, calls) { $0.place < $1.place }
    }
    waitingHere = MatchWay.allCases.map { records("here-\($0.rawValue)") }
    waitingThere = MatchWay.allCases.map { records("there-\($0.rawValue)") }
    order = SortedRuns("order", in: directory, calls, by: OrderedPair.isBefore)
    differing = SortedRuns("differing", in: directory, calls) { $0.here < $1.here }
    onlyHere = marks("only-here")
    onlyThere = SortedRuns("only-there", in: directory, calls) { ($0.time, $0.place) < ($1.time, $1.place) }
    duplicatesHere = marks("duplicate-here")
    duplicatesThere = marks("duplicate-there")
    dropped = marks("dropped")
    withheld = marks("withheld")
  }

  /// What the reading of both sides has come to: with the scratch files, all that the rest of the comparison takes.
  struct Marks: Codable {
    var here: UInt64
    var there: UInt64
    var unreadable: UInt64
    var timesThere: ClosedRange<Int64>?
    var names: [String]
    var outcomes: [String]
    /// The number of records in each file that has some.
    var counts: [String: Int]
    var onlyHere: [Range<Int>]
    var onlyThere: [Range<Int>]
  }

  /// Compares the sides. `progress` is told what is done now.
  func run(_ progress: @escaping @Sendable (String) -> Void = { _ in }) throws(WeirError) -> Tally {
    try mark(progress)
    return try compare(progress)
  }

  /// Reads both sides, and makes the marks of their events.
  @discardableResult
  func mark(_ progress: @escaping @Sendable (String) -> Void) throws(WeirError) -> Marks {
    let hasForeignIDs = here.hasForeignIDs
    try mark(there, isHere: false, progress) { mark in
      mark.id != 0 ? .id : mark.foreignID != 0 && hasForeignIDs ? .foreignID : .content
    }
    // Only a way by which the control has events can match.
    let ways = MatchWay.allCases.filter { waitingThere[$0.index].count > 0 }
    try mark(here, isHere: true, progress) { mark in ways.first { mark.identity(by: $0) != 0 } }
    let tally = tally.withLock { $0 }
    return Marks(
      here: tally.here, there: tally.there, unreadable: tally.unreadable, timesThere: tally.timesThere,
      names: names.texts, outcomes: outcomes.texts,
      counts: Dictionary(markFiles.filter { $0.count > 0 }.map { ($0.name, $0.count) }) { first, _ in first },
      onlyHere: onlyHere.runs, onlyThere: onlyThere.runs)
  }

  /// Takes the marks that another process made in the same directory.
  func resume(_ marks: Marks) {
    tally.withLock { tally in
      (tally.here, tally.there, tally.unreadable) = (marks.here, marks.there, marks.unreadable)
      tally.timesThere = marks.timesThere
    }
    (names.texts, outcomes.texts) = (marks.names, marks.outcomes)
    for file in markFiles { file.resume(marks.counts[file.name] ?? 0) }
    onlyHere.resume(marks.onlyHere)
    onlyThere.resume(marks.onlyThere)
  }

  private var markFiles: [SpilledFile<EventMark>] { (waitingHere + waitingThere).flatMap(\.files) }

  /// Compares what was read.
  func compare(_ progress: @Sendable (String) -> Void) throws(WeirError) -> Tally {
    for way in MatchWay.allCases {
      progress("matching by \(way.rawValue)")
      try match(by: way)
    }
    progress("checking the order")
    try checkOrder()
    progress("comparing what differs")
    var pairs: [DifferingPair] = []
    try differing.scan { pair throws(WeirError) in
      pairs.append(pair)
      guard pairs.count == Self.pairsAtOnce * threads * 4 else { return }
      try compare(pairs)
      pairs.removeAll(keepingCapacity: true)
    }
    try compare(pairs)
    return tally.withLock { $0 }
  }

  // MARK: Marks

  /// Makes the marks of a side, and puts each where it waits for its way.
  private func mark(
    _ side: some EventSource, isHere: Bool, _ progress: @escaping @Sendable (String) -> Void,
    _ way: @escaping @Sendable (EventMark) -> MatchWay?
  ) throws(WeirError) {
    let parts = try side.parts(threads * 8)
    let done = Atomic(0)
    let step = isHere ? "reading the log" : "reading the control"
    progress(step)
    try Workers.forEach(parts.count, threads: threads) { number throws(WeirError) in
      var marker = Marker(self.rules, names: self.names, outcomes: self.outcomes)
      var writers = (isHere ? self.waitingHere : self.waitingThere).map { SpillWriter($0) }
      var alone: [EventMark] = []
      var count: UInt64 = 0
      var times: ClosedRange<Int64>?
      var reach = Tally.Reach()
      let unreadable = try side.read(parts[number]) { event, place throws(WeirError) in
        let mark = marker.mark(event, place: place)
        let isWithheld = isHere && mark.outcome != 0
        if let window = self.window {
          reach.add(place, isReadAgain: window.isReadAgain(mark.time))
          guard window.reads(mark.time) else { return }
        }
        if !isWithheld, self.isCounted(mark.time) { count += 1 }
        if event.time != .min {
          times = min(times?.lowerBound ?? event.time, event.time)...max(times?.upperBound ?? event.time, event.time)
        }
        guard let way = way(mark) else {
          if !isWithheld, self.isCounted(mark.time) { alone.append(mark) }
          return
        }
        try writers[way.index].append(mark, by: mark.identity(by: way))
      }
      for index in writers.indices { try writers[index].finish() }
      try (isHere ? self.onlyHere : self.onlyThere).append(alone)
      progress("\(step), \(100 * done.add(1, ordering: .relaxed).newValue / parts.count) %")
      self.tally.withLock { [times, reach] tally in
        if isHere { tally.reachHere.add(reach) } else { tally.reachThere.add(reach) }
        if isHere { tally.here += count } else { tally.there += count }
        if !isHere, let times { tally.add(timesThere: times) }
        if !isHere { tally.unreadable += unreadable }
      }
    }
  }

  // MARK: Matches

  private func match(by way: MatchWay) throws(WeirError) {
    let (ours, theirs) = (waitingHere[way.index], waitingThere[way.index])
    let next = MatchWay.allCases.filter { $0.index > way.index && waitingThere[$0.index].count > 0 }
    try Workers.forEach(ours.files.count, threads: threads) { number throws(WeirError) in
      let (here, there) = (ours.files[number], theirs.files[number])
      guard here.count + there.count > self.marksAtOnce else {
        _ = try self.match(.init(here: try here.records(), there: try there.records()), by: way, next)
        return
      }
      let sorted = SortedRuns<SidedMark>(
        "sorted-\(way.rawValue).\(number)", in: self.directory, self.calls, by: LargePartition.isBefore(by: way))
      let partition = try LargePartition(
        here, there, by: way, tolerance: self.rules.toleranceTime, marksAtOnce: self.marksAtOnce, into: sorted)
      try partition.forEachPiece { piece throws(WeirError) in try self.match(piece, by: way, next) }
    }
  }

  /// Matches marks of both sides. What is left here waits for the first of the next ways that it has an identity for.
  /// Returns the marks that go on behind a cut.
  private func match(
    _ piece: consuming LargePartition.Piece, by way: MatchWay, _ next: [MatchWay]
  ) throws(WeirError) -> LargePartition.Piece {
    let cut = piece.cut
    let matcher = Matcher(way: way, tolerance: rules.toleranceTime)
    let withheld = Array(piece.here[piece.here.partition { $0.outcome != 0 }...])
    piece.here.removeLast(withheld.count)
    var result = matcher.match(piece.here, piece.there, cut: cut)
    piece = LargePartition.Piece()
    if !withheld.isEmpty { try match(withheld, &result, matcher) }
    try take(result.pairs, way)
    var writers = waitingHere.map { SpillWriter($0) }
    var alone: [EventMark] = []
    for mark in result.leftHere {
      if let way = next.first(where: { mark.identity(by: $0) != 0 }) {
        try writers[way.index].append(mark, by: mark.identity(by: way))
      } else if mark.outcome == 0, isCounted(mark.time) {
        alone.append(mark)
      }
    }
    for index in writers.indices { try writers[index].finish() }
    try onlyHere.append(alone)
    try onlyThere.append(counted(result.leftThere))
    let (ours, theirs) = (counted(result.duplicatesHere), counted(result.duplicatesThere))
    try duplicatesHere.append(ours)
    try duplicatesThere.append(theirs)
    tally.withLock { tally in
      for mark in ours { tally.add(.duplicateHere, mark) }
      for mark in theirs { tally.add(.duplicateThere, mark) }
    }
    return result.held
  }

  private func isCounted(_ time: Int64) -> Bool { window?.counts(time) ?? true }

  private func counted(_ marks: [EventMark]) -> [EventMark] {
    window == nil ? marks : marks.filter { isCounted($0.time) }
  }

  /// Matches what the plan withholds with what is left of the control.
  private func match(_ marks: [EventMark], _ result: inout Matcher.Result, _ matcher: Matcher) throws(WeirError) {
    let found = matcher.match(marks, result.leftThere)
    try withheld.append(
      // What neither side passed on is not compared.
      found.pairs.filter { $0.there.outcome == 0 && isCounted($0.there.time) }.map { pair in
        var mark = pair.there
        mark.outcome = pair.here.outcome
        return mark
      })
    result.leftThere = found.leftThere + found.duplicatesThere
    result.leftHere += found.leftHere
  }

  private func take(_ pairs: [MatchedPair], _ way: MatchWay) throws(WeirError) {
    var ordered: [OrderedPair] = []
    var different: [DifferingPair] = []
    var given: [EventMark] = []
    var found = Tally()
    for pair in pairs where isCounted(pair.here.time) {
      found.byWay[way, default: 0] += 1
      guard pair.there.outcome == 0 else {
        var mark = pair.here
        mark.outcome = pair.there.outcome
        given.append(mark)
        continue
      }
      if pair.isIdentical {
        found.add(.identical, pair.here)
      } else {
        different.append(DifferingPair(here: pair.here.place, there: pair.there.place, mark: pair.here))
      }
      if isLate(pair, way) { found.add(.late, pair.here) }
      ordered.append(
        OrderedPair(sequence: pair.here.sequence, here: pair.here.place, there: pair.there.place, mark: pair.here))
    }
    try order.append(ordered)
    try differing.append(different)
    try dropped.append(given)
    tally.withLock { [found] in $0.add(found) }
  }

  private func isLate(_ pair: MatchedPair, _ way: MatchWay) -> Bool {
    if Int64(pair.there.delay) * 1_000_000 > rules.lateTime { return true }
    let (later, isOver) = pair.there.time.subtractingReportingOverflow(pair.here.time)
    return way != .content && !isOver && later > rules.lateTime
  }

  // MARK: The order

  private func checkOrder() throws(WeirError) {
    var found = Tally()
    try OrderCheck(order, mostPairs: Self.pairsInOrder).forEachOutOfOrder { pair in
      found.add(.outOfOrder, pair.name, pair.time)
    }
    tally.withLock { [found] in $0.add(found) }
  }

  // MARK: Fields

  /// Compares pairs whose contents differ, with all threads. The pairs are in the log's order, so that those of one
  /// thread are near to each other.
  private func compare(_ pairs: [DifferingPair]) throws(WeirError) {
    let pieces = (pairs.count + Self.pairsAtOnce - 1) / Self.pairsAtOnce
    try Workers.forEach(pieces, threads: threads) { number throws(WeirError) in
      let first = number * Self.pairsAtOnce
      try self.compareFields(pairs[first..<min(first + Self.pairsAtOnce, pairs.count)])
    }
  }

  /// Compares pairs field by field.
  private func compareFields(_ pairs: ArraySlice<DifferingPair>) throws(WeirError) {
    var comparison = EventComparison(rules)
    var ours: [UInt64: ComparedEvent] = [:]
    try here.read(at: pairs.map(\.here)) { event, place throws(WeirError) in ours[place] = event }
    var partners = Dictionary(pairs.map { ($0.there, $0) }) { first, _ in first }
    var found = Tally()
    try there.read(at: pairs.map(\.there).sorted()) { event, place throws(WeirError) in
      guard let pair = partners[place], let own = ours[pair.here] else { return }
      partners[place] = nil
      let differences = comparison.differences(own, event)
      // Of names that occur twice in an event the last one counts: then nothing may differ.
      if differences.isEmpty { return found.add(.identical, pair.name, pair.time) }
      found.add(differences, pair, own, event)
    }
    // What can't be read any more differs in what nobody can say.
    for pair in partners.values { found.add(.differing, pair.name, pair.time) }
    tally.withLock { [found] in $0.add(found) }
  }
}

/// Two matched events whose contents differ.
struct DifferingPair: BitwiseCopyable, Sendable {
  var here: UInt64
  var there: UInt64
  var time: Int64
  var name: UInt64

  init(here: UInt64, there: UInt64, mark: EventMark) {
    self.here = here
    self.there = there
    time = mark.time
    name = UInt64(mark.name)
  }
}

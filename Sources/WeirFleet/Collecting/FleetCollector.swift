// FleetCollector: writes the parts of many logs to one, each event once, in the order of its lane.

package import Weir

/// Collects the parts that a broker has into one log: drops what comes twice, holds what comes early, and says what is
/// missing. Belongs to one thread at a time.
///
/// What is kept true:
///   - An event is in the log once, however often its part comes, and whatever is killed meanwhile.
///   - A part that follows on a part that has not come waits for that, up to ``Limits/patience`` and
///     ``Limits/heldBytes``. So the events of a lane are in their order, unless the broker has lost one of them, or
///     gives it later than that.
///   - ``position(of:)`` is behind everything that is not in the log, on the disk.
package final class FleetCollector {
  package struct Limits: Sendable {
    /// How long a part waits for an earlier one.
    package var patience = Duration.seconds(60)
    /// How many bytes of parts may wait together.
    package var heldBytes = 256 << 20
    /// Replicas of a source may differ in what came within this time: that is read again after a break.
    package var settlingTime = Duration.zero
    /// Whether events that come again are kept, in a log of their own in the subdirectory ``repetitions``.
    package var keepsRepetitions = false

    package init() {}
  }

  /// What became of parts, in numbers, since the start.
  package struct Counts: Hashable, Sendable {
    package var parts: UInt64 = 0
    package var events: UInt64 = 0
    /// Events that came again.
    package var repeated: UInt64 = 0
    /// Parts that waited for an earlier one.
    package var held: UInt64 = 0
    /// Parts that were taken before an earlier one, which had not come in time.
    package var impatient: UInt64 = 0
    /// Messages that are no parts, or damaged.
    package var unreadable: UInt64 = 0
  }

  /// A part that waits for an earlier one.
  private struct Waiting {
    var message: PartMessage
    var bytes: [UInt8]
    var source: String
    var position: UInt64
    var since: Duration

    /// The memory that the part takes.
    var size: Int { bytes.count + 512 + MemoryLayout<LaneSpan>.stride * (message.lanes?.count ?? 0) }
  }

  /// A part that the next commit writes, except for the events that were known.
  private struct Uncommitted {
    var message: PartMessage
    var bytes: [UInt8]
    var known: [LaneSpan]
  }

  /// The subdirectory with the log of events that came again.
  package static let repetitions = "repetitions"

  package let directory: String
  package private(set) var state: FleetState
  package private(set) var counts = Counts()
  private let limits: Limits
  private let file: FleetStateFile
  private var rows: FleetRows
  /// The rows at the last commit: what came since then may come again.
  private var committedRows: FleetRows
  private let collection: LogCollection
  private let repetitions: LogCollection?
  /// Where the first message was that is no part, or damaged, and what is wrong with it.
  package private(set) var firstUnreadable: String?
  /// The offset after the last event that was committed.
  package private(set) var end: Offset = 0
  /// What was taken since the last commit, by opening, and when that began. A segment has events of one opening, so a
  /// commit writes the parts of an opening together, and the openings in the order in which their first parts came.
  private var uncommitted: [UInt64: [Uncommitted]] = [:]
  private var uncommittedOrder: [UInt64] = []
  package private(set) var uncommittedBytes = 0
  package private(set) var uncommittedSince = Duration.zero
  package var uncommittedOpenings: Int { uncommittedOrder.count }
  package var isUncommitted: Bool { !uncommittedOrder.isEmpty }
  /// What was committed since the last summary.
  package private(set) var unsummarizedBytes = 0
  /// Whether parts wait for earlier ones.
  package var isWaiting: Bool { !waiting.isEmpty }
  /// The next position of each source, and those of the parts that wait.
  private var next: [String: UInt64]
  /// The last message that was read of each source.
  private var last: [String: ReadPlace.Last]
  /// Where each source is read on after a start, until its first message has come.
  private var settledBefore: [String: UInt64]
  private var waiting: [UInt64: [Waiting]] = [:]
  /// When parts began to wait, in that order.
  private var waitingOrder: ArraySlice<(since: Duration, log: UInt64)> = []
  private var heldBytes = 0
  /// The first message of each second that has not settled yet, by source.
  private var marks: [String: ArraySlice<(position: UInt64, time: Int64)>] = [:]
  /// Positions up to which everything is on the disk.
  private var durable: [String: UInt64]

  /// Opens the log to collect in, or makes it, and finds out what was collected.
  package init(
    directory path: String, configuration: Tracker.Configuration = .init(), limits: Limits = Limits()
  ) throws(WeirError) {
    collection = try LogCollection(directory: path, configuration: configuration)
    directory = collection.directory
    repetitions =
      limits.keepsRepetitions
      ? try LogCollection(directory: collection.directory + "/" + Self.repetitions, configuration: configuration) : nil
    self.limits = limits
    file = try FleetStateFile(in: collection.directory)
    rows = FleetRows(FleetStatus.read(in: collection.directory))
    committedRows = rows
    let content = try Self.summary(file, collection)
    state = content.state
    let segments = try LogCollection.segments(in: collection.directory, from: content.covered)
    let end = try collection.commit()
    guard !segments.isEmpty || content.covered > 0 || end == 0 else {
      throw WeirError(
        .invalid, "\(collection.directory) is a log of captures; collect into a directory of its own",
        path: collection.directory)
    }
    for segment in segments { state.collected(segment) }
    next = content.positions
    durable = content.positions
    settledBefore = content.settled
    last = content.last
    collection.covered(below: content.covered)
    // Else a log at its byte limit could neither remove a segment nor take another.
    if !segments.isEmpty { try summarize() }
  }

  /// The summary. Throws `invalid` if neither the summary nor the segments tell all that was collected.
  private static func summary(
    _ file: FleetStateFile, _ collection: LogCollection
  ) throws(WeirError) -> FleetStateFile.Content {
    var (content, what) = (FleetStateFile.Content(), "is missing")
    do throws(WeirError) {
      if let read = try file.read() { (content, what) = (read, "is older than what was removed") }
    } catch {
      guard error.code == .invalid else { throw error }
      what = "is damaged"
    }
    let first = try LogDirectory(collection.directory).tally(from: .max).firstOffset
    guard first > content.covered else { return content }
    throw WeirError(
      .invalid,
      "\(file.path) \(what), and the segments that told the same were removed: events that the broker still has would "
        + "come again; put the file back, or collect into another directory",
      path: file.path)
  }

  /// The position at which to read a source on. Everything before the position is in the log. `nil` for a new source.
  package func position(of source: String) -> UInt64? { durable[source] }

  /// Where to read a source on after its connection broke: before what came last, which another replica may not have at
  /// the same place.
  package func readPlace(of source: String) -> ReadPlace? {
    next[source].map { ReadPlace(next: settled($0, source), last: last[source]) }
  }

  private func settled(_ position: UInt64, _ source: String) -> UInt64 {
    min(position, marks[source]?.first?.position ?? settledBefore[source] ?? position)
  }

  /// Notes when the broker got a message, and forgets the marks that have settled since.
  private func mark(_ source: String, _ position: UInt64, _ time: Int64) {
    guard limits.settlingTime > .zero, time > 0 else { return }
    var list = marks[source] ?? []
    if list.last.map({ time >= $0.time + 1_000_000_000 }) ?? true { list.append((position, time)) }
    let before = time - Int64(clamping: limits.settlingTime.wholeNanoseconds)
    // A mark stands for the messages of the second after it.
    while list.count > 1, let first = list.first, first.time + 1_000_000_000 <= before { list.removeFirst() }
    marks[source] = list
  }

  /// Notes that a source has lost its end, and uses the positions from one on again.
  package func restart(_ source: String, at position: UInt64) {
    next[source] = position
    durable[source] = min(durable[source] ?? position, position)
    (marks[source], settledBefore[source], last[source]) = (nil, nil, nil)
  }

  /// Notes that the broker has no messages any more at these positions. Returns how many of them were never read.
  package func passOver(_ positions: Range<UInt64>, of source: String) -> UInt64 {
    let first = max(positions.lowerBound, next[source] ?? 0)
    guard positions.upperBound > first else { return 0 }
    next[source] = positions.upperBound
    return positions.upperBound - first
  }

  /// Takes a message. The source is a stream or a partition, and the position is the message's there.
  ///
  /// Throws the errors of the log. Then the collector must be made anew, and goes on at ``position(of:)``.
  ///
  /// - Parameter time: When the broker got the message, in nanoseconds since 1970; 0 if that is not known.
  package func take(
    headers: [String: String], bytes: @autoclosure () -> [UInt8], source: String, position: UInt64, time: Int64 = 0,
    at now: Duration
  ) throws(WeirError) {
    let isReadAgain = position < next[source] ?? 0
    if !isReadAgain {
      next[source] = position + 1
      last[source] = time > 0 ? ReadPlace.Last(position: position, time: time) : nil
    }
    mark(source, position, time)
    var message: PartMessage
    var body: [UInt8]?
    do throws(WeirError) {
      message = try PartMessage(headers: headers)
      if message.lanes == nil {
        let read = bytes()
        message.lanes = try LogPart(checking: read).spans.filter { $0.lane != LaneSpan.offsets }
        body = read
      }
    } catch {
      return noteUnreadable(error, source, position)
    }
    counts.parts += 1
    switch state.standing(of: message) {
    case .known:
      // The events may be known of another log: that of a second collector, or of a copy.
      if state.isNews(message), try isPart(message, body ?? bytes(), source, position) { state.collected(message) }
      // What is read again for its replicas did not come again.
      guard !isReadAgain else { return }
      counts.repeated &+= message.events
      try keepRepeated(message, body ?? bytes())
    case .next:
      try add(message, body ?? bytes(), source, position, at: now)
      try release(message.logID, at: now)
    case .early:
      let waits = Waiting(message: message, bytes: body ?? bytes(), source: source, position: position, since: now)
      // What is no part must not push real parts out.
      guard try isPart(message, waits.bytes, source, position) else { return }
      counts.held += 1
      heldBytes += waits.size
      let place = waiting[message.logID, default: []].partitioningIndex {
        $0.message.offsets.lowerBound > message.offsets.lowerBound
      }
      waiting[message.logID, default: []].insert(waits, at: place)
      waitingOrder.append((now, message.logID))
      try releaseOldest(at: now)
    }
  }

  /// Takes parts that have waited for too long, and returns when to call again at the latest; `nil` if none waits.
  @discardableResult
  package func look(at now: Duration) throws(WeirError) -> Duration? {
    try releaseOldest(at: now)
    return waitingOrder.first.map { $0.since + limits.patience }
  }

  /// Takes a part that comes next. A part whose bytes are not what its headers say is counted, and left out.
  private func add(
    _ message: PartMessage, _ bytes: [UInt8], _ source: String, _ position: UInt64, at now: Duration
  ) throws(WeirError) {
    guard try isPart(message, bytes, source, position) else { return }
    let known = state.known(in: message)
    if !known.isEmpty { try keepRepeated(message, bytes) }
    state.collected(message)
    rows.came(message, bytes: bytes.count)
    if !isUncommitted { uncommittedSince = now }
    uncommittedBytes += bytes.count
    if uncommitted[message.opening] == nil { uncommittedOrder.append(message.opening) }
    uncommitted[message.opening, default: []].append(Uncommitted(message: message, bytes: bytes, known: known))
  }

  /// Whether the bytes are what the headers say. If not, the message is counted.
  private func isPart(
    _ message: PartMessage, _ bytes: [UInt8], _ source: String, _ position: UInt64
  ) throws(WeirError) -> Bool {
    do throws(WeirError) {
      let part = try LogPart(checking: bytes)
      guard Set(part.spans) == Set(message.spans), part.summary.opening == message.opening,
        part.summary.logID == message.logID, part.summary.events == message.events
      else { throw WeirError(.invalid, "the headers say something else than the part") }
      return true
    } catch {
      guard error.code == .invalid || error.code == .version else { throw error }
      noteUnreadable(error, source, position)
      return false
    }
  }

  /// Writes what was taken to the log's files.
  private func writeUncommitted() throws(WeirError) {
    for opening in uncommittedOrder {
      for part in uncommitted.removeValue(forKey: opening) ?? [] {
        let added = try collection.add(part.bytes, from: part.message.host, without: part.known)
        counts.events += added
        counts.repeated += part.message.events - min(added, part.message.events)
        state.count(added, ofLog: part.message.logID)
      }
    }
    unsummarizedBytes += uncommittedBytes
    (uncommittedOrder, uncommittedBytes) = ([], 0)
  }

  private func noteUnreadable(_ error: WeirError, _ source: String, _ position: UInt64) {
    counts.unreadable += 1
    if firstUnreadable == nil { firstUnreadable = "\(source), message \(position): \(error.message)" }
  }

  /// Keeps the events of a part that are known already, if that is wanted: in a log of their own.
  private func keepRepeated(_ message: PartMessage, _ bytes: [UInt8]) throws(WeirError) {
    guard let repetitions else { return }
    var new: [LaneSpan] = []
    let known = Dictionary(grouping: state.known(in: message), by: \.lane)
    for span in message.spans {
      var from = span.positions.lowerBound
      for positions in (known[span.lane] ?? []).map(\.positions) {
        if positions.lowerBound > from { new.append(LaneSpan(lane: span.lane, positions: from..<positions.lowerBound)) }
        from = positions.upperBound
      }
      guard from < span.positions.upperBound else { continue }
      new.append(LaneSpan(lane: span.lane, positions: from..<span.positions.upperBound))
    }
    do throws(WeirError) {
      _ = try LogPart(checking: bytes)
      _ = try repetitions.add(bytes, from: message.host, without: new)
    } catch {
      guard error.code == .invalid || error.code == .version else { throw error }
    }
  }

  /// Takes the parts of a log that are no longer early.
  private func release(_ id: UInt64, at now: Duration) throws(WeirError) {
    while let first = waiting[id]?.first, state.standing(of: first.message) != .early {
      try releaseFirst(of: id, at: now)
    }
    if waiting[id]?.isEmpty ?? false { waiting[id] = nil }
  }

  private func releaseFirst(of id: UInt64, at now: Duration) throws(WeirError) {
    guard let first = waiting[id]?.removeFirst() else { return }
    heldBytes -= first.size
    guard state.standing(of: first.message) != .known else {
      counts.repeated &+= first.message.events
      return try keepRepeated(first.message, first.bytes)
    }
    try add(first.message, first.bytes, first.source, first.position, at: now)
  }

  /// Takes parts whose earlier ones have not come in time, and the oldest ones if too many wait.
  private func releaseOldest(at now: Duration) throws(WeirError) {
    while let (since, id) = waitingOrder.first {
      // Each part that waits has its place in the order, and those that wait no longer are still in it.
      guard waiting[id]?.contains(where: { $0.since <= since }) ?? false else {
        waitingOrder.removeFirst()
        continue
      }
      guard now - since >= limits.patience || heldBytes > limits.heldBytes else { return }
      counts.impatient += 1
      try releaseFirst(of: id, at: now)
      try release(id, at: now)
    }
  }

  /// Brings what was taken to the disk, and to readers.
  package func commit() throws(WeirError) {
    try writeUncommitted()
    end = try collection.commit()
    if let repetitions { repetitions.covered(below: try repetitions.commit()) }
    committedRows = rows
    var positions = next
    for waits in waiting.values.joined() {
      positions[waits.source] = min(positions[waits.source] ?? waits.position, waits.position)
    }
    durable = positions
  }

  /// Commits, and writes the summary of what was committed. The next start need not read those segments, and from the
  /// next commit on they may be removed.
  package func summarize() throws(WeirError) {
    try commit()
    var content = FleetStateFile.Content()
    content.state = state
    content.covered = end
    (content.positions, content.last) = (durable, last)
    for (source, position) in durable { content.settled[source] = settled(position, source) }
    try file.write(content)
    collection.covered(below: end)
    unsummarizedBytes = 0
  }

  /// How each log is doing.
  package var status: FleetStatus {
    var status = FleetStatus()
    status.rows = committedRows.sorted(by: state)
    status.written = Timestamp.now.nanosecondsSince1970
    return status
  }

  /// Says that every event below an offset was delivered: see ``LogCollection/delivered(below:)``.
  package func delivered(below offset: Offset) { collection.delivered(below: offset) }
}

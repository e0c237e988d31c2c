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

  /// A part that waits, or was added and is not committed.
  private struct Waiting {
    var message: PartMessage
    var bytes: [UInt8]
    var source: String
    var position: UInt64
    var since: Duration
  }

  package let directory: String
  package private(set) var state: FleetState
  package private(set) var counts = Counts()
  private let limits: Limits
  private let file: FleetStateFile
  private let collection: LogCollection
  private var covered: Offset
  /// The next position of each source, and those of the parts that wait.
  private var next: [String: UInt64]
  private var waiting: [UInt64: [Waiting]] = [:]
  private var heldBytes = 0
  /// Positions up to which everything is on the disk.
  private var durable: [String: UInt64]

  /// Opens the log to collect in, or makes it, and finds out what was collected.
  package init(
    directory: String, configuration: Tracker.Configuration = .init(), limits: Limits = Limits()
  ) throws(WeirError) {
    collection = try LogCollection(directory: directory, configuration: configuration)
    self.directory = collection.directory
    self.limits = limits
    file = try FleetStateFile(in: collection.directory)
    let content = try file.read() ?? FleetStateFile.Content()
    state = content.state
    for segment in try LogCollection.segments(in: collection.directory, from: content.covered) {
      state.collected(segment)
    }
    covered = content.covered
    next = content.positions
    durable = content.positions
  }

  /// The position at which to read a source on. Everything before the position is in the log. `nil` for a new source.
  package func position(of source: String) -> UInt64? { durable[source] }

  /// Takes a message. The source is a stream or a partition, and the position is the message's there.
  ///
  /// Throws the errors of the log. Then the collector must be made anew, and goes on at ``position(of:)``.
  package func take(
    headers: [String: String], bytes: @autoclosure () -> [UInt8], source: String, position: UInt64, at now: Duration
  ) throws(WeirError) {
    next[source] = max(next[source] ?? 0, position + 1)
    let message: PartMessage
    do throws(WeirError) {
      message = try PartMessage(headers: headers)
    } catch {
      counts.unreadable += 1
      return
    }
    counts.parts += 1
    switch state.standing(of: message) {
    case .known: counts.repeated += message.events
    case .next:
      try add(message, bytes())
      try release(message.logID, at: now)
    case .early:
      let waits = Waiting(message: message, bytes: bytes(), source: source, position: position, since: now)
      counts.held += 1
      heldBytes += waits.bytes.count
      let place = waiting[message.logID, default: []].partitioningIndex {
        $0.message.offsets.lowerBound > message.offsets.lowerBound
      }
      waiting[message.logID, default: []].insert(waits, at: place)
      try releaseOldest(at: now)
    }
  }

  /// Takes parts that have waited for too long, and returns when to call again at the latest; `nil` if none waits.
  package func look(at now: Duration) throws(WeirError) -> Duration? {
    try releaseOldest(at: now)
    return waiting.values.joined().map { $0.since + limits.patience }.min()
  }

  /// Adds a part that comes next. A part whose bytes are not what its headers say is counted, and left out.
  private func add(_ message: PartMessage, _ bytes: [UInt8]) throws(WeirError) {
    let part: LogPart
    do throws(WeirError) {
      part = try LogPart(checking: bytes)
    } catch {
      guard error.code == .invalid || error.code == .version else { throw error }
      counts.unreadable += 1
      return
    }
    guard Set(part.spans) == Set(message.spans), part.summary.opening == message.opening,
      part.summary.logID == message.logID
    else {
      counts.unreadable += 1
      return
    }
    let added = try collection.add(bytes, from: message.host, without: state.known(in: message))
    counts.events += added
    counts.repeated += message.events - min(added, message.events)
    state.collected(message)
  }

  /// Takes the parts of a log that are no longer early.
  private func release(_ id: UInt64, at now: Duration) throws(WeirError) {
    while let first = waiting[id]?.first, state.standing(of: first.message) != .early { try releaseFirst(of: id) }
    if waiting[id]?.isEmpty ?? false { waiting[id] = nil }
  }

  private func releaseFirst(of id: UInt64) throws(WeirError) {
    guard let first = waiting[id]?.removeFirst() else { return }
    heldBytes -= first.bytes.count
    guard state.standing(of: first.message) != .known else {
      counts.repeated += first.message.events
      return
    }
    try add(first.message, first.bytes)
  }

  /// Takes parts whose earlier ones have not come in time, and the oldest ones if too many wait.
  private func releaseOldest(at now: Duration) throws(WeirError) {
    while let (id, first) = waiting.compactMap({ id, list in list.first.map { (id, $0) } })
      .min(by: { $0.1.since < $1.1.since }),
      now - first.since >= limits.patience || heldBytes > limits.heldBytes
    {
      counts.impatient += 1
      try releaseFirst(of: id)
      try release(id, at: now)
    }
  }

  /// Brings what was taken to the disk, and to readers.
  package func commit() throws(WeirError) {
    _ = try collection.commit()
    var positions = next
    for waits in waiting.values.joined() {
      positions[waits.source] = min(positions[waits.source] ?? waits.position, waits.position)
    }
    durable = positions
  }

  /// Writes the summary of what was committed, so that the next start need not read those segments. Call after
  /// ``commit()``.
  package func summarize() throws(WeirError) {
    covered = try collection.commit()
    var content = FleetStateFile.Content()
    content.state = state
    content.covered = covered
    content.positions = durable
    try file.write(content)
  }

  /// Says that every event below an offset was delivered: see ``LogCollection/delivered(below:)``.
  package func delivered(below offset: Offset) { collection.delivered(below: offset) }
}

// CursorKeeper: the place where a worker starts, and its progress, on disk.

import Logging
import Weir

/// The lock, the cursor and the associated files of one provider. Belongs to the provider's worker.
struct CursorKeeper {
  /// The place where the worker starts.
  private(set) var start: CursorPosition
  /// Whether there was no cursor: then the provider itself starts here.
  private(set) var isNew = false
  /// The offset after the log's last event when the worker started, and the number of events accepted below that
  /// offset.
  let end: Offset
  let acceptedBelowEnd: UInt64
  /// The error of the last move; `nil` if there was none.
  private(set) var error: WeirError?
  /// The position on disk.
  private(set) var durable: CursorPosition

  let log: DeliveredLog
  private let calls: SystemCalls
  private let clock: DeliveryClock
  private let interval: Duration
  private let cursor: Cursor
  private var lock: CursorLock?
  var associations: AssociationFile
  /// What the provider was told of its users.
  private(set) var users: ToldUsers
  /// Whether events are settled that the cursor on disk does not include.
  private var isMoved = false
  private var nextMove = Duration.zero

  /// Takes the lock and finds the place to start. The cursor is on disk when this returns.
  ///
  /// Throws `locked`, `version`, and the errors of the system.
  init(_ orders: WorkerOrders) throws(WeirError) {
    log = orders.log
    calls = orders.configuration.calls
    clock = orders.clock
    interval = orders.configuration.cursorInterval
    lock = try CursorLock(orders.name, of: log.directory, calls: calls)
    cursor = try Cursor(orders.name, of: log.directory, calls: calls)
    associations = try AssociationFile(orders.name, of: log.directory, calls: calls)
    let directory = LogDirectory(log.directory)
    let whole = try directory.tally(from: .max)
    end = whole.nextOffset
    acceptedBelowEnd = whole.acceptedBelow
    users = try ToldUsers(
      orders.name, of: log.directory, limit: orders.options.userMemory, end: end, calls: calls)
    let resumption = try Resumption(cursor.found, in: log.directory, end: end)
    if let warning = resumption.warning {
      orders.configuration.logger?.warning("delivery to \(orders.name) from \(log.directory): \(warning)")
    }
    if case .position(let found) = cursor.found, found.offset == resumption.offset, found.counts != nil {
      start = found
      durable = found
      users.forget(from: start.offset)
      return
    }
    isNew = cursor.found == .nothing
    let from = isNew ? try directory.offset(of: orders.options.start, end: end) : resumption.offset
    let tally = try directory.tally(from: from)
    var counts = DeliveryCounts(from: max(from, tally.firstOffset), tally)
    if case .position(let found) = cursor.found, let before = found.counts {
      counts.restarts = before.restarts &+ 1
      (counts.rewinds, counts.rewound, counts.origin) = (before.rewinds, before.rewound, before.origin)
    }
    if cursor.found == .damaged { counts.restarts = 1 }
    start = CursorPosition(
      offset: counts.from, last: nil, certain: min(counts.from, log.durableOffset ?? 0), counts: counts)
    durable = start
    users.forget(from: isNew ? 0 : start.offset)
    try cursor.move(to: start)
  }

  /// The user that the provider was told of last, to be told again; `nil` if there was none.
  var associationToRepeat: HeldAssociation? { associations.find(start.association) }

  /// The time at which the cursor must be moved; `nil` if it is up to date.
  var due: Duration? { isMoved ? nextMove : nil }

  /// Notes that the provider was told of this change of the user.
  mutating func told(_ change: HeldAssociation) {
    associations.add(change)
  }

  /// Notes that the provider was told what is known about this user.
  mutating func identified(_ user: EventUser, at offset: Offset) {
    users.add(user, at: offset)
  }

  /// Notes that events may have been settled.
  mutating func noteProgress(_ span: SettledSpan) {
    isMoved = span.position > durable.offset
  }

  /// Moves the cursor on disk to the position of `span`, if it is not there already. Returns `false` if the move
  /// failed. Then the position is kept in memory, and the next call tries again.
  mutating func move(_ span: SettledSpan) -> Bool {
    guard isMoved else { return true }
    var position = CursorPosition(offset: span.position, last: span.last?.id, certain: durable.certain)
    position.certain = max(durable.certain, min(log.durableOffset ?? 0, span.position))
    position.counts = span.counts
    position.association = span.association
    position.lastOffset = span.last?.offset
    defer {
      // Counted from the end of the move: otherwise a slow disk would have no time for anything else.
      // After a failure a pause, or an interval of zero would be a busy loop on a full disk.
      nextMove = clock.now + (error == nil ? interval : max(interval, .seconds(1)))
    }
    do throws(WeirError) {
      try associations.write(upTo: span.association, named: durable.association)
      try users.write()
      try cursor.move(to: position)
      durable = position
      isMoved = false
      error = nil
    } catch {
      self.error = error
      return false
    }
    return true
  }

  /// Moves the cursor on disk to a position from which everything begins again.
  mutating func restart(at position: CursorPosition) throws(WeirError) {
    users.forget(from: position.offset)
    try cursor.move(to: position)
    start = position
    durable = position
    isMoved = false
    isNew = false
    error = nil
  }

  /// Tells the log that it may remove what every provider has received. Returns `true` if another provider's cursor is
  /// behind this one's, so that more can be removed when that provider makes progress.
  func release() throws(WeirError) -> Bool {
    try log.release(calls: calls).map { $0 < durable.offset } ?? false
  }

  /// Releases the lock. From then on, another process may deliver under this name.
  mutating func letGo() {
    lock = nil
  }
}

// CursorKeeper: where a worker begins, and how far it has come, on the disk.

import Logging
import Weir

/// The lock, the cursor and what is beside it, of one provider. Belongs to its worker.
struct CursorKeeper {
  /// Where the worker begins.
  private(set) var start: CursorPosition
  /// There was no cursor: this is where the provider begins.
  private(set) var isNew = false
  /// The offset after the log's last event when the worker began, and the events that had been accepted below it.
  let end: Offset
  let acceptedBelowEnd: UInt64
  /// What went wrong at the last move; nil if nothing did.
  private(set) var error: WeirError?
  /// The position on the disk.
  private(set) var durable: CursorPosition

  private let log: DeliveredLog
  private let calls: SystemCalls
  private let clock: DeliveryClock
  private let interval: Duration
  private let cursor: Cursor
  private var lock: CursorLock?
  private var associations: AssociationFile
  /// The first offset that is settled and not on the disk yet says so.
  private var isMoved = false
  private var nextMove = Duration.zero

  /// Takes the lock and finds where to begin. The cursor is on the disk when this returns.
  ///
  /// Throws `locked`, `version`, and what the system may say.
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
    let resumption = try Resumption(cursor.found, in: log.directory, end: end)
    if let warning = resumption.warning {
      orders.configuration.logger?.warning("delivery to \(orders.name) from \(log.directory): \(warning)")
    }
    if case .position(let found) = cursor.found, found.offset == resumption.offset, found.counts != nil {
      start = found
      durable = found
      return
    }
    isNew = cursor.found == .nothing
    let from = isNew ? try directory.offset(of: orders.options.start, end: end) : resumption.offset
    let tally = try directory.tally(from: from)
    var counts = DeliveryCounts(from: max(from, tally.firstOffset), tally)
    if case .position(let found) = cursor.found, let before = found.counts { counts.restarts = before.restarts &+ 1 }
    if cursor.found == .damaged { counts.restarts = 1 }
    start = CursorPosition(
      offset: counts.from, last: nil, certain: min(counts.from, log.durableOffset ?? 0), counts: counts)
    durable = start
    try cursor.move(to: start)
  }

  /// The user whom the provider was told of last, to be told again; nil if it was none.
  var associationToRepeat: HeldAssociation? { associations.find(start.association) }

  /// When the cursor is to be moved; nil if it stands where it should.
  var due: Duration? { isMoved ? nextMove : nil }

  /// The provider was told of this change of the user.
  mutating func told(_ change: HeldAssociation) {
    associations.add(change)
  }

  /// Something was settled.
  mutating func noteProgress(_ span: SettledSpan) {
    isMoved = span.position > durable.offset
  }

  /// Moves the cursor on the disk to where `span` stands, if it does not stand there; false if that failed. Then the
  /// position is kept in memory, and moved with the next call.
  mutating func move(_ span: SettledSpan) -> Bool {
    guard isMoved else { return true }
    var position = CursorPosition(offset: span.position, last: span.last?.id, certain: durable.certain)
    position.certain = max(durable.certain, min(log.durableOffset ?? 0, span.position))
    position.counts = span.counts
    position.association = span.association
    position.lastOffset = span.last?.offset
    defer {
      // Counted from its end, or a slow disk would have time for nothing else.
      nextMove = clock.now + interval
    }
    do throws(WeirError) {
      try associations.write(upTo: span.association)
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

  /// Says that the log may remove what every provider has. True if another provider has less than this one, so that
  /// more can be removed when that provider gets on.
  func release() throws(WeirError) -> Bool {
    try log.release(calls: calls).map { $0 < durable.offset } ?? false
  }

  /// Gives up the lock: from then on another process may deliver in this name.
  mutating func letGo() {
    lock = nil
  }
}

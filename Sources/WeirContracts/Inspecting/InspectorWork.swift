// InspectorWork: the work of the inspector's thread.

import Logging
import Weir

/// The state and the loop of an inspector's thread.
///
/// Sendable, although the compiler can't see it: the thread that opens the tracker makes it, and only the inspector's
/// thread uses it afterwards.
final class InspectorWork: @unchecked Sendable {
  /// The minimum interval between moves of the cursor. A move waits for the disk, and a kill repeats the inspection
  /// since the last move. The interval starts short and doubles, so that a process that is killed soon after each start
  /// also makes progress.
  private static let leastInterval = Duration.milliseconds(10)
  private static let mostInterval = Duration.seconds(1)
  private static let leastPause = Duration.milliseconds(1)
  /// The longest that the thread looks from time to time; after that the drainer wakes the thread.
  private static let mostPause = Duration.milliseconds(50)
  private static let pauseAfterError = Duration.seconds(1)
  private static let lockedPause = Duration.milliseconds(50)
  /// Gives way to the program: the log keeps what the thread has not inspected yet.
  private static let niceness = 10
  /// After so many clean events the counts are brought up to date, and the thread sees whether it is to end.
  private static let mostUncounted: UInt64 = 256

  private let orders: Inspector.Orders
  private let shared: ConditionLock<Inspector.Shared>
  private let bell: DrainBell
  private let directory: String
  private let log: ViolationLog
  private var cursor: Cursor?
  private var reader: EventReader?
  /// Checks events by their bytes. Belongs to the reader.
  private var check: StoredCheck
  /// Clean events that are not in the counts yet.
  private var uncounted: UInt64 = 0
  private var position: CursorPosition
  private var isMoved = false
  private var nextMove = MonotonicTime.now.after(leastInterval)
  private var interval = leastInterval
  private var hasReachedEnd = false
  private var reported: Set<String> = []
  private var warnings = ViolationWarnings()

  init(
    _ orders: Inspector.Orders, _ shared: ConditionLock<Inspector.Shared>, _ bell: DrainBell, directory: String,
    firstOffset: Offset
  ) {
    self.orders = orders
    self.shared = shared
    self.bell = bell
    self.directory = directory
    check = StoredCheck(orders.contract)
    log = ViolationLog(
      in: directory, byteLimit: orders.configuration.logBytes, contract: orders.contract.contract, shared)
    // A recovery is on disk before an opening assigns offsets.
    position = CursorPosition(offset: firstOffset, last: nil, certain: firstOffset)
    do throws(WeirError) {
      try resume(firstOffset)
    } catch {
      report(error, "the position of the inspection can't be stored")
    }
    shared.change { state in
      state.counts.from = position.offset
      state.counts.offset = position.offset
    }
  }

  /// Finds the place to start. Without a cursor, that is this opening: a new contract does not apply to earlier events.
  private func resume(_ firstOffset: Offset) throws(WeirError) {
    let cursor = try Cursor(Inspector.cursorName, of: directory)
    self.cursor = cursor
    guard cursor.found != .nothing else { return try cursor.move(to: position) }
    let resumption = try Resumption(cursor.found, in: directory, end: firstOffset)
    if case .position(let found) = cursor.found, found.offset == resumption.offset {
      position = found
    } else {
      position = CursorPosition(offset: resumption.offset, last: nil, certain: resumption.offset)
    }
    if let warning = resumption.warning {
      orders.configuration.logger?.warning("the inspection of \(directory): \(warning)")
    }
  }

  /// The body of the thread. Inspects until the end is requested.
  func run() {
    shared.change { $0.thread = .current }
    lowerThreadPriority(to: Self.niceness)
    var pause = Self.leastPause
    while true {
      let isEnding = shared.read { $0.deadline != nil }
      let before = position.offset
      let isAtEnd = readToEnd()
      attempt("violations are not logged at present") { () throws(WeirError) in try log.drain() }
      if isAtEnd, isMoved, !hasReachedEnd {
        hasReachedEnd = true
        moveCursor()
      }
      moveCursorIfDue()
      if isEnding && isAtEnd || isOver { break }
      if position.offset > before { pause = Self.leastPause }
      rest(for: isAtEnd ? pause : Self.pauseAfterError, isAtEnd: isAtEnd)
      // Above the most, a pause lasts until events come; it is not doubled further, so that nothing overflows.
      if pause <= Self.mostPause { pause *= 2 }
      if isEnding && !isAtEnd { break }
    }
    moveCursor()
    tellRest()
    attempt("the log of violations could not be closed") { () throws(WeirError) in try log.close() }
    reader = nil
    shared.change { state in
      state.isFinished = true
      state.log = nil
    }
  }

  /// Waits for more to do: for `pause`, or, at the log's end after a while, until the drainer brings events.
  private func rest(for pause: Duration, isAtEnd: Bool) {
    let isLong = isAtEnd && pause > Self.mostPause
    guard isLong else { return wait(until: MonotonicTime.now.after(pause), isAtEnd: isAtEnd) }
    shared.change(wakes: false) { $0.isRung = false }
    bell.arm(shared) { [shared] in shared.change { $0.isRung = true } }
    defer { _ = bell.disarm(shared) }
    // Read after arming: events that came before the bell was armed rang for nobody.
    let end = shared.read { $0.log?.counters().nextOffset }
    guard end ?? 0 <= shared.read({ $0.counts.offset }) else { return }
    // Without a cursor there is no move to wait for.
    wait(until: isMoved && cursor != nil ? nextMove : MonotonicTime(nanoseconds: .max), isAtEnd: true)
  }

  private func wait(until time: MonotonicTime, isAtEnd: Bool) {
    _ = shared.wait(until: time) { state in
      state.deadline != nil || isAtEnd && (state.isRung || state.wanted > state.counts.offset)
    }
  }

  /// Whether the time to end has passed.
  private var isOver: Bool {
    guard let deadline = shared.read({ $0.deadline }) else { return false }
    return deadline <= MonotonicTime.now
  }

  /// Whether callers have stopped waiting for this thread. Another opening may then use the cursor.
  private var isGivenUp: Bool { shared.read { $0.isGivenUp } }

  /// Inspects the events in the log. Returns `false` if the log can't be read, or the time to end has passed.
  private func readToEnd() -> Bool {
    // Read first: all events below this offset are in the files by now, unless they are lost.
    guard let end = shared.read({ $0.log?.counters().nextOffset }) else { return true }
    guard end > shared.read({ $0.counts.offset }) else { return true }
    do throws(WeirError) {
      let reader = try openedReader()
      while let event = try reader.nextRaw() {
        if check.isClean(event, in: reader) {
          pass(event)
          guard uncounted >= Self.mostUncounted else { continue }
          guard count() else { return false }
        } else {
          guard count(), inspect(reader.event(event)) else { return false }
        }
        if MonotonicTime.now >= nextMove { moveCursorIfDue() }
      }
      guard count() else { return false }
    } catch {
      _ = count()
      reader = nil
      report(error, "the log can't be inspected at present")
      return false
    }
    // Offsets without events at the end of the log are skipped too.
    shared.change { $0.counts.offset = max($0.counts.offset, end) }
    return true
  }

  private func openedReader() throws(WeirError) -> EventReader {
    if let reader { return reader }
    let opened = try EventReader(directory: directory, from: position.offset)
    check = StoredCheck(orders.contract)
    opened.onSkip = { [weak self] skip in self?.skipped(skip) }
    reader = opened
    return opened
  }

  /// Counts events that can't be inspected any more, and says so once: there may be many such stretches.
  private func skipped(_ skip: EventReader.Skip) {
    guard skip.count > 0 else { return }
    shared.change(wakes: false) { $0.counts.uninspected += skip.count }
    guard reported.insert("skip").inserted else { return }
    let why =
      skip.isRemoval
      ? "they were removed before, because the log may not be longer: retention or byteLimit" : "\(skip.reason)"
    orders.configuration.logger?.warning(
      """
      \(skip.count) events of \(directory) from offset \(skip.firstOffset) on were not inspected: \(why); this is \
      reported once, and counted: ViolationCounts.uninspected
      """)
  }

  /// Passes over a clean event.
  private func pass(_ event: RawEvent) {
    uncounted += 1
    position.offset = event.offset + 1
    position.last = event.id
    isMoved = true
  }

  /// Counts the clean events since the last call. Returns `false` if the time to end has passed.
  private func count() -> Bool {
    guard uncounted > 0 else { return true }
    let (clean, offset) = (uncounted, position.offset)
    let isEnding = shared.change(wakes: false) { state in
      state.counts.inspected += clean
      state.counts.offset = offset
      return state.deadline != nil
    }
    uncounted = 0
    return !(isEnding && isOver)
  }

  /// Checks an event. Returns `false` if the time to end has passed: an event whose handling is incomplete by then is
  /// not skipped, and the next opening inspects it.
  private func inspect(_ event: StoredEvent) -> Bool {
    let isInspected = !event.name.hasPrefix(EventType.reservedPrefix)
    let outcome = isInspected ? orders.contract.check(event) : ContractOutcome()
    for violation in outcome.violations {
      tell(violation, by: event)
      guard write(violation, by: event) else { return false }
    }
    warnings.hold(outcome.omittedViolations)
    position.offset = event.offset + 1
    position.last = event.id
    isMoved = true
    let isEnding = shared.change(wakes: false) { state in
      if isInspected { state.counts.add(outcome) }
      if event.name == StoredEvent.undefinedName { state.counts.uninspected += 1 }
      state.counts.offset = position.offset
      return state.deadline != nil
    }
    return !(isEnding && isOver)
  }

  /// Passes a violation to the observer. Without an observer, warns in the program's log.
  private func tell(_ violation: Violation, by event: StoredEvent) {
    if let observer = orders.observer { return observer(event, violation) }
    guard let logger = orders.configuration.logger, let more = warnings.admit(at: .now) else { return }
    logger.warn(of: violation, by: event, of: orders.contract.contract, in: directory, more)
  }

  /// Warns of the violations that were held back. Called when no further violation follows.
  private func tellRest() {
    guard orders.observer == nil, let logger = orders.configuration.logger else { return }
    let count = warnings.takeHeldBack()
    if count > 0 { logger.warn(ofHeldBack: count, in: directory) }
  }

  /// Writes a violation to the log of violations, or counts that it can't be written. Returns `false` if the time to
  /// end passed first, in the observer or while a previous inspection still had the log open.
  private func write(_ violation: Violation, by event: StoredEvent) -> Bool {
    while !isOver {
      do throws(WeirError) {
        try log.write(violation, by: event)
        return true
      } catch {
        report(error, "violations are not logged at present")
        guard error.code == .locked else {
          shared.change(wakes: false) { $0.counts.unlogged += 1 }
          return true
        }
      }
      _ = shared.wait(until: MonotonicTime.now.after(Self.lockedPause)) { $0.isGivenUp }
    }
    return false
  }

  private func moveCursorIfDue() {
    guard isMoved, MonotonicTime.now >= nextMove else { return }
    moveCursor()
  }

  /// Stores the position of the inspection on disk, after storing the violations found so far.
  private func moveCursor() {
    guard isMoved, !isGivenUp, let cursor else { return }
    attempt("violations may not be on the disk") { () throws(WeirError) in try log.sync() }
    let durable = shared.read { $0.log?.durableOffset } ?? 0
    position.certain = max(position.certain, min(durable, position.offset))
    // The wait for the disk may have lasted until callers stopped waiting for this thread.
    guard !isGivenUp else { return }
    isMoved = !attempt("the position of the inspection can't be stored") { () throws(WeirError) in
      try cursor.move(to: position)
    }
    // Measured from the end of the move: otherwise a slow disk would leave no time for anything else.
    nextMove = MonotonicTime.now.after(interval)
    interval = min(interval * 2, Self.mostInterval)
  }

  @discardableResult
  private func attempt(_ consequence: String, _ body: () throws(WeirError) -> Void) -> Bool {
    do throws(WeirError) {
      try body()
      return true
    } catch {
      report(error, consequence)
      return false
    }
  }

  /// Stores an error for the counts, and logs each consequence once, because it may occur at every event.
  func report(_ error: WeirError, _ consequence: String) {
    shared.change { $0.counts.error = error }
    guard reported.insert(consequence).inserted else { return }
    orders.configuration.logger?.error("\(consequence): \(error.message)")
  }
}

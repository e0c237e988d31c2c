// InspectorWork: what the inspector's thread does.

import Logging
import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// The state and loop of an inspector's thread.
///
/// Sendable in truth though the compiler can't see it: it is made by the thread that opens the tracker, and belongs to
/// the inspector's from then on.
final class InspectorWork: @unchecked Sendable {
  /// At most so often is the cursor moved, which waits for the disk: what a kill makes it inspect again. It begins
  /// short and doubles, so a process that is killed soon after each start comes forward too.
  private static let leastInterval = Duration.milliseconds(10)
  private static let mostInterval = Duration.seconds(1)
  private static let leastPause = Duration.milliseconds(1)
  private static let mostPause = Duration.seconds(1)
  private static let pauseAfterError = Duration.seconds(1)
  private static let lockedPause = Duration.milliseconds(50)

  private let orders: Inspector.Orders
  private let shared: Monitor<Inspector.Shared>
  private let directory: String
  private let log: ViolationLog
  private var cursor: Cursor?
  private var reader: EventReader?
  private var position: CursorPosition
  private var isMoved = false
  private var nextMove = MonotonicTime.now.after(leastInterval)
  private var interval = leastInterval
  private var hasReachedEnd = false
  private var reported: Set<String> = []

  init(_ orders: Inspector.Orders, _ shared: Monitor<Inspector.Shared>, directory: String, firstOffset: Offset) {
    self.orders = orders
    self.shared = shared
    self.directory = directory
    log = ViolationLog(
      in: directory, byteLimit: orders.configuration.logBytes, contract: orders.contract.contract, shared)
    // A recovery is on the disk before an opening gives offsets.
    position = CursorPosition(offset: firstOffset, last: nil, certain: firstOffset)
    do throws(WeirError) {
      try resume(firstOffset)
    } catch {
      report(error, "it is not noted how far events are inspected")
    }
    shared.change { state in
      state.counts.from = position.offset
      state.counts.offset = position.offset
    }
  }

  /// Finds where to begin. Without a cursor that is with this opening: a contract that is new does not tell of events
  /// from before there was one.
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

  /// Inspects until it is told to end. The body of the thread.
  func run() {
    shared.change { $0.thread = pthread_self() }
    var pause = Self.leastPause
    while true {
      let isEnding = shared.read { $0.deadline != nil }
      let before = position.offset
      let isAtEnd = readToEnd()
      if isAtEnd, isMoved, !hasReachedEnd {
        hasReachedEnd = true
        moveCursor()
      }
      moveCursorIfDue()
      if isEnding && isAtEnd || isOver { break }
      if position.offset > before { pause = Self.leastPause }
      let wake = MonotonicTime.now.after(isAtEnd ? pause : Self.pauseAfterError)
      _ = shared.wait(until: wake) { state in
        state.deadline != nil || isAtEnd && state.wanted > state.counts.offset
      }
      pause = min(pause * 2, Self.mostPause)
      if isEnding && !isAtEnd { break }
    }
    moveCursor()
    attempt("the log of violations could not be closed") { () throws(WeirError) in try log.close() }
    reader = nil
    shared.change { state in
      state.isFinished = true
      state.log = nil
    }
  }

  /// The time to end has passed.
  private var isOver: Bool {
    guard let deadline = shared.read({ $0.deadline }) else { return false }
    return deadline <= MonotonicTime.now
  }

  /// Nobody waits for this thread any more: another opening may have the cursor.
  private var isGivenUp: Bool { shared.read { $0.isGivenUp } }

  /// Inspects what is in the log. False if it can't be read, or if the time to end has passed.
  private func readToEnd() -> Bool {
    // Asked first: what is below it is in the files by now, if it is anywhere.
    guard let end = shared.read({ $0.log?.counters().nextOffset }) else { return true }
    guard end > shared.read({ $0.counts.offset }) else { return true }
    do throws(WeirError) {
      let reader = try openedReader()
      while let event = try reader.next() {
        guard inspect(event) else { return false }
        if MonotonicTime.now >= nextMove { moveCursorIfDue() }
      }
    } catch {
      reader = nil
      report(error, "the log can't be inspected at present")
      return false
    }
    // Offsets that no event has, at the end of the log, are passed over too.
    shared.change { $0.counts.offset = max($0.counts.offset, end) }
    return true
  }

  private func openedReader() throws(WeirError) -> EventReader {
    if let reader { return reader }
    let opened = try EventReader(directory: directory, from: position.offset)
    opened.onSkip = { [shared] skip in shared.change(wakes: false) { $0.counts.uninspected += skip.count } }
    reader = opened
    return opened
  }

  /// Holds an event against the contract. False if the time to end has passed: an event of which not everything was
  /// done by then is not passed over, and is the next opening's.
  private func inspect(_ event: StoredEvent) -> Bool {
    let isInspected = !event.name.hasPrefix(EventType.reservedPrefix)
    let outcome = isInspected ? orders.contract.check(event) : ContractOutcome()
    for violation in outcome.violations {
      orders.observer?(event, violation)
      guard write(violation, by: event) else { return false }
    }
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

  /// Writes a violation to the log of violations, or counts that it can't be written. False if the time to end has
  /// passed before, as it may in the observer, or while an inspection before this one has the log.
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

  /// Notes on the disk how far events are inspected, and before that what was found in them.
  private func moveCursor() {
    guard isMoved, !isGivenUp, let cursor else { return }
    attempt("violations may not be on the disk") { () throws(WeirError) in try log.sync() }
    let durable = shared.read { $0.log?.durableOffset } ?? 0
    position.certain = max(position.certain, min(durable, position.offset))
    // The wait for the disk may have been too long for whoever waits for this thread.
    guard !isGivenUp else { return }
    isMoved = !attempt("it is not noted how far events are inspected") { () throws(WeirError) in
      try cursor.move(to: position)
    }
    // Counted from its end, or a slow disk would have time for nothing else.
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

  /// Keeps an error for the counts, and logs each consequence once: it may happen at every event.
  func report(_ error: WeirError, _ consequence: String) {
    shared.change { $0.counts.error = error }
    guard reported.insert(consequence).inserted else { return }
    orders.configuration.logger?.error("\(consequence): \(error.message)")
  }
}

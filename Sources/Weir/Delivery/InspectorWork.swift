// InspectorWork: what the inspector's thread does.

import Logging

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
  /// At most so often is the cursor moved, which waits for the disk. What a kill makes it inspect again.
  private static let cursorInterval = Duration.seconds(1)
  private static let leastPause = Duration.milliseconds(1)
  private static let mostPause = Duration.seconds(1)
  private static let pauseAfterError = Duration.seconds(1)

  private let orders: Inspector.Orders
  private let shared: Monitor<Inspector.Shared>
  private let directory: String
  private let log: ViolationLog
  private var cursor: Cursor?
  private var reader: EventReader?
  private var position: CursorPosition
  private var isMoved = false
  private var nextMove = MonotonicTime(nanoseconds: 0)
  private var reported: Set<String> = []

  init(_ orders: Inspector.Orders, _ shared: Monitor<Inspector.Shared>, directory: String, firstOffset: Offset) {
    self.orders = orders
    self.shared = shared
    self.directory = directory
    log = ViolationLog(
      in: directory, byteLimit: orders.inspection.logBytes, contract: orders.contract.contract)
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
    if let warning = resumption.warning { orders.logger?.warning("the inspection of \(directory): \(warning)") }
  }

  /// Inspects until it is told to end. The body of the thread.
  func run() {
    shared.change { $0.thread = pthread_self() }
    var pause = Self.leastPause
    while true {
      let isEnding = shared.read { $0.deadline != nil }
      let before = position.offset
      let isAtEnd = readToEnd()
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

  /// Inspects what is in the log. False if it can't be read, or if the time to end has passed.
  private func readToEnd() -> Bool {
    // Asked first: what is below it is in the files by now, if it is anywhere.
    guard let end = shared.read({ $0.log?.counters().nextOffset }) else { return true }
    guard end > shared.read({ $0.counts.offset }) else { return true }
    do throws(WeirError) {
      let reader = try openedReader()
      while let event = try reader.next() {
        if inspect(event), isOver { return false }
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

  /// Holds an event against the contract. Answers whether the inspection is to end.
  private func inspect(_ event: StoredEvent) -> Bool {
    let isInspected = !event.name.hasPrefix(EventType.reservedPrefix)
    let outcome = isInspected ? orders.contract.check(event) : ContractOutcome()
    for violation in outcome.violations {
      orders.observer?(event, violation)
      let isLogged = attempt("violations are not logged at present") { () throws(WeirError) in
        try log.write(violation, by: event)
      }
      if !isLogged { shared.change(wakes: false) { $0.counts.unlogged += 1 } }
    }
    position.offset = event.offset + 1
    position.last = event.id
    isMoved = true
    return shared.change(wakes: false) { state in
      if isInspected { state.counts.add(outcome) }
      if event.name == StoredEvent.undefinedName { state.counts.uninspected += 1 }
      state.counts.offset = position.offset
      return state.deadline != nil
    }
  }

  private func moveCursorIfDue() {
    guard isMoved, MonotonicTime.now >= nextMove else { return }
    moveCursor()
  }

  /// Notes on the disk how far events are inspected, and before that what was found in them.
  private func moveCursor() {
    guard isMoved, let cursor else { return }
    nextMove = MonotonicTime.now.after(Self.cursorInterval)
    attempt("violations may not be on the disk") { () throws(WeirError) in try log.sync() }
    let durable = shared.read { $0.log?.durableOffset } ?? 0
    position.certain = max(position.certain, min(durable, position.offset))
    isMoved = !attempt("it is not noted how far events are inspected") { () throws(WeirError) in
      try cursor.move(to: position)
    }
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
    orders.logger?.error("\(consequence): \(error.message)")
  }
}

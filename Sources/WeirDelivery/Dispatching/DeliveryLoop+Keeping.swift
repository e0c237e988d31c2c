// DeliveryLoop, keeping: what goes to the disk, and what others are told.

import Logging
import Weir

extension DeliveryLoop {
  /// Puts events among the dead letters, and settles them once they are on the disk there. Until that succeeds they
  /// wait, are tried again together after a pause, and others are delivered as long as there are not too many.
  func bury(_ rejected: [Settlement.Rejection]) {
    unburied += rejected
    unburiedBytes += rejected.reduce(0) { $0 + $1.event.bytes }
    guard !unburied.isEmpty, clock.now >= nextBurial else { return }
    do throws(WeirError) {
      if !orders.isRedrive {
        try deadLetters.write(
          unburied.map { rejection in
            DeadLetter(
              provider: orders.name, event: rejection.event.prepared.stored,
              reason: rejection.reason.inOneLine(of: LoggedAttempt.answerBytes), attempts: rejection.event.attempts)
          })
      }
      for rejection in unburied { settle(rejection.event.offset, Outcomes(rejected: 1)) }
      unburied = []
      unburiedBytes = 0
      clear("dead letters")
    } catch {
      nextBurial = clock.now + Self.burialPause
      report(error, "dead letters")
    }
  }

  private static var burialPause: Duration { .seconds(1) }

  /// So much waits for the dead-letter log that nothing is delivered for now, nor read: as much as a call takes. A call
  /// in progress may add as much again.
  var isBurialHeldUp: Bool {
    unburied.count >= orders.options.flush.maximumEvents || unburiedBytes >= orders.options.flush.maximumBytes
  }

  /// What became of an event that was given to the provider.
  func settle(_ offset: Offset, _ outcomes: Outcomes) {
    span.settle(offset, outcomes)
    settleParts(before: offset)
  }

  /// Of a letter that ends at `offset` and is settled: the parts before its last are, too.
  func settleParts(before offset: Offset) {
    for part in letters.settled(offset) { span.settle(part, Outcomes()) }
  }

  /// Moves the cursor, if its time has come.
  func keepCursor() {
    keeper.noteProgress(span)
    guard let due = keeper.due, due <= clock.now else { return }
    moveCursor()
  }

  /// Moves the cursor to what is settled, and has the log remove what every provider has.
  func moveCursor() {
    keeper.noteProgress(span)
    guard keeper.due != nil else { return }
    guard keeper.move(span) else {
      if let error = keeper.error { report(error, "the cursor") }
      return
    }
    clear("the cursor")
    attempts.writeSettled(below: keeper.durable.offset)
    release()
  }

  /// Other processes move cursors, too.
  func releaseNowAndThen() {
    guard clock.now >= nextRelease else { return }
    release()
  }

  private static var releasePause: Duration { .seconds(10) }

  private func release() {
    nextRelease = clock.now + Self.releasePause
    do throws(WeirError) {
      isHeldUpByOthers = try keeper.release()
      clear("removal")
    } catch {
      report(error, "removal")
    }
  }

  // MARK: News

  /// Tells the dispatcher how things stand.
  func publish() {
    var report = WorkerReport()
    report.position = span.position
    report.durable = keeper.durable.offset
    report.end = span.end
    report.seenEnd = reader.seenEnd
    report.counts = span.counts
    report.ahead = span.ahead
    report.passed = span.passedOutcomes
    report.open = span.open
    report.state = currentState
    report.error = troubles.values.sorted().first
    report.preparation = preparation.counts
    shared.publish { $0.report = report }
  }

  private var currentState: Ledger.ProviderState {
    if let stop { return .stopped(reason: stop.reason) }
    if overdue != nil { return .backingOff }
    if case .open = breaker.phase { return .open }
    if backoff.failures > 0 { return isSetUp ? .backingOff : .starting }
    return isSetUp ? .running : .starting
  }

  /// Keeps what went wrong until it is over, and logs it once.
  func report(_ problem: String, _ kind: String) {
    let isNew = troubles.updateValue(problem.inOneLine(of: LoggedAttempt.answerBytes), forKey: kind) == nil
    guard isNew else { return }
    configuration.logger?.warning("delivery to \(orders.name) from \(orders.log.directory): \(problem)")
  }

  func report(_ error: WeirError, _ kind: String) {
    report("\(kind): \(error.message)", kind)
  }

  /// That kind of trouble is over.
  func clear(_ kind: String) {
    guard troubles.removeValue(forKey: kind) != nil else { return }
    configuration.logger?.info("delivery to \(orders.name) from \(orders.log.directory): \(kind) works again")
  }
}

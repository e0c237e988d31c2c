// DeliveryLoop, keeping: writes progress to disk, and reports it.

import Logging
import Weir

extension DeliveryLoop {
  /// Writes events to the dead-letter log, and settles the events once they are on disk. If the write fails, the events
  /// wait, and are written together after a pause. Other events are delivered meanwhile, unless too many are waiting.
  func bury(_ rejected: [Settlement.Rejection]) {
    // They may wait for long, and their neighbours in the log need not wait with them.
    unburied += rejected.map { Settlement.Rejection(event: $0.event.decoded, reason: $0.reason) }
    unburiedBytes += rejected.reduce(0) { $0 + $1.event.bytes }
    guard !unburied.isEmpty, clock.now >= nextBurial else { return }
    do throws(WeirError) {
      if !orders.isRedrive {
        try deadLetters.write(
          unburied.map { rejection in
            DeadLetter(
              provider: orders.name, event: rejection.event.captured,
              reason: rejection.reason.inOneLine(of: LoggedAttempt.answerBytes), attempts: rejection.event.attempts)
          })
      }
      for rejection in unburied { settle(rejection.event, Outcomes(rejected: 1)) }
      let reasons = unburied.map(\.reason)
      publish(unburied.map(\.event)) { .rejected(reason: reasons[$0].inOneLine(of: LoggedAttempt.answerBytes)) }
      unburied = []
      unburiedBytes = 0
      clear("dead letters")
    } catch {
      nextBurial = clock.now + Self.burialPause
      report(error, "dead letters")
    }
  }

  private static var burialPause: Duration { .seconds(1) }

  /// Whether so many events wait for the dead-letter log that nothing is read or delivered for now: as many as a call
  /// takes. A call in progress may add as many again.
  var isBurialHeldUp: Bool {
    unburied.count >= orders.options.flush.maximumEvents || unburiedBytes >= orders.options.flush.maximumBytes
  }

  /// Settles an event that was delivered to the provider.
  func settle(_ event: HeldEvent, _ outcomes: Outcomes) {
    span.settle(event.offset, outcomes, id: event.prepared.id)
    settleParts(before: event.offset)
  }

  /// Settles events that the provider accepted. Neighbours are settled together.
  func settle(accepted events: [HeldEvent]) {
    var next = 0
    while next < events.count {
      let first = next
      next += 1
      if events[first].isGap {
        settle(events[first], events[first].outcomes(Outcomes(acknowledged: 1)))
        continue
      }
      let offset = events[first].offset
      while next < events.count, events[next].offset == offset + Offset(next - first), !events[next].isGap { next += 1 }
      span.settle(offset..<offset + Offset(next - first), Outcomes(acknowledged: 1)) { settled in
        events[first + Int(settled - offset)].prepared.id
      }
    }
    if orders.isRedrive { for index in events.indices { settleParts(before: events[index].offset) } }
  }

  /// Settles the earlier parts of the settled dead letter that ends at `offset`.
  func settleParts(before offset: Offset) {
    for part in letters.settled(offset) { span.settle(part, Outcomes()) }
  }

  /// Moves the cursor if its time has come.
  func keepCursor() {
    keeper.noteProgress(span)
    guard let due = keeper.due, due <= clock.now else { return }
    moveCursor()
  }

  /// Moves the cursor past the settled events, and lets the log remove what every provider has received.
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

  /// Checks from time to time, because other processes move cursors too.
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

  /// Tells observers what became of these events, by their index.
  func publish(_ events: [HeldEvent], fate: (Int) -> Journey.Fate) {
    guard orders.feed.isHeard, !events.isEmpty else { return }
    orders.feed.tell(
      events.enumerated().map { index, event in
        SettledEvent(id: event.prepared.id, provider: orders.name, fate: fate(index))
      })
  }

  /// Publishes the worker's state to the dispatcher.
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
    report.openNotices = span.openNotices
    report.state = currentState
    report.error = troubles.values.sorted().first
    report.preparation = preparation.counts
    shared.publish(report)
  }
}

// BatchLoop, calls: gives segments to the provider, and applies its answers.

import Logging
import Weir

extension BatchLoop {
  func setUp() {
    wasTried = true
    let provider = provider
    let given = answer {
      try await provider.setup()
      return []
    }
    if given == nil, ending == .abandonment { return }
    switch given {
    case .verdicts:
      isSetUp = true
      noteDurability()
    case .stopped(let reason): stopped(reason)
    case .refused(let reason), .failed(let reason): failed("setup() failed: \(reason)")
    case .cutShort(let reason): report(reason, "provider")
    case nil: unanswered("setup()")
    }
    publish()
  }

  private func noteDurability() {
    do throws(WeirError) {
      try DurabilityFile.note(BatchDelivery(provider), of: orders.log.directory, calls: configuration.calls)
    } catch {
      report(error, "the durability's file")
    }
  }

  /// Gives a segment to the provider, and settles it.
  func give(_ name: SegmentName, _ summary: SegmentSummary) throws(WeirError) {
    guard let segment = try file(of: name, summary) else { return }
    attemptsOfSegment += 1
    let provider = provider
    let began = Timestamp.now
    let start = clock.now
    let given = answer { [try await provider.deliver(segment)] }
    guard ending != .abandonment else { return }
    quietUntil = max(quietUntil, start + orders.options.budget.pause(after: segment.byteCount))
    note(segment, given, began, clock.now - start)
    switch given {
    case .verdicts(let verdicts):
      switch verdicts.first {
      case .accepted?:
        succeeded()
        try accept(summary)
      case .rejected(let reason)?:
        succeeded()
        try bury(upTo: summary.offsets.upperBound, reason)
      case .retry(let after)?: failed("the provider asked to retry the segment \(segment.fileName)", retryAfter: after)
      case nil: failed("the provider returned no verdict")
      }
    case .stopped(let reason): stopped(reason)
    case .refused(let reason), .failed(let reason): failed(reason)
    case .cutShort(let reason): report(reason, "provider")
    case nil: unanswered("deliver(_:)")
    }
    publish()
  }

  // MARK: The file

  private var packedName: String { orders.name + ".segment.weir.lz4" }
  private var cursors: String { orders.log.directory + "/" + Cursor.directoryName }

  /// The file of a segment, compressed if that can be; `nil` if the segment has another name by now.
  private func file(of name: SegmentName, _ summary: SegmentSummary) throws(WeirError) -> BatchSegment? {
    if !name.isBatch {
      do throws(WeirError) {
        return try packedFile(of: name, summary)
      } catch {
        switch error.code {
        case .missing:
          segments.forget()
          return nil
        // Damaged segments stay raw, and so do segments for whose compression there is no room.
        case .invalid, .noSpace: break
        default: throw error
        }
      }
    }
    return BatchSegment(
      summary, at: orders.log.directory + "/" + name.text, byteCount: Int(clamping: summary.fileBytes),
      isCompressed: name.isBatch)
  }

  private func packedFile(of name: SegmentName, _ summary: SegmentSummary) throws(WeirError) -> BatchSegment {
    if packed != name.base {
      try removePacked()
      try SegmentFile.pack(name.base, in: orders.log.directory, to: packedName, in: cursors)
      packed = name.base
    }
    let directory = try configuration.calls.openDirectory(cursors)
    guard let file = try configuration.calls.open(packedName, in: directory, forWriting: false) else {
      packed = nil
      throw WeirError(.io, "\(packedName) is gone", path: cursors)
    }
    return BatchSegment(
      summary, at: cursors + "/" + packedName, byteCount: try configuration.calls.byteCount(of: file),
      isCompressed: true)
  }

  /// Removes the compressed file beside the cursor, which also a killed process may have left.
  func removePacked() throws(WeirError) {
    packed = nil
    try configuration.calls.unlink(packedName, in: try configuration.calls.openDirectory(cursors))
  }

  // MARK: Settling

  /// Settles a segment that the provider has. Its events are counted by its seal.
  private func accept(_ summary: SegmentSummary) throws(WeirError) {
    let end = summary.offsets.upperBound
    var outcomes = Outcomes(overwritten: summary.overwritten, inHoles: summary.inHoles)
    if span.position == summary.offsets.lowerBound {
      outcomes.acknowledged = summary.events
      let offsets = UInt64(end - span.position)
      outcomes.damaged = offsets - min(offsets, summary.events &+ summary.notices)
    } else {
      let counts = try LogDirectory(orders.log.directory).counts(in: span.position..<end)
      outcomes.acknowledged = counts.readable
      outcomes.damaged = counts.damaged
    }
    span.passed(upTo: end, outcomes)
    settled()
  }

  /// Writes the events up to `end` to the dead letters, as far as they can be read, and settles them as rejected. If
  /// the delivery must end meanwhile, the rest of the segment comes again at the next start.
  func bury(upTo end: Offset, _ reason: String) throws(WeirError) {
    let reader = try EventReader(directory: orders.log.directory, from: span.position, includeLanes: false)
    let line = reason.inOneLine(of: LoggedAttempt.answerBytes)
    while span.position < end, let block = try reader.nextBlock(most: 1_000, bytes: 1 << 20) {
      let events = (0..<block.count).map { block[$0].stored }.prefix { $0.offset < end }
      guard let last = events.last else { break }
      try bury(events, upTo: last.offset + 1, line)
      moveCursor()
      takeOrders()
      guard !isOver else { return }
    }
    if span.position < end { try bury([], upTo: end, line) }
    settled()
  }

  /// Writes these events to the dead letters, and settles all offsets up to `end`.
  private func bury(_ events: ArraySlice<StoredEvent>, upTo end: Offset, _ reason: String) throws(WeirError) {
    let letters = events.filter { !$0.isNotice }.map { event in
      DeadLetter(provider: orders.name, event: event, reason: reason, attempts: attemptsOfSegment)
    }
    if !letters.isEmpty { try deadLetters.write(letters) }
    var outcomes = events.filter(\.isNotice).reduce(Outcomes()) { $0 + Outcomes(notice: $1) }
    outcomes.rejected = UInt64(letters.count)
    let unread = UInt64(end - span.position) - UInt64(events.count)
    if unread > 0 {
      // What damage took among them, as the log counts it.
      let counted = span.acceptedBelowEnd &+ outcomes.rejected
      let below = try LogDirectory(orders.log.directory).tally(from: end).acceptedBelow
      outcomes.damaged = min(below - min(counted, below), unread)
    }
    span.passed(upTo: end, outcomes)
  }

  /// The provider is done with the segment, and the room of its compressed file is given back at once.
  private func settled() {
    if packed != nil { try? removePacked() }
    attemptsOfSegment = 0
    packed = nil
    unsealed = nil
  }

  private func note(_ segment: BatchSegment, _ answer: DeliveryAnswer?, _ began: Timestamp, _ took: Duration) {
    let all = OffsetRanges(all: segment.offsets)
    let none = OffsetRanges([])
    var (outcome, text) = answer.noted
    var (rejected, retried) = (none, all)
    if case .verdicts(let verdicts)? = answer {
      switch verdicts.first {
      case .accepted?: retried = none
      case .rejected(let reason)?: (text, rejected, retried) = (reason, all, none)
      case .retry?, nil: break
      }
    }
    noteCall(
      segment.offsets, events: segment.eventCount, bytes: segment.byteCount, began, took, outcome, text,
      rejected: rejected, retried: retried)
  }

  /// Notes a call with the events at these offsets among the provider's attempts.
  func noteCall(
    _ offsets: Range<Offset>, events: UInt64, bytes: Int, _ began: Timestamp, _ took: Duration,
    _ outcome: Attempt.Outcome, _ answer: String, rejected: OffsetRanges, retried: OffsetRanges
  ) {
    attempts.write(
      LoggedAttempt.Call(
        number: UInt64(clamping: attemptsOfSegment), first: offsets.lowerBound,
        last: offsets.last ?? offsets.lowerBound, given: OffsetRanges(all: offsets), events: events,
        bytes: UInt64(clamping: bytes), began: began,
        nanoseconds: took.wholeNanoseconds, outcome: outcome.rawValue,
        answer: answer.inOneLine(of: LoggedAttempt.answerBytes), rejected: rejected, retried: retried))
  }

  // MARK: What an answer shows about the provider

  func succeeded() {
    backoff.succeeded()
    breaker.succeeded()
    stop = nil
    change { file throws(WeirError) in try file.remove() }
    clear("provider")
  }

  func failed(_ reason: String, retryAfter: Duration? = nil) {
    let now = clock.now
    stop = nil
    quietUntil = max(quietUntil, now + backoff.failed(retryAfter: retryAfter, random: configuration.random()))
    breaker.failed(at: now)
    keepBackoff()
    report(reason, "provider")
  }

  func stopped(_ reason: String) {
    let line = reason.inOneLine(of: LoggedAttempt.answerBytes)
    let random = configuration.random()
    if stop == nil {
      stop = StopState(line, orders.options, at: clock.now, random: random)
      troubles["provider"] = nil
    } else {
      stop?.again(line, at: clock.now, random: random)
    }
    report("delivery is stopped: \(reason)", "provider")
  }

  func unanswered(_ name: String) {
    switch cutShort {
    case .shutdown: report("\(name) was cancelled because the dispatcher is shutting down", "provider")
    case .removal, .abandonment: break
    case nil:
      failed("\(name) did not return within \(orders.options.attemptTimeout.inWords), and was cancelled")
    }
  }

  /// Continues a wait that was kept before a restart.
  func resumeBackoff() {
    guard let kept = backoffFile.read() else { return }
    let options = orders.options.backoff
    let wait = kept.remaining(at: configuration.timeOfDay(), options)
    let until = clock.now + wait
    backoff = BackoffState(options, failures: kept.failures)
    breaker = BreakerState(options, failures: kept.breakerFailures, openFor: kept.openFor, until: until)
    quietUntil = until
    guard wait > .zero else { return }
    report("tries failed before this start; the next try is in \(wait.inWords) at the latest", "provider")
  }

  private func keepBackoff() {
    let now = clock.now
    var wait = quietUntil - now
    if case .open(let until) = breaker.phase { wait = max(wait, until - now) }
    let kept = KeptBackoff(
      failures: backoff.failures, breakerFailures: breaker.failures, openFor: breaker.lastOpening,
      written: configuration.timeOfDay(), wait: max(wait, .zero))
    change { file throws(WeirError) in try file.write(kept) }
  }

  private func change(_ body: (inout BackoffFile) throws(WeirError) -> Void) {
    do throws(WeirError) {
      try body(&backoffFile)
      clear("the back-off's file")
    } catch {
      report(error, "the back-off's file")
    }
  }

  // MARK: Waiting

  /// Makes a call and waits for its answer; `nil` if it did not come in time. A later answer is ignored.
  func answer(_ body: @escaping @Sendable () async throws -> [Verdict]) -> DeliveryAnswer? {
    let call = ProviderCall(shared.alarm) {
      do {
        return .verdicts(try await body())
      } catch let stop as DeliveryStopped {
        return .stopped(reason: stop.reason)
      } catch {
        return .failed(reason: "\(error)".inOneLine(of: LoggedAttempt.answerBytes))
      }
    }
    var deadline = clock.now + orders.options.attemptTimeout
    cutShort = nil
    self.call = .inProgress
    defer { self.call = nil }
    while true {
      if let answer = call.answer { return answer }
      takeOrders()
      if let end = endOfCalls, end < deadline {
        deadline = end
        cutShort = ending
      }
      guard clock.now < deadline else { break }
      keepCursor()
      publish()
      wait(until: deadline, watches: false)
    }
    call.cancel()
    overdue = call
    return nil
  }

  /// Waits for a call to return. Returns `false` if the call did not return in time.
  func waitForEnd(of call: ProviderCall, _ kind: WorkerCall, until deadline: Duration) -> Bool {
    self.call = kind
    defer { self.call = nil }
    while call.answer == nil, clock.now < deadline, ending != .abandonment {
      shared.alarm.block(until: deadline, clock)
      ending = shared.takeOrders().ending
    }
    return call.answer != nil
  }

  func shutDownProvider(until deadline: Duration) {
    let provider = provider
    let call = ProviderCall(shared.alarm) { () -> DeliveryAnswer in
      await provider.shutdown()
      return .verdicts([])
    }
    guard !waitForEnd(of: call, .inProgress, until: deadline) else { return }
    call.cancel()
    report("shutdown() did not return within the remainder of \(configuration.closingTime.inWords)", "shutdown")
  }

  /// Waits until there are orders or news, until `time`, or until the cursor must be moved. Looks for signals
  /// meanwhile, unless there is nothing that they could hurry.
  func wait(until time: Duration?, watches: Bool = true) {
    var times = [time, keeper.due, watches ? signals.nextLook : nil].compactMap { $0 }
    if case .shutdown(_, let deadline) = ending { times.append(deadline) }
    let news = signals.sleeps()
    signal(news)
    guard news.isEmpty else { return }
    let end = times.min()
    let meant = end.map { $0 - clock.now }
    shared.alarm.block(until: end, clock)
    signal(signals.woke(meant: meant))
  }

  // MARK: Progress on disk, and news

  func keepCursor() {
    keeper.noteProgress(span)
    guard let due = keeper.due, due <= clock.now else { return }
    moveCursor()
  }

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

  func releaseNowAndThen() {
    guard clock.now >= nextRelease else { return }
    release()
  }

  private func release() {
    nextRelease = clock.now + .seconds(10)
    do throws(WeirError) {
      isHeldUpByOthers = try keeper.release()
      clear("removal")
    } catch {
      report(error, "removal")
    }
  }

  func publish() {
    var report = WorkerReport()
    report.position = span.position
    report.durable = keeper.durable.offset
    report.end = span.end
    report.seenEnd = seenEnd
    report.counts = span.counts
    report.passed = span.passedOutcomes
    report.writerAwaited = writerAwaited
    report.state = currentState
    report.error = troubles.values.sorted().first
    shared.publish(report)
  }
}

extension DeliveryAnswer? {
  /// What is noted of an answer among the attempts: the outcome, and the provider's text.
  var noted: (Attempt.Outcome, String) {
    switch self {
    case .verdicts: (.verdicts, "")
    case .refused(let reason): (.refused, reason)
    case .stopped(let reason): (.stopped, reason)
    case .failed(let reason): (.failed, reason)
    case .cutShort(let reason): (.cancelled, reason)
    case nil: (.cancelled, "")
    }
  }
}

// BatchLoop: delivers a log's batch segments to one provider. The loop, its start and its end.

import Logging
import Weir

/// Delivers a log to one provider, a sealed segment at a time: finds the next segment, compresses it if the log has
/// not, gives the file to the provider, and settles the segment's offsets as one range.
///
/// What a segment holds is counted by its seal, so no event is decoded. The order of writes to the disk is that of
/// ``DeliveryLoop``: dead letters, the cursor, then the removal of what every provider has received. After a kill, the
/// segments since the last move of the cursor are delivered again.
final class BatchLoop: WorkerLoop {
  let orders: WorkerOrders
  let shared: WorkerShared
  let provider: any BatchProvider

  var span: SettledSpan
  var segments: SegmentQueue
  /// Of a provider that takes parts, and no segments.
  var parts: PartQueue
  /// Where the offsets begin that the log has lost before the next part.
  var gapFrom: Offset?
  /// The end of a log that another process writes, and when to look for it again.
  var endOfOthers = (offset: Offset(0), next: Duration.zero)
  /// Every event below this offset was given to the provider or passed over.
  var seenEnd: Offset = 0
  /// The time of the next look for segments, and the pause after that look.
  var nextLook = Duration.zero
  var pause: Duration
  /// When events that no sealed segment holds were first seen, and when they last became more.
  var unsealed: (first: Duration, last: Duration, end: Offset)?
  /// A signal asks for everything below this offset; `nil` if nothing is asked for.
  var flushTarget: Offset?
  /// Up to where, and when, the log was last told to seal.
  var sealed: (end: Offset, at: Duration)?
  /// Whether another provider's cursor is behind this one's.
  var isHeldUpByOthers = false
  /// Whether somebody waits for everything in a log that another process writes.
  var isAsked = false
  /// The number of orders that were taken.
  var ordersTaken: UInt64 = 0
  /// Set by a look that found the rest of the log unsealed by its writer: the number of orders taken before that look.
  /// `nil` if the last look found something else.
  var writerAwaited: UInt64?
  /// The segment whose compressed file lies beside the cursor.
  var packed: Offset?

  var isSetUp = false
  var wasTried = false
  var stop: StopState?
  var backoff: BackoffState
  var breaker: BreakerState
  var backoffFile: BackoffFile
  /// No call is made before this time.
  var quietUntil = Duration.zero
  /// The number of calls with the next segment.
  var attemptsOfSegment = 0
  var call: WorkerCall? { didSet { shared.wait(for: call) } }
  var cutShort: WorkerEnding?
  var overdue: ProviderCall?
  var signals: SignalWatch

  var keeper: CursorKeeper
  var deadLetters: DeadLetterLog
  var nextRelease = Duration.zero
  let attempts: AttemptLog
  var rewindOrder: DeliveryOptions.Start?
  var ending: WorkerEnding?
  var endingSince = Duration.zero
  var troubles: [String: String] = [:]

  /// Takes the provider's lock, and finds the place to start. Nothing is delivered before ``run()``.
  init(_ orders: WorkerOrders, _ shared: WorkerShared, _ provider: any BatchProvider) throws(WeirError) {
    self.orders = orders
    self.shared = shared
    self.provider = provider
    let (directory, calls) = (orders.log.directory, orders.configuration.calls)
    keeper = try CursorKeeper(orders)
    span = SettledSpan(keeper.start)
    segments = SegmentQueue(directory, calls: calls)
    parts = PartQueue(directory)
    pause = orders.configuration.firstPause
    backoff = BackoffState(orders.options.backoff)
    breaker = BreakerState(orders.options.backoff)
    backoffFile = try BackoffFile(orders.name, of: directory, calls: calls)
    signals = SignalWatch(orders)
    deadLetters = DeadLetterLog(orders.name, of: directory, calls: calls)
    attempts = AttemptLog(in: directory, provider: orders.name, byteLimit: orders.configuration.attemptLogBytes)
    try removePacked()
    resumeBackoff()
    publishStart()
  }

  var clock: DeliveryClock { orders.clock }
  var configuration: Dispatcher.Configuration { orders.configuration }
  private var triggers: FlushPolicy.Triggers { orders.options.flush.triggers }

  func run() {
    signals = SignalWatch(orders)
    signal(.start)
    while !isOver { step() }
    if ending != .abandonment { end() }
    finish()
  }

  /// Checks everything once, and does the first thing that is due. If nothing is due, waits.
  private func step() {
    takeOrders()
    rewindIfOrdered()
    signal(signals.look(at: clock.now))
    keepCursor()
    releaseNowAndThen()
    publish()
    guard !isOver else { return }
    let now = clock.now
    if let overdue {
      guard overdue.answer == nil else {
        self.overdue = nil
        return
      }
      call = .cancelled
      defer { call = nil }
      return wait(until: nil)
    }
    if let stop, now < stop.nextTry { return wait(until: stop.nextTry) }
    guard now >= quietUntil else { return wait(until: quietUntil) }
    guard isSetUp else { return setUp() }
    if case .nothing(let until) = breaker.permission(at: now) { return wait(until: until) }
    guard ending != .removal, ending != .abandonment else { return }
    guard now >= nextLook else { return waitForNews() }
    deliverNext()
  }

  // MARK: The next segment

  private func deliverNext() {
    do throws(WeirError) {
      if let provider = provider as? any PartProvider {
        try deliverParts(provider)
        return clear("reading")
      }
      switch try segments.next(at: span.position) {
      case .segment(let name, let summary):
        pause = configuration.firstPause
        try give(name, summary)
      case .unreadable(let name, let until):
        // Its events have offsets, and nothing says how many, but for the next segment.
        var end = until ?? 0
        if until == nil { end = try LogDirectory(orders.log.directory).tally(from: .max).nextOffset }
        guard end > span.position else { return try reachedEnd() }
        try bury(upTo: end, "the header or the seal of \(name.text) is damaged")
      case .gap(let until): try passOver(upTo: until)
      case .nothing: try reachedEnd()
      }
      clear("reading")
    } catch {
      segments.forget()
      report(error, "reading")
      nextLook = clock.now + .seconds(1)
    }
  }

  /// No sealed segment has more. Events that no sealed segment has yet wait for their segment's seal.
  private func reachedEnd() throws(WeirError) {
    let now = clock.now
    guard let end = orders.log.nextOffset else { return try reachedEndOfOthers() }
    writerAwaited = nil
    // A log that was left after a power cut has offsets above its last event that no event has.
    guard end > span.position, try hasUnsealed() else {
      unsealed = nil
      flushTarget = nil
      seenEnd = max(seenEnd, end)
      return lookLater(at: now)
    }
    let first = unsealed?.first ?? now
    let last = unsealed?.end == end ? unsealed?.last ?? now : now
    unsealed = (first, last, end)
    lookLater(at: now)
    if isSealDue(at: now) {
      unsealed = nil
      sealed = (end, now)
      // The sealer brings the segment to the disk first.
      lookSoon()
      lookLater(at: now)
      return try seal()
    }
    if let due = sealTime { nextLook = min(nextLook, due) }
  }

  /// Whether events lie above the position. Not asked again while such events are known: the answer reads all seals.
  private func hasUnsealed() throws(WeirError) -> Bool {
    if unsealed != nil { return true }
    return try LogDirectory(orders.log.directory).tally(from: span.position).inSegments > 0
  }

  private func seal() throws(WeirError) {
    do throws(WeirError) {
      try orders.log.seal()
    } catch {
      // A closed log has sealed what it could, and a busy one seals later.
      guard error.code == .closed || error.code == .timeout else { throw error }
    }
  }

  private func isSealDue(at now: Duration) -> Bool {
    guard let unsealed else { return false }
    let isOrdered = sealed.map { now < $0.at + .milliseconds(250) } ?? false
    // A seal of these events was ordered just now: the sealer is at work, or the disk has no room for another segment.
    if isOrdered, let sealed, unsealed.end <= sealed.end { return false }
    if let flushTarget, flushTarget > span.position, !isOrdered || sealed.map({ $0.end < flushTarget }) ?? true {
      return true
    }
    return sealTime.map { $0 <= now } ?? false
  }

  /// When the segment that is being filled is to be sealed, by the age of what it holds.
  var sealTime: Duration? {
    guard let unsealed else { return nil }
    let policy = orders.options.flush
    var times: [Duration] = []
    if triggers.contains(.interval) { times.append(unsealed.first + policy.interval) }
    if triggers.contains(.idle) { times.append(unsealed.last + policy.idleAfter) }
    return times.min()
  }

  /// Another process writes the log, or nobody.
  private func reachedEndOfOthers() throws(WeirError) {
    lookLater(at: clock.now)
    // Counting reads all seals, so it is done only for whoever waits.
    guard isAsked else { return }
    let tally = try LogDirectory(orders.log.directory).tally(from: span.position)
    if tally.pending > 0 {
      switch try segments.next(at: span.position) {
      case .nothing, .unreadable(_, until: nil): break
      // Sealed or removed during the count.
      case .segment, .gap, .unreadable: return lookSoon()
      }
    }
    isAsked = false
    writerAwaited = tally.pending > 0 ? ordersTaken : nil
    if writerAwaited == nil { seenEnd = max(seenEnd, tally.nextOffset) }
  }

  func lookLater(at now: Duration) {
    nextLook = now + pause
    pause = min(pause * 2, configuration.lastPause)
  }

  /// Waits for new segments. In the process that captures, the drainer wakes a worker that has everything. While the log
  /// can't be read, events that are there wake nobody: the next look would fail again.
  private func waitForNews() {
    guard unsealed == nil, flushTarget == nil, troubles["reading"] == nil, orders.log.isOpenHere,
      seenEnd >= span.position
    else { return wait(until: nextLook) }
    switch orders.log.arm(shared.alarm, after: max(span.position, seenEnd)) {
    case .untold: wait(until: nextLook)
    case .there: lookSoon()
    case .armed:
      wait(until: isHeldUpByOthers ? nextRelease : nil, watches: false)
      if orders.log.disarm(shared.alarm) { lookSoon() }
    }
  }

  private func lookSoon() {
    nextLook = .zero
    pause = configuration.firstPause
  }

  /// Passes over offsets that no file has: they were removed, left out, or are lost.
  func passOver(upTo end: Offset) throws(WeirError) {
    unsealed = nil
    let tally = try LogDirectory(orders.log.directory).tally(from: end)
    let isRemoval = span.position < tally.firstOffset
    if isRemoval, span.isUntouched, keeper.isNew, orders.options.start == .beginning {
      // As in DeliveryLoop: a new provider begins with what the log had when the provider was added.
      let first = min(end, keeper.end)
      if first > span.position {
        span.restart(at: first, baseline: min(tally.acceptedBelow(noMoreThan: first), keeper.acceptedBelowEnd))
      }
      guard end > first else { return }
    }
    let counted = span.acceptedBelowEnd
    let lost = min(tally.acceptedBelow > counted ? tally.acceptedBelow - counted : 0, end - span.end)
    span.passed(upTo: end, isRemoval ? Outcomes(removed: lost) : Outcomes(damaged: lost))
  }

  // MARK: Orders

  func takeOrders() {
    let taken = shared.takeOrders()
    ordersTaken = taken.count
    signal(taken.signals)
    if taken.isToResume, stop != nil {
      stop = nil
      quietUntil = .zero
      signal(.demand)
    }
    rewindOrder = taken.rewind ?? rewindOrder
    if ending == nil, let wanted = taken.ending {
      ending = wanted
      endingSince = clock.now
      if case .shutdown(_, let deadline) = wanted, clock.now < deadline { signal(.shutdown) }
    } else if taken.ending == .abandonment {
      ending = .abandonment
    } else if case .shutdown(_, let sooner) = taken.ending, case .shutdown(_, let late) = ending, sooner < late {
      ending = taken.ending
    }
  }

  /// Has everything that is in the log at this moment sealed and delivered.
  func signal(_ signals: FlushPolicy.Triggers) {
    guard !signals.isDisjoint(with: triggers) else { return }
    flushTarget = orders.log.nextOffset
    isAsked = true
    lookSoon()
  }

  private func rewindIfOrdered() {
    guard let position = rewindOrder, overdue == nil else { return }
    rewindOrder = nil
    shared.publish { [result = rewind(to: position)] in $0.rewound = result }
  }

  func rewind(to position: DeliveryOptions.Start) -> Result<Rewind, WeirError> {
    do throws(WeirError) {
      moveCursor()
      guard keeper.durable.offset == span.position else {
        throw keeper.error ?? WeirError(.io, "the cursor of \(orders.name) can't be moved", path: orders.log.directory)
      }
      let rewind = try keeper.rewind(to: position).rewind
      span = SettledSpan(keeper.start)
      segments.forget()
      parts.forget()
      seenEnd = 0
      attemptsOfSegment = 0
      signal(.demand)
      configuration.logger?.notice(
        "\(orders.name) was rewound from offset \(rewind.from) to \(rewind.to) in \(orders.log.directory)")
      publish()
      return .success(rewind)
    } catch {
      return .failure(error)
    }
  }

  /// Whether nothing remains to be done before the end.
  var isOver: Bool {
    switch ending {
    case nil: return false
    case .removal, .abandonment: return true
    case .shutdown(let target, let deadline):
      if clock.now >= deadline || stop != nil || !triggers.contains(.shutdown) { return true }
      if writerAwaited != nil, !isAsked { return true }
      if quietUntil > deadline { return true }
      if case .open(let until) = breaker.phase, until > deadline { return true }
      return span.position >= target || max(seenEnd, span.end) >= target
    }
  }

  // MARK: The end

  private func end() {
    var isReturned = true
    let deadline = clock.now + configuration.closingTime
    if let overdue {
      isReturned = waitForEnd(of: overdue, .cancelled, until: deadline)
      if isReturned { self.overdue = nil }
    }
    moveCursor()
    if wasTried, isReturned { shutDownProvider(until: deadline) }
    guard ending != .abandonment else { return }
    // A call that did not return may still read the file. The next start removes it.
    if isReturned { try? removePacked() }
    publish()
    do throws(WeirError) { try deadLetters.close() } catch { report(error, "dead letters") }
    attempts.close()
  }
}

// DeliveryLoop: delivers a log to one provider. The loop, its start and its end.

import Weir

/// Delivers a log to one provider: reads new events, delivers them when they are due, settles them by the provider's
/// verdicts, and moves the cursor.
///
/// The order of writes to the disk: first rejected events go to the dead-letter log, which is synced. Then the cursor
/// moves. Then, in the process that captures, the log is told which events every provider has received. So a kill at
/// any moment loses no event. Events that were settled since the last move of the cursor are delivered again, with the
/// same ids. The counts in the cursor cover exactly the events below the cursor.
///
/// The loop runs on one thread; the compiler enforces this, because the loop is not `Sendable`. The loop makes one call
/// of its provider at a time, and waits for a call no longer than allowed: see `DeliveryLoop+Calls`.
final class DeliveryLoop {
  let orders: WorkerOrders
  let shared: WorkerShared

  // What is read, and its outcomes. Unchecked: the checks took a twentieth of the time of an event, and these values
  // know nothing of the loop, so nothing that is called while they change leads back to them.
  @exclusivity(unchecked) var span: SettledSpan
  @exclusivity(unchecked) var queue: DeliveryQueue
  @exclusivity(unchecked) var plan: FlushPlan
  @exclusivity(unchecked) var preparation: Preparation
  @exclusivity(unchecked) var reader: WorkerReader
  /// The offset of the last gap of each reason, which may still wait for its first call.
  var waitingGaps: [String: Offset] = [:]
  /// Joins the parts of dead letters.
  var letters = LetterParts()
  /// The time of the next check for new events, and the pause after that check.
  var nextRead = Duration.zero
  var pause: Duration
  /// Whether the last check reached the end of the log, without an error.
  var isAtEnd = false
  /// Whether the last check ended before the end of the log although there was room for more events.
  var hasMore = false

  // The state of the provider.
  var isSetUp = false
  var wasTried = false
  /// Set while the provider has stopped delivery: until it accepts an event again.
  var stop: StopState?
  /// The number of events in a call that is expected to return in time.
  var callSize = CallSize()
  var refusals: RefusalStreak
  var backoff: BackoffState
  var breaker: BreakerState
  /// Keeps the wait after failed tries across restarts; `nil` for a redrive, which somebody starts who wants it now.
  var backoffFile: BackoffFile?
  /// Whether deliveries failed before this start, and the wait was kept.
  var hasKeptBackoff = false
  /// No call is made before this time.
  var quietUntil = Duration.zero
  /// The call that the loop waits for.
  var call: WorkerCall? { didSet { shared.wait(for: call) } }
  /// The reason why the last call was cancelled before its time limit; `nil` if it was not.
  var cutShort: WorkerEnding?
  /// A call that was given up and has not returned.
  var overdue: ProviderCall?
  /// The signals that make events go out.
  var signals: SignalWatch
  /// Measures the processor time, if that has a budget.
  let meter: ProcessorMeter?

  // What is kept on disk.
  var keeper: CursorKeeper
  var deadLetters: DeadLetterLog
  /// Rejected events that are not in the dead-letter log yet.
  var unburied: [Settlement.Rejection] = []
  var unburiedBytes = 0
  var nextBurial = Duration.zero
  var nextRelease = Duration.zero
  /// Whether another provider's cursor is behind this provider's cursor. What this provider has received can be removed
  /// when the other provider makes progress.
  var isHeldUpByOthers = false
  let attempts: AttemptLog
  /// A position to which the provider is to be set back.
  var rewindOrder: DeliveryOptions.Start?
  var ending: WorkerEnding?
  var endingSince = Duration.zero
  /// The current problems, by kind.
  var troubles: [String: String] = [:]

  /// Takes the provider's lock, and finds the place to start. Nothing is delivered before ``run()``.
  init(_ orders: WorkerOrders, _ shared: WorkerShared) throws(WeirError) {
    self.orders = orders
    self.shared = shared
    let options = orders.options
    let keeper = try CursorKeeper(orders)
    self.keeper = keeper
    span = SettledSpan(keeper.start)
    queue = DeliveryQueue(options.flush)
    plan = FlushPlan(options.flush, rule: options.flushRule)
    preparation = Preparation(orders)
    reader = WorkerReader(orders.log.directory)
    pause = orders.configuration.firstPause
    backoff = BackoffState(options.backoff)
    breaker = BreakerState(options.backoff)
    signals = SignalWatch(orders)
    meter = options.budget.processorTimePerSecond.map { _ in ProcessorMeter(orders.configuration.processorTime) }
    refusals = RefusalStreak(hasAccepted: keeper.start.counts?.acknowledged ?? 0 > 0)
    deadLetters = DeadLetterLog(orders.name, of: orders.log.directory, calls: orders.configuration.calls)
    attempts = AttemptLog(
      in: orders.log.directory, provider: orders.name, byteLimit: orders.configuration.attemptLogBytes)
    if !orders.isRedrive {
      backoffFile = try BackoffFile(orders.name, of: orders.log.directory, calls: orders.configuration.calls)
    }
    plan.signal(.start)
    resumeBackoff()
    if let known = keeper.associationToRepeat { queue.putBack(known) }
    publishStart()
  }

  /// Returns the event as the provider gets it, or `nil` if the provider does not get the event.
  func prepare(_ event: StoredEvent) -> PreparedEvent? {
    preparation.prepare(event)
  }

  var clock: DeliveryClock { orders.clock }
  var configuration: Dispatcher.Configuration { orders.configuration }

  /// Delivers until the end is ordered.
  func run() {
    // The time before was not a standstill of the process.
    signals = SignalWatch(orders)
    meter?.take()
    while !isOver { step() }
    if ending != .abandonment { end() }
    finish()
  }

  /// Checks everything once, and does the first thing that is due. If nothing is due, waits.
  private func step() {
    takeOrders()
    rewindIfOrdered()
    watchForSignals()
    read()
    bury([])
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
      return waitForTurn(until: nil)
    }
    if let stop, now < stop.nextTry { return waitForTurn(until: stop.nextTry) }
    guard now >= quietUntil else { return waitForTurn(until: quietUntil) }
    // Further rejected events would have to be held as well.
    guard !isBurialHeldUp else { return waitForTurn(until: nextBurial) }
    guard isSetUp else { return setUp() }
    let most = min(orders.options.flush.maximumEvents, callSize.most ?? .max)
    switch breaker.permission(at: now) {
    case .nothing(let until): waitForTurn(until: until)
    case .everything where stop == nil: deliver(most: most)
    case .everything: deliver(most: min(most, orders.options.backoff.probeEvents))
    case .probe(let events): deliver(most: min(most, events))
    }
  }

  private func deliver(most: Int) {
    let now = clock.now
    let due = plan.due(at: now) == nil ? 0 : plan.nextCall
    switch queue.next(due: due, most: most, at: now) {
    case .batch(let batch, let new):
      plan.left(events: new)
      give(batch)
    case .association(let change):
      tell(change)
    case .nothing(let until):
      // A time that has already passed ends the wait immediately. Without it, the wait would never end.
      let turn = due == 0 ? plan.nextLook(after: now) : nil
      let time = least(until, turn)
      if isReading, !hasMore { waitForNews(until: time) } else { waitForTurn(until: least(time, signals.nextLook)) }
    }
  }

  /// The earliest of these times, or `nil` if there are none.
  func least(_ times: Duration?...) -> Duration? { times.compactMap { $0 }.min() }

  /// Waits as ``wait(until:)`` does, unless there is more to read.
  private func waitForTurn(until time: Duration?) {
    if !hasMore { wait(until: time) }
  }

  /// Waits until there are orders or news, until `time`, or until the cursor must be moved.
  func wait(until time: Duration?) {
    var times: [Duration] = []
    if let time { times.append(time) }
    if let due = keeper.due { times.append(due) }
    if !unburied.isEmpty { times.append(nextBurial) }
    if case .shutdown(_, let deadline) = ending { times.append(deadline) }
    rest(until: times.min())
  }

  /// Waits until there are orders or news, or until `end`.
  func rest(until end: Duration?) {
    let news = signals.sleeps()
    signal(news)
    guard news.isEmpty else { return }
    let meant = end.map { $0 - clock.now }
    shared.alarm.block(until: end, clock)
    signal(signals.woke(meant: meant))
  }

  private func watchForSignals() {
    signal(signals.look(at: clock.now))
  }

  // MARK: Orders

  func takeOrders() {
    let taken = shared.takeOrders()
    signal(taken.signals)
    if taken.isToResume { resume() }
    rewindOrder = taken.rewind ?? rewindOrder
    if ending == nil, let wanted = taken.ending {
      ending = wanted
      endingSince = clock.now
      if case .shutdown = wanted { signal(.shutdown) }
    } else if taken.ending == .abandonment {
      ending = .abandonment
    } else if case .shutdown(_, let sooner) = taken.ending, case .shutdown(_, let late) = ending, sooner < late {
      // The caller that waits for the end has less time now.
      ending = taken.ending
    }
  }

  /// Passes signals to the plan, and reads the log immediately.
  func signal(_ signals: FlushPolicy.Triggers) {
    guard !signals.isEmpty else { return }
    plan.signal(signals)
    nextRead = .zero
    pause = configuration.firstPause
  }

  private func resume() {
    guard stop != nil else { return }
    stop = nil
    quietUntil = .zero
    signal(.demand)
  }

  /// Whether nothing remains to be done before the end.
  var isOver: Bool {
    switch ending {
    case nil: return false
    case .removal, .abandonment: return true
    case .shutdown(let target, let deadline):
      let now = clock.now
      if now >= deadline || stop != nil || !orders.options.flush.triggers.contains(.shutdown) { return true }
      // The next try is after the deadline, so there is nothing to wait for.
      if quietUntil > deadline { return true }
      if case .open(let until) = breaker.phase, until > deadline { return true }
      return span.position >= target || span.isSettled && max(reader.seenEnd, span.end) >= target
    }
  }

  // MARK: The end

  /// Shuts the provider down, and writes its state.
  private func end() {
    var isReturned = true
    let deadline = clock.now + configuration.closingTime
    if let overdue {
      isReturned = waitForEnd(of: overdue, .cancelled, until: deadline)
      if isReturned { self.overdue = nil }
    }
    nextBurial = .zero
    bury([])
    moveCursor()
    // A provider that did not return from a call is not called again.
    if wasTried, isReturned { shutDownProvider(until: deadline) }
    guard ending != .abandonment else { return }
    publish()
    do throws(WeirError) { try deadLetters.close() } catch { report(error, "dead letters") }
    attempts.close()
  }
}

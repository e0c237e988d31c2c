// DeliveryLoop: delivers a log to one provider. The loop, and how it begins and ends.

import Weir

/// Delivers a log to one provider: reads what is new, gives it out when it is due, settles it by the provider's
/// verdicts and moves the cursor.
///
/// The order of what goes to the disk: rejected events into the dead-letter log, synced; then the cursor; then, in the
/// process that captures, the log is told what every provider has. So a kill at any moment costs no event: what was
/// settled since the cursor's last move comes again, with the same id, and the counts in the cursor are of what lies
/// below it.
///
/// The loop runs on one thread, which the compiler holds it to: the loop is not `Sendable`. Of its provider it makes
/// one call at a time, and waits for none of them longer than it is told to: see `DeliveryLoop+Calls`.
final class DeliveryLoop {
  let orders: WorkerOrders
  let shared: WorkerShared

  // What is read and what becomes of it.
  var span: SettledSpan
  var queue: DeliveryQueue
  var plan: FlushPlan
  var preparation: Preparation
  var reader: WorkerReader
  /// Of dead letters: puts them together.
  var letters = LetterParts()
  /// When to look for new events again, and how long after that.
  var nextRead = Duration.zero
  var pause: Duration
  /// The last look was at the log's end, and not at an error.
  var isAtEnd = false

  // What the provider did.
  var isSetUp = false
  var wasTried = false
  /// It stopped delivery, and has not taken anything since.
  var stop: StopState?
  /// How many events a call may have that is to end in time.
  var callSize = CallSize()
  var refusals: RefusalStreak
  var backoff: BackoffState
  var breaker: BreakerState
  /// No call before this time.
  var quietUntil = Duration.zero
  /// The call that is waited for.
  var call: WorkerCall? { didSet { shared.wait(for: call) } }
  /// Why the last call was cancelled before its own time was over; nil if it was not.
  var cutShort: WorkerEnding?
  /// A call that was given up and has not returned.
  var overdue: ProviderCall?
  /// What makes events go out besides the events.
  var signals: SignalWatch

  // What is kept.
  var keeper: CursorKeeper
  var deadLetters: DeadLetterLog
  /// Rejected, and not among the dead letters yet.
  var unburied: [Settlement.Rejection] = []
  var unburiedBytes = 0
  var nextBurial = Duration.zero
  var nextRelease = Duration.zero
  /// Another provider has less of the log, and what this one has can be removed when the other gets on.
  var isHeldUpByOthers = false
  let attempts: AttemptLog
  var ending: WorkerEnding?
  var endingSince = Duration.zero
  /// What is wrong at present, by kind.
  var troubles: [String: String] = [:]

  /// Takes the provider's lock, and finds where to begin; delivers nothing before ``run()``.
  init(_ orders: WorkerOrders, _ shared: WorkerShared) throws(WeirError) {
    self.orders = orders
    self.shared = shared
    let options = orders.options
    let keeper = try CursorKeeper(orders)
    self.keeper = keeper
    span = SettledSpan(keeper.start)
    queue = DeliveryQueue(options.flush)
    plan = FlushPlan(options.flush)
    preparation = Preparation(options, mapper: orders.provider.attachedMapper)
    reader = WorkerReader(orders.log.directory)
    pause = orders.configuration.firstPause
    backoff = BackoffState(options.backoff)
    breaker = BreakerState(options.backoff)
    signals = SignalWatch(orders)
    refusals = RefusalStreak(hasAccepted: keeper.start.counts?.acknowledged ?? 0 > 0)
    deadLetters = DeadLetterLog(orders.name, of: orders.log.directory, calls: orders.configuration.calls)
    attempts = AttemptLog(
      in: orders.log.directory, provider: orders.name, byteLimit: orders.configuration.attemptLogBytes)
    plan.signal(.start)
    if let known = keeper.associationToRepeat { queue.putBack(known) }
    let start = keeper.start
    shared.publish { state in
      state.report.position = start.offset
      state.report.durable = start.offset
      state.report.end = start.offset
      state.report.counts = start.counts ?? DeliveryCounts()
    }
  }

  /// The event as the provider gets it; nil if it does not.
  func prepare(_ event: StoredEvent) -> PreparedEvent? {
    preparation.prepare(event)
  }

  var clock: DeliveryClock { orders.clock }
  var configuration: Dispatcher.Configuration { orders.configuration }

  /// Delivers until it is told to end.
  func run() {
    while !isOver { step() }
    if ending != .abandonment { end() }
    finish()
  }

  /// Gives the provider's lock back, and says so.
  func finish() {
    keeper.letGo()
    shared.publish { state in
      state.isFinished = true
      state.stateAtEnd = state.report.state == .running ? .idle : state.report.state
      if case .stopped = state.report.state { return }
      state.report.state = .idle
    }
  }

  /// One look at everything there is to do, and the first of it, or a wait for more.
  private func step() {
    takeOrders()
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
      return wait(until: nil)
    }
    if let stop, now < stop.nextTry { return wait(until: stop.nextTry) }
    guard now >= quietUntil else { return wait(until: quietUntil) }
    // What it rejects would only be held as well.
    guard !isBurialHeldUp else { return wait(until: nextBurial) }
    guard isSetUp else { return setUp() }
    let most = min(orders.options.flush.maximumEvents, callSize.most ?? .max)
    switch breaker.permission(at: now) {
    case .nothing(let until): wait(until: until)
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
      // A time that has passed meanwhile ends the wait at once: to leave it out would be to wait for ever.
      let turn = due == 0 ? plan.nextLook(after: now) : nil
      let time = least(until, turn)
      if isReading { waitForNews(until: time) } else { wait(until: least(time, signals.nextLook)) }
    }
  }

  /// The first of these times; nil if there is none.
  func least(_ times: Duration?...) -> Duration? { times.compactMap { $0 }.min() }

  /// Waits until somebody wants something, the time has come, or the cursor is to be moved.
  func wait(until time: Duration?) {
    var times: [Duration] = []
    if let time { times.append(time) }
    if let due = keeper.due { times.append(due) }
    if !unburied.isEmpty { times.append(nextBurial) }
    if case .shutdown(_, let deadline) = ending { times.append(deadline) }
    rest(until: times.min())
  }

  /// Waits until somebody wants something, or the time has come.
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
    if ending == nil, let wanted = taken.ending {
      ending = wanted
      endingSince = clock.now
      if case .shutdown = wanted { signal(.shutdown) }
    } else if taken.ending == .abandonment {
      ending = .abandonment
    } else if case .shutdown(_, let sooner) = taken.ending, case .shutdown(_, let late) = ending, sooner < late {
      // Whoever waits for the end has no more time for it.
      ending = taken.ending
    }
  }

  /// Has the plan know, and looks at once for what is in the log by now.
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

  /// Whether there is nothing more to do before the end.
  var isOver: Bool {
    switch ending {
    case nil: return false
    case .removal, .abandonment: return true
    case .shutdown(let target, let deadline):
      let now = clock.now
      if now >= deadline || stop != nil || !orders.options.flush.triggers.contains(.shutdown) { return true }
      // What comes after the deadline anyway is not waited for.
      if quietUntil > deadline { return true }
      if case .open(let until) = breaker.phase, until > deadline { return true }
      return span.position >= target || span.open == 0 && max(reader.seenEnd, span.end) >= target
    }
  }

  // MARK: The end

  /// Ends the provider, and what is kept of it.
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

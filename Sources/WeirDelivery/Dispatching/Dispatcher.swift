// Dispatcher: delivers a log's events to providers, and accounts for each event.

import Logging
public import Weir

/// Delivers the events of a log to providers. Each provider gets each event at least once, at the provider's own pace.
///
/// ```swift
/// let tracker = try Tracker(directory: "/var/lib/shop/events")
/// let dispatcher = try Dispatcher(tracker)
/// try dispatcher.add(ClosureProvider("warehouse") { events in
///   try await warehouse.insert(events)
///   return events.map { _ in .accepted }
/// })
/// try await dispatcher.run()  // until the task is cancelled
/// ```
///
/// **At least once.** If `Tracker.track(_:)` returned `Receipt.accepted(_:)` for an event, the dispatcher delivers the
/// event to each provider until the provider accepts or rejects the event. Each provider has a durable cursor, which
/// moves after the events are settled. After a kill, the most recently settled events are delivered again, with the
/// same ids. ``ledger`` accounts for every event.
///
/// **Isolation.** Each provider has a thread, which reads the log's files and writes the provider's log of attempts and
/// dead letters. Captures never wait for delivery, and a provider that is slow or dead never delays another provider.
///
/// **Removal.** If the tracker's `Tracker.Configuration.removeDelivered` is set, the log removes the segments that
/// every provider has received. A provider counts from the creation of its cursor until ``remove(_:)``, even while
/// nothing delivers to the provider. Rejected events are kept in the dead-letter log `dead-letters/NAME`, and are never
/// removed.
///
/// **Threads.** Any thread or task may call any member. A forked child has no dispatcher: there, every call throws
/// `closed` or does nothing.
///
/// **End.** ``run(budget:)`` ends the delivery in order once its task is cancelled. If a dispatcher with providers is
/// released and never ran, a warning in the program's log says so.
public final class Dispatcher: Sendable {
  /// The log's directory, as an absolute path.
  package let directory: String

  let configuration: Configuration
  let clock: DeliveryClock
  let log: DeliveredLog
  /// The tracker of this log; `nil` beside another process, or after the tracker was released.
  private let trackerReference: WeakTracker
  private let state = Lock(State())
  /// Tells of events that were settled.
  let feed: SettlementFeed
  /// Rung when ``run(budget:)`` must end.
  let ended = Alarm()

  private struct State {
    var workers: [String: ProviderWorker] = [:]
    /// The names of the providers that are being added or removed.
    var busy: Set<String> = []
    var isRunning = false
    var isShutDown = false
  }

  /// Creates a dispatcher for a tracker's log, in the process that captures.
  ///
  /// The dispatcher does not retain the tracker. If the tracker is closed or released first, delivery continues from
  /// the files. `Tracker.ledger` and `Tracker.flush(timeout:)` use this dispatcher.
  ///
  /// Throws `invalid` if the tracker already has a dispatcher that is not shut down. Throws `closed` in a forked child.
  public convenience init(_ tracker: Tracker, configuration: Configuration = Configuration()) throws(WeirError) {
    self.init(DeliveredLog(tracker), tracker, configuration)
    try log.attach(self, to: tracker)
    log.listen(to: tracker)
  }

  /// Creates a dispatcher for the log in `directory`, beside the process that writes the log, or after that process
  /// ended.
  ///
  /// Moves cursors, writes dead letters, and takes the lock of each provider's cursor. Removes nothing: only the writer
  /// removes segments. If the writer is dead, the events in its lanes are delivered too. Throws `missing`, `directory`,
  /// `access`.
  public convenience init(
    directory: String, configuration: Configuration = Configuration()
  ) throws(WeirError) {
    try checkPath(directory)
    _ = try configuration.calls.openDirectory(directory)
    self.init(DeliveredLog(directory: directory), nil, configuration)
  }

  private init(_ log: DeliveredLog, _ tracker: Tracker?, _ configuration: Configuration) {
    self.log = log
    self.configuration = configuration
    directory = log.directory
    clock = DeliveryClock(configuration.clock)
    feed = SettlementFeed(configuration.onSettled)
    trackerReference = WeakTracker(tracker)
  }

  deinit {
    guard log.isOfThisProcess else { return }
    warnIfNeverRun()
    for worker in state.withLock({ $0.workers.values }) {
      worker.shared.order { if $0.ending == nil { $0.ending = .removal } }
    }
    // From now on, the tracker can't tell this dispatcher that the log is freed.
    log.forgetLog()
  }

  // MARK: Running

  /// Delivers until the task is cancelled. Then ends in order, and returns what was delivered during the end.
  ///
  /// The end has these steps:
  /// - The tracker stops accepting events, drains its lanes and seals its log (`Tracker.close()`).
  /// - The events in the log are delivered, until all are settled or `budget` is spent.
  /// - Cursors are made durable, and each provider is shut down.
  ///
  /// The default budget is 10 s of the 30 s that most systems wait between SIGTERM and SIGKILL. Cancel the tasks that
  /// capture events before this task.
  ///
  /// Events that are not delivered stay in the log for the next opening, and so do events that the disk had no room
  /// for. The report counts both as pending. The end does not wait for a provider that is stopped, nor for a provider
  /// whose next try is after the budget. A call in progress is cancelled when the budget is spent. Providers that don't
  /// return prolong the end by at most ``Configuration/closingTime``.
  ///
  /// Closing the tracker takes its time too: an `Inspector` checks the rest of the log first.
  ///
  /// Starts one thread for each provider, including providers added later. Each call of a provider is a task. Throws
  /// `invalid` if the dispatcher already runs, `closed` if the dispatcher has ended or in a forked child, and `memory`
  /// if the system has no more threads; the dispatcher has ended then. Errors of a provider are in the report and in
  /// the log output.
  @discardableResult
  public func run(budget: Duration = .seconds(10)) async throws(WeirError) -> DeliveryReport {
    try start()
    await withTaskCancellationHandler {
      await ended.wait(until: nil, clock)
    } onCancel: {
      ended.ring()
    }
    let report = await shutdown(budget: budget)
    for entry in report.entries {
      // Pending events are safe, but somebody waits for them.
      configuration.logger?.log(
        level: entry.pending > 0 ? .warning : .info,
        """
        delivery to \(entry.provider) from \(directory) ended: \(entry.pending) pending, after \
        \(entry.acknowledged) acknowledged and \(entry.rejected) rejected during the end\
        \(entry.error.map { ": \($0)" } ?? "")
        """)
    }
    return report
  }

  /// Starts delivering, until `shutdown(budget:)`. Throws like ``run(budget:)``.
  package func start() throws(WeirError) {
    guard log.isOfThisProcess else { throw forked }
    enum Outcome {
      case started([ProviderWorker])
      case running, closed
    }
    let outcome = state.withLock { state -> Outcome in
      if state.isShutDown { return .closed }
      if state.isRunning { return .running }
      state.isRunning = true
      return .started(Array(state.workers.values))
    }
    switch outcome {
    case .running:
      throw WeirError(.invalid, "the dispatcher of \(directory) already runs; call run() only once", path: directory)
    case .closed: throw closed
    case .started(let workers):
      do throws(WeirError) { try ProviderWorker.start(workers) } catch {
        _ = close()
        throw error
      }
    }
  }

  // MARK: Providers

  /// Adds a provider, to which the dispatcher delivers while it runs. Delivery starts at the provider's cursor or, if
  /// there is no cursor, at ``DeliveryOptions/start``.
  ///
  /// Waits for the disk: the cursor is on disk when this returns.
  ///
  /// Throws:
  /// - `invalid`: the name is not 1 to 64 letters, digits, `-` and `_`, the name is already in use, or the options are
  ///   out of range.
  /// - `locked`: another process, or another dispatcher, delivers under this name.
  /// - `closed`: the dispatcher has ended.
  /// - `version`, and `noSpace`, `access`, `io` if the cursor can't be written.
  public func add(_ provider: any Provider, options: DeliveryOptions = DeliveryOptions()) throws(WeirError) {
    try add(contentsOf: [provider], options: options)
  }

  /// Adds several providers, each like ``add(_:options:)``. Adds either all of them or, if it throws, none.
  ///
  /// Delivery starts once all the providers have cursors. So with `Tracker.Configuration.removeDelivered`, no event is
  /// removed that one of the providers has received and another has not. If providers are added one after the other, a
  /// later provider starts with the events that are in the log when it is added.
  ///
  /// If this throws, a cursor that was already created stays, and pins the log until the provider is added again, or
  /// removed with ``remove(_:)``.
  public func add(
    contentsOf providers: [any Provider], options: DeliveryOptions = DeliveryOptions()
  ) throws(WeirError) {
    try add(providers.map { ($0, options) })
  }

  package func add(_ providers: [(provider: any Provider, options: DeliveryOptions)]) throws(WeirError) {
    var claimed: [String] = []
    defer { state.withLock { $0.busy.subtract(claimed) } }
    for (provider, options) in providers {
      let name = provider.name
      try Cursor.checkProviderName(name)
      try options.validate(for: name)
      if provider.asBatchDelivery != nil { try options.validateForBatches(name, provider.attachedMapper) }
      try claim(name, "is already added; remove it first, or use another name") { !$0.contains(name) }
      claimed.append(name)
    }
    // Events captured before the call must be before the end at which a provider may start.
    if providers.contains(where: { $0.options.start == .end }) {
      _ = try? trackerReference.value?.drain(timeout: .seconds(30))
    }
    var workers: [ProviderWorker] = []
    for ((provider, options), name) in zip(providers, claimed) {
      workers.append(
        try ProviderWorker(
          WorkerOrders(
            provider: provider, name: name, options: options, configuration: configuration, clock: clock, log: log,
            feed: feed)))
    }
    // Once all can be added: a plan that nobody delivers by replaces no other.
    for ((provider, options), name) in zip(providers, claimed) {
      try record(DeliveryPlan.Entry(name, options: options, mapper: provider.attachedMapper))
    }
    let (isLate, isRunning) = state.withLock { state in
      if !state.isShutDown { for worker in workers { state.workers[worker.orders.name] = worker } }
      return (state.isShutDown, state.isRunning)
    }
    guard !isLate else { throw closed }
    guard isRunning else { return }
    do throws(WeirError) { try ProviderWorker.start(workers) } catch {
      state.withLock { for name in claimed { $0.workers[name] = nil } }
      throw error
    }
  }

  /// Records what is done to a provider's events. If the provider gets what was kept from it before, a warning in the
  /// program's log says so.
  private func record(_ entry: DeliveryPlan.Entry) throws(WeirError) {
    let plan = RecordedPlan(entry, by: configuration.planAuthor)
    let recorded = try RecordedPlan(of: entry.name, in: directory, calls: configuration.calls)
    let missing = recorded?.kept(notBy: plan) ?? []
    if !missing.isEmpty {
      configuration.logger?.warning(
        """
        \(entry.name) gets more from \(directory) than before: the last delivery under this name had \
        \(missing.joined(separator: ", ")), and this delivery has not
        """)
    }
    try plan.write(over: recorded, for: entry.name, in: directory, calls: configuration.calls)
  }

  /// Ends the delivery to a provider and deletes its cursor. The provider no longer pins segments. If the provider is
  /// added again, it starts again. Also removes a provider that has only a cursor.
  ///
  /// Waits at most ``Configuration/closingTime`` for the call in progress. Then cancels the call, and waits at most as
  /// long again for the cancelled call and ``Provider/shutdown()`` together. The dead letters stay.
  ///
  /// Throws `missing` (no such provider), `locked` (another process delivers under this name), `invalid` (the provider
  /// is being added or removed), `closed`, and the errors of the system. After an error of the system, it may be called
  /// again.
  public func remove(_ name: String) async throws(WeirError) {
    guard Cursor.isProviderName(name) else { throw unknown(name) }
    try claim(name, "is being added or removed") { _ in true }
    defer { unclaim(name) }
    if let worker = worker(named: name) {
      await finish([worker], .removal)
      state.withLock { _ = $0.workers.removeValue(forKey: name) }
    } else if try Cursor.read(name, of: directory, calls: configuration.calls) == .nothing {
      throw unknown(name)
    }
    // Prevents other processes from delivering under this name until the cursor is removed.
    let lock = try CursorLock(name, of: directory, calls: configuration.calls)
    try Cursor.remove(name, of: directory, calls: configuration.calls)
    withExtendedLifetime(lock) {}
    try log.release(calls: configuration.calls)
  }

  /// Resumes the delivery to a provider that stopped with ``DeliveryStopped``. Call this after the cause is fixed;
  /// otherwise the provider is tried again after a pause. Does nothing for other providers.
  public func resume(_ name: String) {
    guard log.isOfThisProcess else { return }
    worker(named: name)?.shared.order { $0.isToResume = true }
  }

  /// Returns the counts of events prepared for a provider since the provider was added, or `nil` if this dispatcher
  /// does not deliver to a provider of this name. An event that is delivered again after a kill is prepared and counted
  /// again.
  public func preparationCounts(of name: String) -> PreparedEvent.Counts? {
    guard log.isOfThisProcess else { return nil }
    return worker(named: name)?.shared.read { $0.report.preparation }
  }

  /// The sorted names of the providers that this dispatcher delivers to.
  public var providers: [String] {
    guard log.isOfThisProcess else { return [] }
    return state.withLock { $0.workers.keys.sorted() }
  }
}

// MARK: Parts

extension Dispatcher {
  /// The tracker, or `nil` after the tracker was released.
  package var tracker: Tracker? { trackerReference.value }

  var workers: [ProviderWorker] {
    guard log.isOfThisProcess else { return [] }
    return state.withLock { $0.workers.values.sorted { $0.orders.name < $1.orders.name } }
  }

  /// Rings an alarm whenever the state of a present provider changes, and not while nothing happens.
  package func observe(_ alarm: Alarm) {
    for worker in workers { worker.shared.observe(alarm) }
  }

  /// Ends what ``observe(_:)`` began.
  package func unobserve(_ alarm: Alarm) {
    for worker in workers { worker.shared.unobserve(alarm) }
  }

  func worker(named name: String) -> ProviderWorker? { state.withLock { $0.workers[name] } }

  var isShutDown: Bool { state.withLock { $0.isShutDown } }

  /// Prevents further additions of providers. Returns `false` if that was already so.
  func close() -> Bool {
    state.withLock { state in
      defer { state.isShutDown = true }
      return !state.isShutDown
    }
  }

  /// Logs a warning if providers were added but the dispatcher was never run.
  func warnIfNeverRun() {
    let names = state.withLock { $0.isRunning || $0.isShutDown ? [] : $0.workers.keys.sorted() }
    guard !names.isEmpty else { return }
    configuration.logger?.warning(
      "nothing was delivered from \(directory) to \(names.joined(separator: ", ")); call run() on the dispatcher")
  }

  /// Orders workers to end, and waits until they have ended.
  func finish(_ workers: [ProviderWorker], _ ending: WorkerEnding) async {
    for worker in workers { worker.end(ending) }
    for worker in workers {
      await clock.waiting(for: [worker]) { worker.shared.read { $0.isFinished } }
    }
  }

  /// Reserves a name for a change, if `condition` holds for the names of the workers.
  func claim(
    _ name: String, _ problem: String, _ condition: (Dictionary<String, ProviderWorker>.Keys) -> Bool
  ) throws(WeirError) {
    guard log.isOfThisProcess else { throw forked }
    enum Outcome { case taken, closed, refused }
    let outcome = state.withLock { state -> Outcome in
      if state.isShutDown { return .closed }
      guard !state.busy.contains(name), condition(state.workers.keys) else { return .refused }
      state.busy.insert(name)
      return .taken
    }
    switch outcome {
    case .taken: return
    case .closed: throw closed
    case .refused: throw WeirError(.invalid, "the provider \(name) \(problem)", path: directory)
    }
  }

  /// Ends the reservation of a name.
  func unclaim(_ name: String) {
    state.withLock { _ = $0.busy.remove(name) }
  }

  var closed: WeirError {
    WeirError(.closed, "the dispatcher of \(directory) is shut down; create another dispatcher", path: directory)
  }

  private var forked: WeirError {
    WeirError(
      .closed, "a forked process can't use its parent's dispatcher; create another in the forked process",
      path: directory)
  }

  private func unknown(_ name: String) -> WeirError {
    WeirError(.missing, "\(directory) has no provider named \(name.debugDescription)", path: directory)
  }
}

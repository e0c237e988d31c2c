// Dispatcher: delivers a log's events to providers, and knows what became of each.

import Logging
public import Weir

/// Delivers the events of a log to providers: each at least once, to each provider at its own pace.
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
/// **At least once.** Every event whose `Tracker.track(_:)` answered `Receipt.accepted(_:)` is given to each
/// provider until that has accepted or rejected it. How far a provider has come is kept in a durable cursor, moved
/// after the fact: after a kill what was settled last comes again, with the same id. ``ledger`` accounts for every
/// event.
///
/// **Apart from capture.** While the dispatcher runs, each provider has a thread, which reads the log's files and
/// writes the provider's cursor, record of attempts and dead letters. The provider's own code runs in tasks. Captures
/// wait for none of this, and a provider that is slow or dead holds up no other.
///
/// **Removal.** With a tracker whose `Tracker.Configuration.removeDelivered` is set, segments that every provider has
/// are removed; a provider is known from its cursor's first day until it is removed with ``remove(_:)``, also while
/// nothing delivers to it. Rejected events are kept in the dead-letter log, `dead-letters/NAME`, and never removed.
///
/// **Threads.** Every call may be made from any thread or task. A child of a fork has no dispatcher: there every call
/// throws `closed`, or does nothing.
///
/// **The end.** Cancel the task of ``run(budget:)``: delivery then ends in order. A dispatcher that is released and
/// never ran says in the program's log that nothing was delivered.
public final class Dispatcher: Sendable {
  /// The log's directory, as an absolute path.
  package let directory: String

  let configuration: Configuration
  let clock: DeliveryClock
  let log: DeliveredLog
  /// The tracker whose log this is; nil beside another process, or once it is gone.
  private let trackerReference: WeakTracker
  private let state = Lock(State())
  /// Rung when ``run(budget:)`` is to end.
  let ended = Alarm()

  private struct State {
    var workers: [String: ProviderWorker] = [:]
    /// Names that are being added or removed.
    var busy: Set<String> = []
    var isRunning = false
    var isShutDown = false
  }

  /// Creates a dispatcher for a tracker's log, in the process that captures.
  ///
  /// The dispatcher does not retain the tracker. After the tracker is closed or released, delivery continues from the
  /// files. `Tracker.ledger` and `Tracker.flush(timeout:)` ask this dispatcher. Throws `invalid` if the tracker has
  /// another dispatcher that has not ended, and `closed` in a child of a fork.
  public convenience init(_ tracker: Tracker, configuration: Configuration = Configuration()) throws(WeirError) {
    self.init(DeliveredLog(tracker), tracker, configuration)
    try log.attach(self, to: tracker)
    log.listen(to: tracker)
  }

  /// Creates a dispatcher for the log in `directory`, beside the process that writes the log or after its end.
  ///
  /// The dispatcher moves cursors, writes dead letters, and locks each provider's cursor. It removes no segment: only
  /// the writer does. If the writer is dead, the events in its lanes are delivered, too. Throws `missing`, `directory`
  /// and `access`.
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
    trackerReference = WeakTracker(tracker)
  }

  deinit {
    guard log.isOfThisProcess else { return }
    warnIfNeverRun()
    for worker in state.withLock({ $0.workers.values }) {
      worker.shared.order { if $0.ending == nil { $0.ending = .removal } }
    }
    // From now on the tracker has nobody to tell that it frees the log.
    log.forgetLog()
  }

  // MARK: Running

  /// Delivers until the task is cancelled; then ends in order, and answers what the end delivered.
  ///
  /// The end: the tracker takes no more events, its lanes are drained and its log is sealed (`Tracker.close()`); then
  /// what is in the log is delivered until that is done or `budget` is spent; cursors are made durable, and each
  /// provider is shut down. 10 s of the 30 s that most systems wait between SIGTERM and SIGKILL are the default. So
  /// cancel what captures events first.
  ///
  /// What is not delivered by then stays in the log for the next opening, and so does what the disk had no room for:
  /// the report counts both as pending. A provider that is stopped, or that is not to be tried again before the budget
  /// is spent, is not waited for; a call in progress is cancelled at the budget's end. For providers that do not return
  /// the end takes ``Configuration/closingTime`` more, and no longer.
  ///
  /// Starts a thread a provider, also for those that are added later, and no task. Throws `invalid` if the dispatcher
  /// runs already, `closed` if it has ended or in a child of a fork, `memory` if the system has no more threads. What
  /// goes wrong with a provider is in the report and the log.
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
      // What is pending is safe, but somebody waits for it.
      configuration.logger?.log(
        level: entry.pending > 0 ? .warning : .info,
        """
        delivery to \(entry.provider) from \(directory) ended: \(entry.acknowledged) acknowledged, \(entry.rejected) \
        rejected, \(entry.pending) pending\(entry.error.map { ": \($0)" } ?? "")
        """)
    }
    return report
  }

  /// Delivers from now on, until `shutdown(budget:)`. Throws as ``run(budget:)`` does.
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
      throw WeirError(.invalid, "the dispatcher of \(directory) runs already; run it once", path: directory)
    case .closed: throw closed
    case .started(let workers):
      do throws(WeirError) {
        for worker in workers { try worker.start() }
      } catch {
        _ = close()
        for worker in workers { worker.end(.removal) }
        throw error
      }
    }
  }

  // MARK: Providers

  /// Delivers to a provider while the dispatcher runs: from its cursor on, or, if it has none, from
  /// ``DeliveryOptions/start``.
  ///
  /// Waits for the disk: when the method returns, the cursor is on the disk. Throws `invalid` (a name with other
  /// characters than letters, digits, `-` and `_`, or with more than 64; a name that is in use; options that make no
  /// sense), `locked` (another process, or another dispatcher, delivers in this name), `closed` (after the end of
  /// ``run(budget:)``), `version`, and `noSpace`, `access`, `io` if the cursor can't be written.
  public func add(_ provider: any Provider, options: DeliveryOptions = DeliveryOptions()) throws(WeirError) {
    try add(contentsOf: [provider], options: options)
  }

  /// Delivers to several providers, each as ``add(_:options:)`` has it: all of them, or none if it throws.
  ///
  /// No provider begins before all have their cursors. So with `Tracker.Configuration.removeDelivered` no segment is
  /// removed that one of them is still to be given. If providers are added one after the other, a later provider begins
  /// with what the log still has. If the method throws, cursors that were made by then stay, and pin the log until
  /// their provider is added again or removed with ``remove(_:)``.
  public func add(
    contentsOf providers: [any Provider], options: DeliveryOptions = DeliveryOptions()
  ) throws(WeirError) {
    var claimed: [String] = []
    defer { state.withLock { $0.busy.subtract(claimed) } }
    for name in providers.map(\.name) {
      guard Cursor.isProviderName(name) else {
        throw WeirError(
          .invalid,
          "the provider's name \(name.debugDescription) must be 1 to \(Cursor.maximumNameBytes) letters, digits, "
            + "- and _")
      }
      try options.validate(for: name)
      try claim(name, "is there already; remove it first, or give the other another name") { !$0.contains(name) }
      claimed.append(name)
    }
    // What was captured before the call is before the end that a provider may begin with.
    if options.start == .end { _ = try? trackerReference.value?.drain(timeout: .seconds(30)) }
    var workers: [ProviderWorker] = []
    for (provider, name) in zip(providers, claimed) {
      workers.append(
        try ProviderWorker(
          WorkerOrders(
            provider: provider, name: name, options: options, configuration: configuration, clock: clock, log: log)))
    }
    let (isLate, isRunning) = state.withLock { state in
      if !state.isShutDown { for worker in workers { state.workers[worker.orders.name] = worker } }
      return (state.isShutDown, state.isRunning)
    }
    guard !isLate else { throw closed }
    guard isRunning else { return }
    do throws(WeirError) {
      for worker in workers { try worker.start() }
    } catch {
      for worker in workers { worker.end(.removal) }
      state.withLock { for name in claimed { $0.workers[name] = nil } }
      throw error
    }
  }

  /// Ends the delivery to a provider, and removes its cursor: the provider no longer pins segments, and begins anew if
  /// it is added again. Also removes the cursor of a provider that nothing delivers to.
  ///
  /// Waits at most ``Configuration/closingTime`` for a call in progress, then cancels the call, and waits as long again
  /// for the call's return and ``Provider/shutdown()`` together. The dead letters stay. Throws `missing` (no such
  /// provider), `locked` (another process delivers in this name), `invalid` (the provider is being added or removed),
  /// `closed`, and the system's errors, after which the call may be repeated.
  public func remove(_ name: String) async throws(WeirError) {
    guard Cursor.isProviderName(name) else { throw unknown(name) }
    try claim(name, "is being added or removed") { _ in true }
    defer { state.withLock { _ = $0.busy.remove(name) } }
    if let worker = worker(named: name) {
      await finish([worker], .removal)
      state.withLock { _ = $0.workers.removeValue(forKey: name) }
    } else if try Cursor.read(name, of: directory, calls: configuration.calls) == .nothing {
      throw unknown(name)
    }
    // Nobody may begin in this name between the two.
    let lock = try CursorLock(name, of: directory, calls: configuration.calls)
    try Cursor.remove(name, of: directory, calls: configuration.calls)
    withExtendedLifetime(lock) {}
    try log.release(calls: configuration.calls)
  }

  /// Tries a provider that stopped with ``DeliveryStopped`` again at once; without this call, after a pause. Does
  /// nothing to other providers.
  public func resume(_ name: String) {
    guard log.isOfThisProcess else { return }
    worker(named: name)?.shared.order { $0.isToResume = true }
  }

  /// The counts of the events that were prepared for this provider since it was added; `nil` if the dispatcher has no
  /// such provider. An event that comes again after a kill is prepared, and counted, again.
  public func preparationCounts(of name: String) -> PreparedEvent.Counts? {
    guard log.isOfThisProcess else { return nil }
    return worker(named: name)?.shared.read { $0.report.preparation }
  }

  /// The names of the dispatcher's providers, in order.
  public var providers: [String] {
    guard log.isOfThisProcess else { return [] }
    return state.withLock { $0.workers.keys.sorted() }
  }
}

// MARK: Parts

extension Dispatcher {
  /// The tracker, while it is there.
  var tracker: Tracker? { trackerReference.value }

  var workers: [ProviderWorker] {
    guard log.isOfThisProcess else { return [] }
    return state.withLock { $0.workers.values.sorted { $0.orders.name < $1.orders.name } }
  }

  func worker(named name: String) -> ProviderWorker? { state.withLock { $0.workers[name] } }

  var isShutDown: Bool { state.withLock { $0.isShutDown } }

  /// No provider is added from now on. False if that was so before.
  func close() -> Bool {
    state.withLock { state in
      defer { state.isShutDown = true }
      return !state.isShutDown
    }
  }

  /// Where a provider was added, and nothing has delivered to it, somebody forgot to.
  func warnIfNeverRun() {
    let names = state.withLock { $0.isRunning || $0.isShutDown ? [] : $0.workers.keys.sorted() }
    guard !names.isEmpty else { return }
    configuration.logger?.warning(
      "nothing was delivered from \(directory) to \(names.joined(separator: ", ")); call run() on the dispatcher")
  }

  /// Orders workers to end, and waits for it.
  func finish(_ workers: [ProviderWorker], _ ending: WorkerEnding) async {
    for worker in workers { worker.end(ending) }
    for worker in workers {
      await clock.waiting(for: [worker]) { worker.shared.read { $0.isFinished } }
    }
  }

  /// Takes a name for a change, if the workers are as `condition` wants.
  private func claim(
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

  private var closed: WeirError {
    WeirError(.closed, "the dispatcher of \(directory) is shut down; make another", path: directory)
  }

  private var forked: WeirError {
    WeirError(.closed, "a forked process has no dispatcher; make one of its own there", path: directory)
  }

  private func unknown(_ name: String) -> WeirError {
    WeirError(.missing, "\(directory) has no provider named \(name.debugDescription)", path: directory)
  }
}

// Redrive: delivers dead letters again.

public import Weir

extension LogDirectory {
  /// Delivers a provider's dead letters again, each event with its original id. Letters that an earlier redrive
  /// delivered are left out. Waits until all letters are accepted or rejected again, or until the timeout.
  ///
  /// ```swift
  /// // After the mapper was fixed:
  /// let report = try await LogDirectory("/var/lib/shop/events").redrive(
  ///   to: warehouse, options: options, timeout: .seconds(60))
  /// print("\(report.acknowledged) events accepted, \(report.rejected) rejected again")
  /// ```
  ///
  /// The provider's name determines the letters. Letters are prepared and delivered like events, including the
  /// back-off, but go out immediately. The progress is stored in a separate cursor, in the directory of the letters.
  /// Nothing is removed: the letters of events that are rejected again stay, and are not delivered a third time.
  ///
  /// A redrive may run during the delivery of new events, in this process or another. But don't pass the provider
  /// object that a dispatcher uses: the object would get two calls at the same time.
  ///
  /// The pending count is in letters, and includes letters that were written meanwhile. If the task is cancelled, the
  /// redrive ends as at the timeout.
  ///
  /// Throws `missing` (there are no dead letters under this name), `locked` (another redrive of these letters is
  /// running), `invalid`, and the errors of the system. Errors of the provider are in the report.
  public func redrive(
    to provider: any Provider, options: DeliveryOptions = DeliveryOptions(),
    configuration: Dispatcher.Configuration = Dispatcher.Configuration(), timeout: Duration
  ) async throws(WeirError) -> DeliveryReport.Entry {
    try checkPath(path)
    let name = provider.name
    try Cursor.checkProviderName(name)
    var options = options
    options.start = .beginning
    // The events passed the caps when they were delivered. A letter that a cap withheld would never come again.
    options.rateCaps = []
    options.flush.triggers.formUnion([.start, .shutdown])
    try options.validate(for: name)
    let letters = DeadLetter.path(of: name, in: path)
    let end: Offset
    do throws(WeirError) {
      end = try LogDirectory(letters).tally(from: .max).nextOffset
    } catch {
      guard error.code == .missing else { throw error }
      throw WeirError(.missing, "\(path) has no dead letters of \(name.debugDescription)", path: letters)
    }
    let clock = DeliveryClock(configuration.clock)
    let worker = try ProviderWorker(
      WorkerOrders(
        provider: provider, name: name, options: options, configuration: configuration, clock: clock,
        log: DeliveredLog(directory: letters), isRedrive: true))
    let before = worker.shared.read { $0.report }
    worker.shared.order { $0.ending = .shutdown(target: end, deadline: clock.now + timeout) }
    try ProviderWorker.start([worker])
    await withTaskCancellationHandler {
      await clock.waiting(for: [worker]) { worker.shared.read { $0.isFinished } }
    } onCancel: {
      worker.shared.order { $0.ending = .shutdown(target: end, deadline: clock.now) }
    }
    let (after, state) = worker.shared.read { ($0.report, $0.stateAtEnd ?? $0.report.state) }
    return DeliveryReport.Entry(
      provider: name, acknowledged: after.acknowledged &- before.acknowledged,
      rejected: after.rejected &- before.rejected,
      pending: UInt64(after.open) &+ (try Self.letters(in: letters, from: after.position, endingFrom: after.end)),
      state: state, error: after.error, lost: after.passed.lost)
  }

  /// Returns the number of letters that end at `end` or later. Letters are counted instead of events, because a large
  /// letter consists of several events. Earlier parts of a letter may lie between `start` and `end`.
  private static func letters(in path: String, from start: Offset, endingFrom end: Offset) throws(WeirError) -> UInt64 {
    guard try LogDirectory(path).tally(from: end).pending > 0 else { return 0 }
    let reader = try EventReader(directory: path, from: start)
    var joiner = DeadLetterJoiner()
    var count: UInt64 = 0
    while let event = try reader.next() {
      if joiner.take(event) != nil, event.offset >= end { count += 1 }
    }
    return count
  }
}

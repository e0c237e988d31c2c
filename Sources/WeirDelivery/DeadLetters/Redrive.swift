// Redrive: dead letters are sent again.

public import Weir

extension LogDirectory {
  /// Gives a provider its dead letters again, those that it was not given again before, each event with its original
  /// id; waits until all of them are accepted or rejected again, at most so long.
  ///
  /// ```swift
  /// After the mapper was mended:
  /// let report = try await LogDirectory("/var/lib/shop/events").redrive(to: warehouse, options: options,
  ///                                                                    timeout: .seconds(60))
  /// print(report.acknowledged, "of them are there now,", report.rejected, "were rejected again")
  /// ```
  ///
  /// The letters are those of the provider's name. They are prepared and sent as events are, with back-off and all, but
  /// go out at once; how far it has come is kept in a cursor of its own, in the directory of the letters. Nothing is
  /// removed: what is rejected again stays among the letters, and is not given a third time. It goes beside the
  /// delivery of new events, in this process or another, but not on the provider object that a dispatcher has: that
  /// would get two calls at once.
  ///
  /// Of what is pending, letters are counted, also those that were written meanwhile. If its task is cancelled it ends
  /// as when the time is over.
  ///
  /// Throws `missing` (there are no dead letters in this name), `locked` (somebody else redrives them), `invalid`, and
  /// what the system may say. What goes wrong with the provider is in the report.
  public func redrive(
    to provider: any Provider, options: DeliveryOptions = DeliveryOptions(),
    configuration: Dispatcher.Configuration = Dispatcher.Configuration(), timeout: Duration
  ) async throws(WeirError) -> DeliveryReport.Entry {
    try checkPath(path)
    let name = provider.name
    guard Cursor.isProviderName(name) else {
      throw WeirError(.invalid, "the provider's name \(name.debugDescription) must be letters, digits, - and _")
    }
    var options = options
    options.start = .beginning
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
    try worker.start()
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

  /// How many letters end at `end` or after it: events are not counted, for a large letter is several. What lies before
  /// `end` and from `start` on may have parts of one.
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

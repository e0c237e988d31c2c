// Dispatcher, flush and shutdown: calls that concern all providers at once.

import Logging
import Weir

extension Dispatcher {
  /// Delivers all events captured before the call now, regardless of the flush policies. Waits until the events are
  /// settled, until the timeout, or until the task is cancelled.
  ///
  /// A flush may begin before ``run(budget:)``. If nobody runs the dispatcher, the flush lasts until the timeout, and
  /// the report says why.
  ///
  /// Returns, for each provider, the numbers of events acknowledged and rejected during the call, and the number of
  /// events pending. Does not wait for a provider that is stopped, nor for a provider whose policy lacks
  /// ``FlushPolicy/Triggers/demand``. Never throws: errors are in the report.
  ///
  /// If the log can't take the events in the lanes because the disk is full, the drain is retried until the timeout.
  /// The events that are still in the lanes then are pending, and the report has the reason. Beside another process,
  /// the flush does not wait for events in that process's lanes; the events reach the log some milliseconds later. Nor
  /// does the flush of a ``BatchProvider`` wait for events in the segment that another process fills.
  @discardableResult
  public func flush(timeout: Duration) async -> DeliveryReport {
    guard log.isOfThisProcess else { return DeliveryReport([]) }
    let deadline = clock.now + timeout
    let workers = self.workers
    let before = workers.map(\.mark)
    var end = await endOfLog(until: deadline)
    while true {
      for worker in workers { worker.shared.order { $0.signals.insert(.demand) } }
      let (target, isWhole) = (end.offset, !end.mayDrainLater)
      await clock.waiting(for: workers, until: isWhole ? deadline : min(deadline, clock.now + Self.drainPause)) {
        Task.isCancelled
          || zip(workers, before).allSatisfy { !$0.isFlushed || isWhole && $0.hasSettled(below: target, since: $1) }
      }
      guard !isWhole, workers.contains(where: \.isFlushed), clock.now < deadline, !Task.isCancelled else { break }
      end = await endOfLog(until: deadline)
    }
    return await Self.onThreadOfItsOwn { [end] in self.report(workers, since: before, end) }
  }

  /// The pause between two attempts to drain lanes for which the log has no room.
  private static var drainPause: Duration { .milliseconds(250) }

  /// Ends the delivery in order, like ``run(budget:)`` after its task is cancelled. A second call does nothing.
  @discardableResult
  package func shutdown(budget: Duration) async -> DeliveryReport {
    guard log.isOfThisProcess, close() else { return DeliveryReport([]) }
    ended.ring()
    let deadline = clock.now + budget
    let workers = self.workers
    let before = workers.map(\.mark)
    var trouble: WeirError?
    if let tracker {
      trouble = await Self.onThreadOfItsOwn { () -> WeirError? in
        do throws(WeirError) { try tracker.close() } catch {
          // The next opening recovers the events that could not be drained.
          self.configuration.logger?.error("can't close the log \(self.directory): \(error.message)")
          return error
        }
        return nil
      }
    }
    var end = await endOfLog(until: deadline)
    if let trouble, end.error != nil { end.error = trouble }
    await finish(workers, .shutdown(target: end.offset, deadline: deadline))
    feed.end()
    return await Self.onThreadOfItsOwn { [end] in self.report(workers, since: before, end) }
  }

  /// The end of the events captured before the call.
  private struct LogEnd: Sendable {
    /// The offset after the last event in the log.
    var offset: Offset
    /// The reason why there may be more events in the lanes; `nil` if there are none.
    var error: WeirError?
    /// Whether the events in the lanes may still reach the log.
    var mayDrainLater = false
  }

  private func endOfLog(until deadline: Duration) async -> LogEnd {
    let tracker = self.tracker
    let rest = max(deadline - clock.now, .zero)
    return await Self.onThreadOfItsOwn { [log, directory] () -> LogEnd in
      var trouble: WeirError?
      do throws(WeirError) {
        if let tracker { return LogEnd(offset: try tracker.drain(timeout: min(.seconds(10), rest))) }
      } catch {
        trouble = error
      }
      do throws(WeirError) {
        // Counts from the end of the log: the events in a dead writer's lanes count as events with offsets.
        let known = log.nextOffset
        let tally = try LogDirectory(directory).tally(from: known ?? .max)
        let end = known ?? tally.nextOffset
        guard let trouble else { return LogEnd(offset: end) }
        guard trouble.code == .closed else { return LogEnd(offset: end, error: trouble, mayDrainLater: true) }
        // A closed log has drained all events that it could.
        guard tally.inLanes > 0 else { return LogEnd(offset: end) }
        let error = WeirError(
          .closed,
          "\(directory) was closed with \(tally.inLanes) events in its lanes, which the next opening recovers",
          path: directory)
        return LogEnd(offset: end, error: error)
      } catch {
        return LogEnd(offset: log.nextOffset ?? 0, error: trouble ?? error, mayDrainLater: true)
      }
    }
  }

  /// Runs work that waits for the disk on a separate thread, because tasks share their threads.
  private static func onThreadOfItsOwn<Answer: Sendable>(_ body: @escaping @Sendable () -> Answer) async -> Answer {
    await withCheckedContinuation { continuation in
      do throws(WeirError) {
        try startThread("weir-flush") { continuation.resume(returning: body()) }
      } catch {
        continuation.resume(returning: body())
      }
    }
  }

  private func report(_ workers: [ProviderWorker], since before: [WorkerMark], _ end: LogEnd) -> DeliveryReport {
    DeliveryReport(
      zip(workers, before).map { worker, mark in
        let (now, state, isStarted) = worker.shared.read {
          ($0.report, $0.stateAtEnd ?? $0.report.state, $0.isStarted)
        }
        // A rewind during the call began the counts again.
        let before = now.counts.rewinds == mark.report.counts.rewinds ? mark.report : WorkerReport()
        var error = isStarted ? now.error ?? end.error?.message : "the dispatcher is not running; call run()"
        let pending = pending(now, end)
        let waitsForWriter = now.waitsForWriter(since: mark)
        if waitsForWriter, pending > 0, error == nil { error = Self.waitingForWriter }
        var entry = DeliveryReport.Entry(
          provider: worker.orders.name, acknowledged: now.acknowledged &- before.acknowledged,
          rejected: now.rejected &- before.rejected, pending: pending, state: state, error: error,
          lost: (now.passed - before.passed).lost)
        entry.waitsForWriter = waitsForWriter
        return entry
      })
  }

  private static var waitingForWriter: String {
    "the pending events are in the segment that the log's writer fills, and leave once that is sealed"
  }

  /// Returns the number of events before the end that are not settled: events that were read, events in the log, and
  /// events that the log could not take.
  private func pending(_ report: WorkerReport, _ end: LogEnd) -> UInt64 {
    let open = UInt64(report.open)
    let log = LogDirectory(directory)
    do throws(WeirError) {
      // Further events may have reached the log meanwhile, above its end. All of them count.
      guard end.error == nil else { return open &+ (try log.tally(from: report.end).pending) }
      guard !report.hasSettled(below: end.offset) else { return 0 }
      guard report.end < end.offset else { return open }
      return open &+ (try log.counts(in: report.end..<end.offset).readable)
    } catch {
      // The events can't be counted, but there may be some.
      return max(open &+ (end.offset > report.end ? end.offset - report.end : 0), 1)
    }
  }
}

extension ProviderWorker {
  /// Whether a flush waits for this provider.
  fileprivate var isFlushed: Bool {
    guard orders.options.flush.triggers.contains(.demand) else { return false }
    return shared.read { state in
      if case .stopped = state.report.state { return false }
      return !state.isFinished
    }
  }

  fileprivate func hasSettled(below target: Offset, since mark: WorkerMark) -> Bool {
    shared.read { $0.report.hasSettled(below: target, since: mark) }
  }

  fileprivate var mark: WorkerMark {
    shared.read { WorkerMark(report: $0.report, orderCount: $0.orderCount) }
  }
}

/// The progress of a worker, and the number of orders that the worker had been given, when a call began.
struct WorkerMark {
  var report: WorkerReport
  var orderCount: UInt64
}

extension WorkerReport {
  /// Whether all events and delivered notices below `target` are settled.
  func hasSettled(below target: Offset) -> Bool {
    position >= target || open == 0 && openNotices == 0 && max(seenEnd, end) >= target
  }

  /// Whether all events and delivered notices below `target` are settled, or wait for the log's writer.
  func hasSettled(below target: Offset, since mark: WorkerMark) -> Bool {
    hasSettled(below: target) || open == 0 && openNotices == 0 && waitsForWriter(since: mark)
  }

  /// Whether all unsettled events wait for the log's writer. Only a look after an order since the mark counts: an older
  /// look may have missed a seal.
  func waitsForWriter(since mark: WorkerMark) -> Bool {
    writerAwaited.map { $0 > mark.orderCount } ?? false
  }

  var acknowledged: UInt64 { counts.acknowledged &+ ahead.acknowledged }
  var rejected: UInt64 { counts.rejected &+ ahead.rejected }
}

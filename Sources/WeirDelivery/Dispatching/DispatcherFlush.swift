// Dispatcher, flushing and shutting down: what is asked of all providers at once.

import Logging
import Weir

extension Dispatcher {
  /// Delivers all events that were captured before the call, whatever the flush policies wait for, and waits until the
  /// events are settled, the timeout has passed, or the task is cancelled.
  ///
  /// A flush may begin before ``run(budget:)`` does. If nobody runs the dispatcher, the time passes, and the report
  /// says so.
  ///
  /// Returns what each provider acknowledged and rejected during the call, and what is pending. The flush does not wait
  /// for a provider that is stopped, or whose policy lacks ``FlushPolicy/Triggers/demand``. Never throws: errors are in
  /// the report.
  ///
  /// If the disk is full, the flush keeps trying to move events from the lanes into the log. Events that are in the
  /// lanes at the end count as pending, and the report says why. Beside another process, the flush does not wait for
  /// events in the lanes of that process; they come into the log some milliseconds later.
  @discardableResult
  public func flush(timeout: Duration) async -> DeliveryReport {
    guard log.isOfThisProcess else { return DeliveryReport([]) }
    let deadline = clock.now + timeout
    let workers = self.workers
    let before = workers.map { $0.shared.read { $0.report } }
    var end = await endOfLog(until: deadline)
    while true {
      for worker in workers { worker.shared.order { $0.signals.insert(.demand) } }
      let (target, isWhole) = (end.offset, !end.mayDrainLater)
      await clock.waiting(for: workers, until: isWhole ? deadline : min(deadline, clock.now + Self.drainPause)) {
        Task.isCancelled || workers.allSatisfy { !$0.isFlushed || isWhole && $0.hasSettled(below: target) }
      }
      guard !isWhole, workers.contains(where: \.isFlushed), clock.now < deadline, !Task.isCancelled else { break }
      end = await endOfLog(until: deadline)
    }
    return report(workers, since: before, end)
  }

  /// Between two tries to drain lanes that the log has no room for.
  private static var drainPause: Duration { .milliseconds(250) }

  /// Ends the delivery in order, as ``run(budget:)`` does once its task is cancelled. A second call does nothing.
  @discardableResult
  package func shutdown(budget: Duration) async -> DeliveryReport {
    guard log.isOfThisProcess, close() else { return DeliveryReport([]) }
    ended.ring()
    let deadline = clock.now + budget
    let workers = self.workers
    let before = workers.map { $0.shared.read { $0.report } }
    var trouble: WeirError?
    if let tracker {
      trouble = await Self.onThreadOfItsOwn { () -> WeirError? in
        do throws(WeirError) { try tracker.close() } catch {
          // What could not be drained is the next opening's to recover.
          self.configuration.logger?.error("closing \(self.directory) failed: \(error.message)")
          return error
        }
        return nil
      }
    }
    var end = await endOfLog(until: deadline)
    if let trouble, end.error != nil { end.error = trouble }
    await finish(workers, .shutdown(target: end.offset, deadline: deadline))
    return report(workers, since: before, end)
  }

  /// Where what was captured before the call ends.
  private struct LogEnd: Sendable {
    /// After the last event that is in the log.
    var offset: Offset
    /// Why there may be more events, in the lanes; nil if there are none.
    var error: WeirError?
    /// They may come into the log yet.
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
        // From its end on: what a dead writer has in its lanes counts as having an offset.
        let known = log.nextOffset
        let tally = try LogDirectory(directory).tally(from: known ?? .max)
        let end = known ?? tally.nextOffset
        guard let trouble else { return LogEnd(offset: end) }
        guard trouble.code == .closed else { return LogEnd(offset: end, error: trouble, mayDrainLater: true) }
        // A closed log has drained all that it could.
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

  /// Does what waits for the disk off the threads that tasks share.
  private static func onThreadOfItsOwn<Answer: Sendable>(_ body: @escaping @Sendable () -> Answer) async -> Answer {
    await withCheckedContinuation { continuation in
      do throws(WeirError) {
        try startThread("weir-flush") { continuation.resume(returning: body()) }
      } catch {
        continuation.resume(returning: body())
      }
    }
  }

  private func report(_ workers: [ProviderWorker], since before: [WorkerReport], _ end: LogEnd) -> DeliveryReport {
    DeliveryReport(
      zip(workers, before).map { worker, before in
        let (now, state, isStarted) = worker.shared.read {
          ($0.report, $0.stateAtEnd ?? $0.report.state, $0.isStarted)
        }
        let error = isStarted ? now.error ?? end.error?.message : "the dispatcher does not run; call run() on it"
        return DeliveryReport.Entry(
          provider: worker.orders.name, acknowledged: now.acknowledged &- before.acknowledged,
          rejected: now.rejected &- before.rejected, pending: pending(now, end), state: state, error: error,
          lost: (now.passed - before.passed).lost)
      })
  }

  /// Events before the end that are not settled: those that were read, those that are in the log, and those that the
  /// log could not take.
  private func pending(_ report: WorkerReport, _ end: LogEnd) -> UInt64 {
    let open = UInt64(report.open)
    let log = LogDirectory(directory)
    do throws(WeirError) {
      // Some may have come into the log meanwhile, above its end: all that is there counts.
      guard end.error == nil else { return open &+ (try log.tally(from: report.end).pending) }
      guard !report.hasSettled(below: end.offset), report.end < end.offset else {
        return report.hasSettled(below: end.offset) ? 0 : open
      }
      let rest = try log.tally(from: report.end).inSegments
      let after = try log.tally(from: end.offset).inSegments
      return open &+ (rest >= after ? rest - after : 0)
    } catch {
      // Nobody can count them, which is not to say that there are none.
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

  fileprivate func hasSettled(below target: Offset) -> Bool {
    shared.read { $0.report.hasSettled(below: target) }
  }
}

extension WorkerReport {
  /// Whether nothing below `target` is left to settle.
  func hasSettled(below target: Offset) -> Bool {
    position >= target || open == 0 && max(seenEnd, end) >= target
  }

  var acknowledged: UInt64 { counts.acknowledged &+ ahead.acknowledged }
  var rejected: UInt64 { counts.rejected &+ ahead.rejected }
}

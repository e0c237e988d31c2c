// Dispatcher, flushing and shutting down: what is asked of all providers at once.

extension Dispatcher {
  /// Has everything captured before the call delivered now, whatever the flush policies wait for, and waits until it is
  /// settled; at most so long.
  ///
  /// Answers what was acknowledged and rejected during the call, and what of it is pending, by provider. A provider
  /// whose policy lacks ``FlushTriggers/demand``, and one that is stopped, is not waited for. Never throws: what went
  /// wrong is in the report.
  @discardableResult
  public func flush(timeout: Duration) async -> DeliveryReport {
    guard log.isOfThisProcess else { return DeliveryReport([]) }
    let deadline = clock.now + timeout
    let workers = self.workers
    let before = workers.map { $0.shared.read { $0.report } }
    let target = await endOfLog()
    for worker in workers { worker.shared.order { $0.signals.insert(.demand) } }
    await waiting(for: workers, until: deadline) {
      workers.allSatisfy { worker in
        guard worker.orders.options.flush.triggers.contains(.demand) else { return true }
        return worker.shared.read { state in
          if state.isFinished { return true }
          if case .stopped = state.report.state { return true }
          return state.report.hasSettled(below: target)
        }
      }
    }
    return report(workers, since: before, target)
  }

  /// Ends the delivery in order: the tracker takes no more events, its lanes are drained and its log is sealed
  /// (``Tracker/close()``); then what is in the log is delivered until that is done or the budget is spent; cursors are
  /// made durable, and each provider is shut down.
  ///
  /// What is not delivered by then stays in the log for the next opening. A provider that is stopped, or that is not to
  /// be tried again before the budget is spent, is not waited for; a call in progress is cancelled at its end. May take
  /// ``Configuration/closingTime`` more for providers that do not return. A second call does nothing.
  @discardableResult
  public func shutdown(budget: Duration) async -> DeliveryReport {
    guard log.isOfThisProcess, close() else { return DeliveryReport([]) }
    let deadline = clock.now + budget
    let workers = self.workers
    let before = workers.map { $0.shared.read { $0.report } }
    if let tracker {
      await Self.onThreadOfItsOwn {
        do throws(WeirError) { try tracker.close() } catch {
          // What could not be drained is the next opening's to recover.
          self.configuration.logger?.error("closing \(self.directory) failed: \(error.message)")
        }
      }
    }
    let target = await endOfLog()
    await finish(workers, .shutdown(target: target, deadline: deadline))
    return report(workers, since: before, target)
  }

  /// The offset after what was captured before the call.
  private func endOfLog() async -> Offset {
    let tracker = self.tracker
    return await Self.onThreadOfItsOwn { [log, directory] in
      // A closed log has drained all that it could.
      if let end = try? tracker?.drain(timeout: .seconds(10)) { return end }
      if let end = log.nextOffset { return end }
      return (try? LogDirectory(directory).tally(from: .max).nextOffset) ?? 0
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

  private func report(_ workers: [ProviderWorker], since before: [WorkerReport], _ target: Offset) -> DeliveryReport {
    DeliveryReport(
      zip(workers, before).map { worker, before in
        let (now, state) = worker.shared.read { ($0.report, $0.stateAtEnd ?? $0.report.state) }
        return DeliveryReport.Entry(
          provider: worker.orders.name, acknowledged: now.acknowledged &- before.acknowledged,
          rejected: now.rejected &- before.rejected, pending: pending(now, below: target), state: state,
          error: now.error)
      })
  }

  /// Events below `target` that are not settled: those that were read, and those that are in the log.
  private func pending(_ report: WorkerReport, below target: Offset) -> UInt64 {
    guard !report.hasSettled(below: target) else { return 0 }
    let log = LogDirectory(directory)
    guard report.end < target, let rest = try? log.tally(from: report.end), let after = try? log.tally(from: target)
    else { return UInt64(report.open) }
    return UInt64(report.open) + (rest.inSegments >= after.inSegments ? rest.inSegments - after.inSegments : 0)
  }
}

extension WorkerReport {
  /// Whether nothing below `target` is left to settle.
  func hasSettled(below target: Offset) -> Bool { position >= target || open == 0 && seenEnd >= target }

  var acknowledged: UInt64 { counts.acknowledged &+ ahead.acknowledged }
  var rejected: UInt64 { counts.rejected &+ ahead.rejected }
}

// DeliveryLoop, calls: what the provider is asked, and what its answers mean.

import Logging
import Weir

extension DeliveryLoop {
  /// Sets the provider up. Until that has succeeded nothing else is called.
  func setUp() {
    wasTried = true
    let provider = orders.provider
    guard makeCall("setup()", { try await provider.setup() }) else { return }
    isSetUp = true
    publish()
  }

  /// Tells of a change of the user, in its place among the events.
  func tell(_ change: HeldAssociation) {
    let provider = orders.provider
    let isTold = makeCall(change.user == nil ? "disassociate()" : "associate(_:)") {
      if let user = change.user { try await provider.associate(user) } else { try await provider.disassociate() }
    }
    guard isTold else { return queue.putBack(change) }
    if !change.isRepeated {
      plan.left(events: 1)
      keeper.told(change)
      span.settle(change.offset, Outcomes(acknowledged: 1), isAssociation: true)
    }
    publish()
  }

  /// Gives a batch to the provider, and settles it.
  func give(_ batch: [HeldEvent]) {
    var batch = batch
    for index in batch.indices { batch[index].attempts += 1 }
    let provider = orders.provider
    let events = batch.map(\.prepared)
    let began = Timestamp.now
    let start = clock.now
    let call = ProviderCall(shared.alarm) { await DeliveryAnswer.of { try await provider.deliver(events) } }
    let answer = answer(of: call)
    guard ending != .abandonment else { return }
    let settlement = Settlement(batch, answer ?? unanswered("deliver(_:)"))
    let took = clock.now - start
    attempts.write(Attempt(batch, answer, settlement, began: began, took: took))
    switch answer {
    case .verdicts: callSize.succeeded(batch.count, in: took, of: orders.options.attemptTimeout)
    case nil where cutShort == nil && batch.count > 1: callSize.timedOut(batch.count)
    default: break
    }
    settle(settlement)
  }

  /// What a call comes to that was cancelled.
  private func unanswered(_ name: String) -> DeliveryAnswer {
    switch cutShort {
    case .shutdown:
      .cutShort(
        reason: "\(name) was cancelled, for "
          + (orders.isRedrive ? "the time of the redrive is over" : "the dispatcher shuts down"))
    case .removal, .abandonment: .cutShort(reason: "\(name) was cancelled, for delivery to the provider ends")
    case nil:
      .failed(reason: "\(name) did not answer in \(orders.options.attemptTimeout.inWords), and was cancelled")
    }
  }

  /// Draws the consequences of an answer.
  private func settle(_ settlement: Settlement) {
    for event in settlement.accepted { settle(event.offset, Outcomes(acknowledged: 1)) }
    bury(settlement.rejected)
    queue.putFirst(settlement.batches)
    // Drawn once: what was given together comes again together.
    let random = configuration.random()
    let now = clock.now
    queue.retry(
      settlement.retried.map { retried in
        var event = retried.event
        var wait = event.backoff ?? BackoffState(orders.options.backoff)
        event.notBefore = now + wait.failed(retryAfter: retried.after, random: random)
        // The call had no time for it, and took others: that is no failure, after which to wait longer and longer.
        let isUntried = retried.after == .zero && !settlement.accepted.isEmpty
        if !isUntried { event.backoff = wait }
        return event
      })
    judge(stopped(by: settlement) ?? settlement.health, isDecided: settlement.batches.isEmpty)
    publish()
  }

  /// The stop that refusals amount to; nil if they do not.
  private func stopped(by settlement: Settlement) -> Settlement.Health? {
    if !settlement.accepted.isEmpty { refusals.accepted() }
    guard let refusal = settlement.refusal, refusals.refused(refusal) else { return nil }
    let reason =
      "it never accepted an event, and refused \(refusals.count) in a row, one by one, for the same reason "
      + "(\(refusal)); see whether the address and the form are right, and what a proxy on the way wants"
    attempts.write(Attempt(stopped: reason))
    return .stopped(reason: reason)
  }

  /// What an answer says of the provider itself. A batch that was refused as a whole is not decided on: of what was
  /// stopped only its parts can tell that it goes on.
  private func judge(_ health: Settlement.Health, isDecided: Bool = true) {
    switch health {
    case .answered:
      backoff.succeeded()
      let isReachable = breaker.succeeded()
      guard stop == nil || isDecided else { return }
      if stop != nil || isReachable { signal(.reachable) }
      stop = nil
      clear("provider")
    case .failed(let reason, let after):
      let now = clock.now
      stop = nil
      quietUntil = now + backoff.failed(retryAfter: after, random: configuration.random())
      breaker.failed(at: now)
      report(reason, "provider")
    case .cutShort(let reason): report(reason, "provider")
    case .stopped(let reason):
      let line = reason.inOneLine(of: LoggedAttempt.answerBytes)
      let random = configuration.random()
      guard stop == nil else {
        stop?.again(line, at: clock.now, random: random)
        return report("delivery is stopped: \(reason)", "provider")
      }
      stop = StopState(line, orders.options, at: clock.now, random: random)
      // Said also where failures were said before.
      troubles["provider"] = nil
      report("delivery is stopped: \(reason)", "provider")
    }
  }

  // MARK: Waiting for a call

  /// Makes a call that answers nothing. False if it failed, which has its consequences.
  private func makeCall(_ name: String, _ body: @escaping @Sendable () async throws -> Void) -> Bool {
    let call = ProviderCall(shared.alarm) {
      await DeliveryAnswer.of {
        try await body()
        return []
      }
    }
    let given = answer(of: call)
    if given == nil, ending == .abandonment { return false }
    switch given {
    case .verdicts:
      judge(.answered)
      return true
    case .stopped(let reason):
      attempts.write(Attempt(stopped: reason))
      judge(.stopped(reason: reason))
    case .refused(let reason), .failed(let reason):
      judge(.failed(reason: "\(name) failed: \(reason)", retryAfter: nil))
    case .cutShort(let reason): judge(.cutShort(reason: reason))
    case nil: judge(Settlement([], unanswered(name)).health)
    }
    publish()
    return false
  }

  /// Waits for an answer. If it does not come in time the call is cancelled, and what it may answer later is not
  /// believed: nil.
  private func answer(of call: ProviderCall) -> DeliveryAnswer? {
    var deadline = clock.now + orders.options.attemptTimeout
    cutShort = nil
    self.call = .inProgress
    defer { self.call = nil }
    while true {
      if let answer = call.answer { return answer }
      takeOrders()
      if let end = endOfCalls, end < deadline {
        deadline = end
        cutShort = ending
      }
      guard clock.now < deadline else { break }
      bury([])
      keepCursor()
      publish()
      wait(until: deadline)
    }
    call.cancel()
    overdue = call
    return nil
  }

  /// When a call in progress is cancelled because delivery ends; nil if it does not.
  private var endOfCalls: Duration? {
    switch ending {
    case .abandonment: .zero
    case .removal: endingSince + configuration.closingTime
    case .shutdown(_, let end): end
    case nil: nil
    }
  }

  /// Gives a call some time to return. False if it did not.
  func waitForEnd(of call: ProviderCall, _ kind: WorkerCall, until deadline: Duration) -> Bool {
    self.call = kind
    defer { self.call = nil }
    while call.answer == nil, clock.now < deadline, ending != .abandonment {
      rest(until: deadline)
      ending = shared.takeOrders().ending
    }
    return call.answer != nil
  }

  /// The provider's last call.
  func shutDownProvider(until deadline: Duration) {
    let provider = orders.provider
    let call = ProviderCall(shared.alarm) { () -> DeliveryAnswer in
      await provider.shutdown()
      return .verdicts([])
    }
    guard !waitForEnd(of: call, .inProgress, until: deadline) else { return }
    call.cancel()
    report("shutdown() did not return in what was left of \(configuration.closingTime.inWords)", "shutdown")
  }
}

extension DeliveryAnswer {
  /// What a call of a provider came to.
  fileprivate static func of(_ body: () async throws -> [Verdict]) async -> DeliveryAnswer {
    do {
      return .verdicts(try await body())
    } catch let refusal as BatchRefused {
      return .refused(reason: refusal.reason)
    } catch let stop as DeliveryStopped {
      return .stopped(reason: stop.reason)
    } catch {
      return .failed(reason: "\(error)".inOneLine(of: LoggedAttempt.answerBytes))
    }
  }
}

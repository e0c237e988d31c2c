// ProviderWorker, calls: what the provider is asked, and what its answers mean.

import Logging

extension ProviderWorker {
  /// Sets the provider up. Until that has succeeded nothing else is called.
  func setUp() async {
    wasTried = true
    let provider = orders.provider
    guard await makeCall("setup()", { try await provider.setup() }) else { return }
    isSetUp = true
    publish()
  }

  /// Tells of a change of the user, in its place among the events.
  func tell(_ change: HeldAssociation) async {
    let provider = orders.provider
    let isTold = await makeCall(change.user == nil ? "disassociate()" : "associate(_:)") {
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
  func give(_ batch: [HeldEvent]) async {
    var batch = batch
    for index in batch.indices { batch[index].attempts += 1 }
    let provider = orders.provider
    let events = batch.map(\.prepared)
    let began = Timestamp.now
    let start = clock.now
    let call = ProviderCall(shared.alarm) { await DeliveryAnswer.of { try await provider.deliver(events) } }
    let answer = await answer(of: call)
    guard ending != .abandonment else { return }
    let settlement = Settlement(batch, answer ?? .failed(reason: lateReason))
    attempts.write(
      Attempt(batch, answer, settlement, began: began, took: clock.now - start))
    settle(settlement)
  }

  private var lateReason: String {
    "deliver(_:) did not answer in \(orders.options.attemptTimeout.inWords), and was cancelled"
  }

  /// Draws the consequences of an answer.
  private func settle(_ settlement: Settlement) {
    for event in settlement.accepted { span.settle(event.offset, Outcomes(acknowledged: 1)) }
    bury(settlement.rejected)
    queue.putFirst(settlement.batches)
    let random = configuration.random()
    let now = clock.now
    queue.retry(
      settlement.retried.map { retried in
        var event = retried.event
        var wait = event.backoff ?? BackoffState(orders.options.backoff)
        event.notBefore = now + wait.failed(retryAfter: retried.after, random: random)
        event.backoff = wait
        return event
      })
    judge(settlement.health)
    publish()
  }

  /// What an answer says of the provider itself.
  private func judge(_ health: Settlement.Health) {
    switch health {
    case .answered:
      backoff.succeeded()
      if breaker.succeeded() { signal(.reachable) }
      clear("provider")
    case .failed(let reason, let after):
      let now = clock.now
      quietUntil = now + backoff.failed(retryAfter: after, random: configuration.random())
      breaker.failed(at: now)
      report(reason, "provider")
    case .stopped(let reason):
      stopReason = reason.inOneLine(of: LoggedAttempt.answerBytes)
      report("delivery is stopped: \(reason)", "provider")
    }
  }

  // MARK: Waiting for a call

  /// Makes a call that answers nothing. False if it failed, which has its consequences.
  private func makeCall(_ name: String, _ body: @escaping @Sendable () async throws -> Void) async -> Bool {
    let call = ProviderCall(shared.alarm) {
      await DeliveryAnswer.of {
        try await body()
        return []
      }
    }
    switch await answer(of: call) {
    case .verdicts:
      judge(.answered)
      return true
    case .stopped(let reason): judge(.stopped(reason: reason))
    case .refused(let reason), .failed(let reason):
      judge(.failed(reason: "\(name) failed: \(reason)", retryAfter: nil))
    case nil:
      if ending == .abandonment { return false }
      let time = orders.options.attemptTimeout.inWords
      judge(.failed(reason: "\(name) did not return in \(time), and was cancelled", retryAfter: nil))
    }
    publish()
    return false
  }

  /// Waits for an answer. If it does not come in time the call is cancelled, and what it may answer later is not
  /// believed: nil.
  private func answer(of call: ProviderCall) async -> DeliveryAnswer? {
    var deadline = clock.now + orders.options.attemptTimeout
    isCalling = true
    defer { isCalling = false }
    while true {
      if let answer = call.answer { return answer }
      takeOrders()
      switch ending {
      case .abandonment: deadline = .zero
      case .removal: deadline = min(deadline, endingSince + configuration.closingTime)
      case .shutdown(_, let end): deadline = min(deadline, end)
      case nil: break
      }
      guard clock.now < deadline else { break }
      bury([])
      keepCursor()
      publish()
      await wait(until: deadline)
    }
    call.cancel()
    overdue = call
    return nil
  }

  /// Gives a call that was cancelled some time to return. False if it did not.
  func waitForEnd(of call: ProviderCall) async -> Bool {
    let deadline = clock.now + configuration.closingTime
    isCalling = true
    defer { isCalling = false }
    while call.answer == nil, clock.now < deadline, ending != .abandonment {
      await rest(until: deadline)
      ending = shared.takeOrders().ending
    }
    return call.answer != nil
  }

  /// The provider's last call.
  func shutDownProvider() async {
    let provider = orders.provider
    let call = ProviderCall(shared.alarm) { () -> DeliveryAnswer in
      await provider.shutdown()
      return .verdicts([])
    }
    guard await !waitForEnd(of: call) else { return }
    call.cancel()
    report("shutdown() did not return in \(configuration.closingTime.inWords)", "shutdown")
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

// DeliveryLoop, calls: calls of the provider, and the consequences of its answers.

import Logging
import Weir

extension DeliveryLoop {
  /// Sets the provider up. No other call is made before the setup succeeds.
  func setUp() {
    wasTried = true
    let provider = orders.provider
    guard makeCall("setup()", { try await provider.setup() }) else { return }
    isSetUp = true
    do throws(WeirError) {
      try DurabilityFile.note(provider, of: orders.log.directory, calls: orders.configuration.calls)
    } catch {
      report(error, "the durability's file")
    }
    publish()
  }

  /// Tells the provider of a change of the user, in the change's place among the events.
  func tell(_ change: HeldAssociation) {
    let provider = orders.provider
    let user = change.user.flatMap(preparation.associated)
    let prepared = change.user.flatMap(preparation.prepare)
    let news = prepared.flatMap { keeper.users.isNews($0, at: change.offset) ? $0 : nil }
    let isTold = makeCall(user == nil ? "disassociate()" : "associate(_:)") {
      if let user { try await provider.associate(user) } else { try await provider.disassociate() }
      if let news { try await provider.identify(news) }
    }
    guard isTold else { return queue.putBack(change) }
    if let news { keeper.identified(news, at: change.offset) }
    if !change.isRepeated {
      plan.left(events: 1)
      keeper.told(change)
      span.settle(change.offset, Outcomes(acknowledged: 1), isAssociation: true)
    }
    publish()
  }

  /// Delivers a batch to the provider, and settles the batch.
  func give(_ given: consuming [HeldEvent]) {
    var batch = given
    for index in batch.indices { batch[index].attempts += 1 }
    if !orders.isRedrive {
      // The users of dead letters are not those of today. The offsets of a redrive are those of letters, whose events
      // were noted when they were first delivered.
      keeper.users.mark(&batch)
      attempts.write(FlagNote.notes(of: batch))
    }
    let provider = orders.provider
    var events: [PreparedEvent] = []
    events.reserveCapacity(batch.count)
    for index in batch.indices { events.append(batch[index].prepared) }
    let began = Timestamp.now
    let start = clock.now
    let answer = answer { [meter, events] in
      try await ProcessorMeter.$current.withValue(meter) { try await provider.deliver(events) }
    }
    guard ending != .abandonment else { return }
    let pause = orders.options.budget.pause(after: batch.byteCount, processorTime: meter?.take() ?? .zero)
    quietUntil = max(quietUntil, start + pause)
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

  /// Returns the answer that stands for a cancelled call.
  private func unanswered(_ name: String) -> DeliveryAnswer {
    switch cutShort {
    case .shutdown:
      .cutShort(
        reason: "\(name) was cancelled because "
          + (orders.isRedrive ? "the time for the redrive has passed" : "the dispatcher is shutting down"))
    case .removal, .abandonment: .cutShort(reason: "\(name) was cancelled because delivery to the provider ends")
    case nil:
      .failed(reason: "\(name) did not return within \(orders.options.attemptTimeout.inWords), and was cancelled")
    }
  }

  /// Applies the consequences of an answer.
  private func settle(_ settlement: Settlement) {
    for index in settlement.accepted.indices where settlement.accepted[index].prepared.identifies {
      let event = settlement.accepted[index]
      if let user = event.prepared.context.user { keeper.identified(user, at: event.offset) }
    }
    settle(accepted: settlement.accepted)
    if orders.feed.isHeard { publish(settlement.accepted.filter { !$0.isGap }) { _ in .acknowledged } }
    // A gap is no event of the program, which somebody could want to redrive.
    for rejection in settlement.rejected where rejection.event.isGap {
      settle(rejection.event, rejection.event.outcomes(Outcomes()))
    }
    let rejected = settlement.rejected.filter { !$0.event.isGap }
    let untold = tellOfUsers(of: rejected)
    guard ending != .abandonment else { return }
    let retried = settlement.retried + untold.map { event -> (event: HeldEvent, after: Duration?) in (event, nil) }
    let waiting = Set(untold.map(\.offset))
    bury(rejected.filter { !waiting.contains($0.event.offset) })
    queue.putFirst(settlement.batches)
    // Drawn once, so that events that were delivered together are retried together.
    let random = configuration.random()
    let now = clock.now
    queue.retry(
      retried.map { retried in
        // The event may wait for long, and its neighbours in the log need not wait with it.
        var event = retried.event.decoded
        var wait = event.backoff ?? BackoffState(orders.options.backoff)
        event.notBefore = now + wait.failed(retryAfter: retried.after, random: random)
        // The call had no time for this event, but other events were accepted. That is not a failure, so the waits
        // don't grow.
        let isUntried = retried.after == .zero && !settlement.accepted.isEmpty
        if !isUntried { event.backoff = wait }
        return event
      })
    if let stopped = stopped(by: settlement) {
      judge(stopped)
    } else if untold.isEmpty {
      judge(settlement.health, isDecided: settlement.batches.isEmpty)
    }
    // Otherwise the provider's last answer is the one about a user, which is judged.
    publish()
  }

  /// Tells the provider of the users of rejected events that were to tell of them: no other event of these users may
  /// come. Returns the events whose users could not be told. They are not settled but delivered again, so that neither
  /// a kill nor a restart loses what is known about a user.
  private func tellOfUsers(of rejected: [Settlement.Rejection]) -> [HeldEvent] {
    // Of a user, the latest counts.
    var last: [String: HeldEvent] = [:]
    for event in rejected.map(\.event) where event.prepared.identifies {
      guard let user = event.prepared.context.user, keeper.users.isNews(user, at: event.offset) else { continue }
      last[user.id] = event
    }
    let provider = orders.provider
    var untold: [HeldEvent] = []
    for event in last.values.sorted(by: { $0.offset < $1.offset }) {
      guard let user = event.prepared.context.user else { continue }
      let isTold =
        untold.isEmpty
        && makeCall("identify(_:)", judges: false) {
          // What the provider will never accept must not keep its event.
          do { try await provider.identify(user) } catch is BatchRefused {}
        }
      if !isTold { untold.append(event) }
    }
    return untold
  }

  /// Returns the stop that repeated refusals amount to, or `nil`.
  private func stopped(by settlement: Settlement) -> Settlement.Health? {
    if !settlement.accepted.isEmpty { refusals.accepted() }
    guard let refusal = settlement.refusal, refusals.refused(refusal) else { return nil }
    let reason =
      "the provider never accepted an event, and refused \(refusals.count) events in a row for the same reason "
      + "(\(refusal)); check the address, the format of the requests, and any proxy on the way"
    attempts.write(Attempt(stopped: reason))
    return .stopped(reason: reason)
  }

  /// Applies what an answer shows about the provider itself. A batch that was refused as a whole is not decided: after
  /// a stop, only the parts of the batch can show that the provider accepts events again.
  private func judge(_ health: Settlement.Health, isDecided: Bool = true) {
    switch health {
    case .answered:
      backoff.succeeded()
      let isReachable = breaker.succeeded()
      guard stop == nil || isDecided else { return }
      if stop != nil || isReachable { signal(.reachable) }
      stop = nil
      forgetBackoff()
      clear("provider")
    case .failed(let reason, let after):
      let now = clock.now
      stop = nil
      // The budget counts a failed call too, and may ask for a longer pause.
      quietUntil = max(quietUntil, now + backoff.failed(retryAfter: after, random: configuration.random()))
      breaker.failed(at: now)
      keepBackoff()
      report(reason, "provider")
    case .cutShort(let reason):
      // The call that was kept as a failure is none.
      if backoff.failures > 0 { keepBackoff() }
      report(reason, "provider")
    case .stopped(let reason):
      let line = reason.inOneLine(of: LoggedAttempt.answerBytes)
      let random = configuration.random()
      guard stop == nil else {
        stop?.again(line, at: clock.now, random: random)
        return report("delivery is stopped: \(reason)", "provider")
      }
      stop = StopState(line, orders.options, at: clock.now, random: random)
      // Reported even if failures were reported before.
      troubles["provider"] = nil
      report("delivery is stopped: \(reason)", "provider")
    }
  }

  // MARK: Waiting for a call

  /// Makes a call that returns no verdicts. Returns `false` if the call failed, after applying the consequences. If
  /// `judges` is false, a success is not taken as a sign that the provider accepts events.
  private func makeCall(
    _ name: String, judges: Bool = true, _ body: @escaping @Sendable () async throws -> Void
  ) -> Bool {
    let given = answer {
      try await body()
      return []
    }
    if given == nil, ending == .abandonment { return false }
    switch given {
    case .verdicts:
      // A setup that succeeds says nothing about deliveries that failed before this start.
      if judges, isSetUp || !hasKeptBackoff { judge(.answered) }
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

  /// Makes a call and waits for its answer. If the answer does not come in time, cancels the call and returns `nil`. A
  /// later answer is ignored.
  private func answer(_ body: @escaping @Sendable () async throws -> [Verdict]) -> DeliveryAnswer? {
    // Before the call begins: the process may die in it.
    keepBackoffOfCall()
    let call = ProviderCall(shared.alarm) { await DeliveryAnswer.of(body) }
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

  /// Waits for a call to return. Returns `false` if the call did not return in time.
  func waitForEnd(of call: ProviderCall, _ kind: WorkerCall, until deadline: Duration) -> Bool {
    self.call = kind
    defer { self.call = nil }
    while call.answer == nil, clock.now < deadline, ending != .abandonment {
      rest(until: deadline)
      ending = shared.takeOrders().ending
    }
    return call.answer != nil
  }

  /// Makes the last call of the provider.
  func shutDownProvider(until deadline: Duration) {
    let provider = orders.provider
    let call = ProviderCall(shared.alarm) { () -> DeliveryAnswer in
      await provider.shutdown()
      return .verdicts([])
    }
    guard !waitForEnd(of: call, .inProgress, until: deadline) else { return }
    call.cancel()
    report("shutdown() did not return within the remainder of \(configuration.closingTime.inWords)", "shutdown")
  }
}

extension DeliveryAnswer {
  /// Returns the outcome of a call of a provider.
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

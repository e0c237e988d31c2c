// DeliveryLoop, waiting: keeps the wait after failed tries across restarts.

import Weir

extension DeliveryLoop {
  /// Continues a wait that was kept before a restart.
  func resumeBackoff() {
    guard let kept = backoffFile?.read() else { return }
    hasKeptBackoff = true
    let options = orders.options.backoff
    let wait = kept.remaining(at: configuration.timeOfDay(), options)
    let until = clock.now + wait
    backoff = BackoffState(options, failures: kept.failures)
    breaker = BreakerState(options, failures: kept.breakerFailures, openFor: kept.openFor, until: until)
    quietUntil = until
    guard wait > .zero else { return }
    let tries = kept.failures == 1 ? "the last try" : "the last \(kept.failures) tries"
    report("\(tries) failed before this start; the next try is in \(wait.inWords) at the latest", "provider")
  }

  /// Keeps the wait after a failed try.
  func keepBackoff() {
    keep(backoff, breaker, until: quietUntil)
  }

  /// Keeps the wait that would follow if the call that begins now failed, if the last try failed too. So a process that
  /// dies in each of its calls, before the provider answers, waits longer each time.
  func keepBackoffOfCall() {
    guard backoffFile != nil, backoff.failures > 0 else { return }
    let now = clock.now
    var backoff = backoff
    var breaker = breaker
    let wait = backoff.failed(random: configuration.random())
    breaker.failed(at: now)
    keep(backoff, breaker, until: now + wait)
  }

  /// Forgets the wait, because the provider is reachable.
  func forgetBackoff() {
    change { file throws(WeirError) in try file.remove() }
  }

  private func keep(_ backoff: BackoffState, _ breaker: BreakerState, until quiet: Duration) {
    let now = clock.now
    var wait = quiet - now
    if case .open(let until) = breaker.phase { wait = max(wait, until - now) }
    let kept = KeptBackoff(
      failures: backoff.failures, breakerFailures: breaker.failures, openFor: breaker.lastOpening,
      written: configuration.timeOfDay(), wait: max(wait, .zero))
    change { file throws(WeirError) in try file.write(kept) }
  }

  private func change(_ body: (inout BackoffFile) throws(WeirError) -> Void) {
    guard var file = backoffFile else { return }
    do throws(WeirError) {
      try body(&file)
      clear("the back-off's file")
    } catch {
      report(error, "the back-off's file")
    }
    backoffFile = file
  }
}

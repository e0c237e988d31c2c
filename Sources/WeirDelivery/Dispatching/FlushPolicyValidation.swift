// Validation of delivery options when a provider is added. Errors name the option, its value and its valid range.

import Weir

extension FlushPolicy {
  /// Throws `invalid` if a value of the policy is out of range. `place` is the owner of the policy, as the error text
  /// names it.
  func validate(_ place: String) throws(WeirError) {
    try check(queueLimit >= 1, "\(place).queueLimit", queueLimit, "at least 1")
    try check(deliverySize >= 1, "\(place).deliverySize", deliverySize, "at least 1")
    try check(interval >= .zero, "\(place).interval", interval, "0 or more")
    try check(firstEvents >= 0, "\(place).firstEvents", firstEvents, "0 or more")
    try check(idleAfter >= .zero, "\(place).idleAfter", idleAfter, "0 or more")
    // This form also refuses NaN.
    let isPart = overflowThreshold > 0 && overflowThreshold <= 1
    try check(isPart, "\(place).overflowThreshold", overflowThreshold, "above 0 and at most 1")
    try check(maximumEvents >= 1, "\(place).maximumEvents", maximumEvents, "at least 1")
    try check(maximumBytes >= 1, "\(place).maximumBytes", maximumBytes, "at least 1")
    let unknown = triggers.rawValue & ~FlushPolicy.Triggers.all.rawValue
    try check(unknown == 0, "\(place).triggers", triggers.rawValue, "made of FlushPolicy.Triggers")
  }
}

extension FlushPolicy.Triggers {
  /// All triggers.
  static let all: FlushPolicy.Triggers = [
    .count, .bytes, .interval, .start, .firstEvents, .suspend, .resume, .idle, .reachable, .overflow, .shutdown,
    .demand,
  ]
}

extension DeliveryOptions {
  /// Throws `invalid` if an option of this provider is out of range.
  func validate(for provider: String) throws(WeirError) {
    let place = "the delivery options of \(provider): "
    try flush.validate(place + "flush")
    try check(backoff.least >= .zero, place + "backoff.least", backoff.least, "0 or more")
    try check(backoff.most >= backoff.least, place + "backoff.most", backoff.most, "at least backoff.least")
    try check(backoff.failures >= 1, place + "backoff.failures", backoff.failures, "at least 1")
    try check(backoff.openFor >= .zero, place + "backoff.openFor", backoff.openFor, "0 or more")
    try check(backoff.probeEvents >= 1, place + "backoff.probeEvents", backoff.probeEvents, "at least 1")
    if let window = duplicateWindow {
      try check(window >= .zero, place + "duplicateWindow", window, "0 or more")
    }
    try check(duplicateMemory >= 1, place + "duplicateMemory", duplicateMemory, "at least 1")
    let calls = budget.callsPerSecond ?? 1
    try check(calls > 0 && calls.isFinite, place + "budget.callsPerSecond", calls, "above 0")
    let bytes = budget.bytesPerSecond ?? 1
    try check(bytes >= 1, place + "budget.bytesPerSecond", bytes, "at least 1")
    let time = budget.processorTimePerSecond ?? .seconds(1)
    try check(time > .zero, place + "budget.processorTimePerSecond", time, "above 0")
    for cap in rateCaps {
      try check(cap.most >= 0, place + "rateCaps.most", cap.most, "at least 0")
      try check(cap.per >= .milliseconds(1), place + "rateCaps.per", cap.per, "at least 1 ms")
    }
    try check(userMemory >= 0, place + "userMemory", userMemory, "at least 0")
    try check(attemptTimeout > .zero, place + "attemptTimeout", attemptTimeout, "above 0")
  }
}

private func check(
  _ isRight: Bool, _ what: String, _ value: some Any, _ must: String
) throws(WeirError) {
  guard !isRight else { return }
  throw WeirError(.invalid, "\(what) is \(value); it must be \(must)")
}

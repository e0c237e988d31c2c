// Settlement: the consequences of one call for its events. A pure function.

import Weir

/// The outcome of a call of ``Provider/deliver(_:)``.
enum DeliveryAnswer: Sendable {
  case verdicts([Verdict])
  /// The call threw ``BatchRefused``.
  case refused(reason: String)
  /// The call threw ``DeliveryStopped``.
  case stopped(reason: String)
  /// The call threw another error, or did not return in time. The fate of the events is unknown.
  case failed(reason: String)
  /// The call was cancelled before its time limit, which shows nothing about the provider. The fate of the events is
  /// unknown.
  case cutShort(reason: String)
}

/// The consequences of one call for its events.
struct Settlement: Sendable {
  /// An event that the provider will never accept.
  struct Rejection: Sendable {
    var event: HeldEvent
    var reason: String
  }

  /// Whether the answer shows that the provider is reachable.
  enum Health: Hashable, Sendable {
    /// The provider is reachable: it accepted or decided some events.
    case answered
    /// The provider accepted no events. The next call waits for the back-off, and at least for the time that the
    /// provider asked for.
    case failed(reason: String, retryAfter: Duration?)
    case stopped(reason: String)
    /// The answer shows nothing.
    case cutShort(reason: String)
  }

  /// The events that the provider has stored permanently.
  var accepted: [HeldEvent] = []
  /// The events for the dead-letter log.
  var rejected: [Rejection] = []
  /// The events that are retried individually, with the time that the provider asked for.
  var retried: [(event: HeldEvent, after: Duration?)] = []
  /// The batches that are delivered again unchanged, before anything new: the whole batch, or its halves.
  var batches: [[HeldEvent]] = []
  /// The reason for the refusal of an event that was alone in its call; `nil` if there was none.
  var refusal: String?
  var health = Health.answered

  /// Applies `answer` to `batch`. The attempts of the events already include this call.
  init(_ batch: [HeldEvent], _ answer: DeliveryAnswer) {
    switch answer {
    case .verdicts(let verdicts): judge(batch, verdicts)
    case .refused(let reason): split(batch, reason)
    case .stopped(let reason):
      batches = [batch]
      health = .stopped(reason: reason)
    case .failed(let reason):
      batches = [batch]
      health = .failed(reason: reason, retryAfter: nil)
    case .cutShort(let reason):
      batches = [batch]
      health = .cutShort(reason: reason)
    }
  }

  private mutating func judge(_ batch: [HeldEvent], _ verdicts: [Verdict]) {
    guard verdicts.count == batch.count else {
      batches = [batch]
      let reason = "the provider returned \(verdicts.count) verdicts for \(batch.count) events; all of them are ignored"
      health = .failed(reason: reason, retryAfter: nil)
      return
    }
    if verdicts.allSatisfy({ $0.isAccepted }) {
      accepted = batch
      return
    }
    for (event, verdict) in zip(batch, verdicts) {
      switch verdict {
      case .accepted: accepted.append(event)
      case .rejected(let reason): rejected.append(Rejection(event: event, reason: reason))
      case .retry(let after): retried.append((event, after))
      }
    }
    guard retried.count == batch.count, !batch.isEmpty else { return }
    // No event was decided, so the provider is not called for a while, as after a failed call. But the batch does not
    // come before all other events: if the provider never accepts these events, they would delay the rest for ever.
    let after = retried.compactMap(\.after).max()
    health = .failed(reason: "the provider asked to retry all \(batch.count) events", retryAfter: after)
  }

  private mutating func split(_ batch: [HeldEvent], _ reason: String) {
    guard batch.count > 1 else {
      rejected = batch.map { Rejection(event: $0, reason: reason) }
      refusal = reason
      return
    }
    let middle = batch.count / 2
    batches = [Array(batch[..<middle]), Array(batch[middle...])]
  }
}

extension Verdict {
  fileprivate var isAccepted: Bool { if case .accepted = self { true } else { false } }
}

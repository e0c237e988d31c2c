// Settlement: what the answer to one call makes of its events. A pure function.

import Weir

/// What a call of ``Provider/deliver(_:)`` came to.
enum DeliveryAnswer: Sendable {
  case verdicts([Verdict])
  /// ``BatchRefused``.
  case refused(reason: String)
  /// ``DeliveryStopped``.
  case stopped(reason: String)
  /// Anything else that was thrown, or no answer in time: nobody knows what became of the events.
  case failed(reason: String)
  /// It was cancelled before its time was over, which says nothing of the provider: nobody knows either.
  case cutShort(reason: String)
}

/// What becomes of the events of one call.
struct Settlement: Sendable {
  /// An event that the provider will never take.
  struct Rejection: Sendable {
    var event: HeldEvent
    var reason: String
  }

  /// Whether the provider can be reached, by this answer.
  enum Health: Hashable, Sendable {
    /// It took or decided about some, so it can be reached.
    case answered
    /// It took none: the next call comes after the back-off, and not before so long if it asked for that.
    case failed(reason: String, retryAfter: Duration?)
    case stopped(reason: String)
    /// Nobody knows.
    case cutShort(reason: String)
  }

  /// Those that the provider has for good.
  var accepted: [HeldEvent] = []
  /// Those that go to the dead letters.
  var rejected: [Rejection] = []
  /// Those that are to be given again by themselves, with what the provider asked for.
  var retried: [(event: HeldEvent, after: Duration?)] = []
  /// Batches that are to be given again as they are, before anything new: the whole, or its halves.
  var batches: [[HeldEvent]] = []
  /// Why an event was refused that was alone in its call; nil if none was.
  var refusal: String?
  var health = Health.answered

  /// What `answer` makes of `batch`, whose events have been in one call more.
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
      let reason = "it answered \(verdicts.count) verdicts for \(batch.count) events, so none of them counts"
      health = .failed(reason: reason, retryAfter: nil)
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
    // None was decided, so the provider is left alone for a while, as after a call that failed. But the batch does not
    // come before all others: if these are events that it never takes, they would hold up the rest for ever.
    let after = retried.compactMap(\.after).max()
    health = .failed(reason: "it asked for all \(batch.count) events to be given again", retryAfter: after)
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

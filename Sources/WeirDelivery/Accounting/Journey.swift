// Journey: the steps of one event, from its capture to each provider.

public import Weir
package import WeirContracts

/// The steps of one event through the log, and its outcome at each provider.
///
/// ```swift
/// let journey = try LogDirectory("/var/lib/shop/events").journey(of: id)
/// for step in journey.steps { print(step) }
/// ```
///
/// A journey is read from the files alone, in any process: the log, the violations that an `Inspector` logged, the
/// cursors, the dead letters and the logs of attempts. Events that a live process has settled but not yet recorded on
/// disk are shown as pending. The logs of attempts and of violations are limited in size and best effort: the attempts
/// and flags of an old event may be gone, but ``Outcome/fate`` is always known. Sensitive values are replaced. No
/// provider's message contains credentials.
public struct Journey: Hashable, Sendable {
  /// The event, with sensitive values replaced unless they were requested.
  public var event: StoredEvent

  /// The steps, in order of time. A step whose time is unknown follows the step that made it possible.
  public var steps: [Step]

  /// The outcome at each provider that has a cursor, ordered by the providers' names.
  public var outcomes: [Outcome]

  /// The sources that could not be read, so that parts of the journey may be missing: a line for each log of attempts
  /// or dead-letter log.
  public var unread: [String]

  /// The outcome of an event at one provider.
  public struct Outcome: Hashable, Sendable {
    /// The provider's name.
    public var provider: String
    /// The outcome.
    public var fate: Fate
    /// What the preparation for the provider found, as `EventJSON` writes it: lists of texts under `violations` (fields
    /// and rules), `defaulted` (fields) and `duplicate_of` (ids), without those that are empty. Noted with the event's
    /// first call; a text that was not noted is missing in its list.
    public var flags: FieldObject

    /// Creates an outcome.
    package init(provider: String, fate: Fate, flags: FieldObject = [:]) {
      self.provider = provider
      self.fate = fate
      self.flags = flags
    }
  }

  /// What happened to an event at a provider in the end.
  public enum Fate: Hashable, Sendable {
    /// The provider has stored the event permanently.
    case acknowledged
    /// The provider will never accept the event, for this reason. The event is in the dead letters.
    case rejected(reason: String)
    /// The provider's mapper withheld the event.
    case withheld
    /// The event is not settled yet.
    case pending
    /// The event precedes the place where the provider started.
    case before
  }

  /// One step of an event: a capture, a call of a provider with its answer, a move of a cursor. The description has one
  /// line.
  public struct Step: Hashable, Sendable {
    /// The time of the step, or `nil` if it is unknown.
    public var time: Timestamp?
    /// The provider of the step, or `nil` for a step of the log.
    public var provider: String?
    /// The kind of the step.
    package var what: What

    /// Creates a step.
    package init(time: Timestamp? = nil, provider: String? = nil, what: What) {
      self.time = time
      self.provider = provider
      self.what = what
    }
  }

  /// The kind of a step.
  package enum What: Hashable, Sendable {
    /// A capture accepted the event, in this opening and this lane.
    case captured(opening: UInt64, lane: Int)
    /// The log wrote the event, about refused captures or offsets without events. The event is not the application's.
    /// What providers get of such events is not a part of the journey.
    case noted
    /// An `Inspector` found that the event violates a rule of its contract.
    case violated(LoggedViolation)
    /// The event is still in its lane. The process that captured it is dead, and the next opening moves the event into
    /// a segment.
    case inLane
    /// The event was moved into the log, at this offset, and is now in this file: a raw segment or a batch segment.
    case drained(offset: Offset, file: String, isBatch: Bool)
    /// The event was delivered to the provider.
    case attempted(Attempt)
    /// The provider's mapper withheld the event.
    case withheld
    /// The provider rejected the event, and the event was written to the dead-letter log.
    case rejected(reason: String)
    /// The event was delivered to the provider again from the dead letters. The offsets of the call are the offsets of
    /// the letters.
    case redriven(Attempt)
    /// The event and all events before it were settled, and the provider's cursor moved past the event on disk.
    case settled
  }

  /// A call of a provider with an event.
  package struct Attempt: Hashable, Sendable {
    /// The number of tries of the call's events in a row, including this try.
    package var number: Int
    /// The first offset of the call.
    package var first: Offset
    /// The last offset of the call.
    package var last: Offset
    /// The number of events in the call.
    package var events: Int
    /// The size of these events in the log, in bytes.
    package var bytes: Int
    /// The duration of the call.
    package var duration: Duration
    /// The provider's message, or the error.
    package var answer: String
    /// The result for this event.
    package var result: Result
  }

  /// The result of a call for one event.
  package enum Result: String, Hashable, Sendable {
    /// The provider has stored the event permanently.
    case accepted
    /// The provider will never accept the event.
    case rejected
    /// The event is delivered again.
    case retried
    /// The result is not known any more: the call left more events to retry than were noted.
    case unknown
  }

  /// Creates a journey.
  package init(event: StoredEvent, steps: [Step], outcomes: [Outcome], unread: [String] = []) {
    self.event = event
    self.steps = steps
    self.outcomes = outcomes
    self.unread = unread
  }
}

extension Journey {
  /// The event's id.
  package var id: EventID { event.id }

  /// The event's offset in the log.
  package var offset: Offset { event.offset }
}

extension Journey.Step: CustomStringConvertible {
  /// A line such as `2026-11-21T00:00:00.123456789Z http: attempt 2 of 500 events (17 to 516): accepted: 200 OK`.
  public var description: String {
    let start = time.map { "\($0) " } ?? ""
    return start + (provider.map { "\($0): " } ?? "") + what.description
  }
}

extension Journey.What: CustomStringConvertible {
  package var description: String {
    switch self {
    case .captured(let opening, let lane): "captured in lane \(lane) of opening \(hexadecimal(opening))"
    case .noted: "written by the log itself"
    case .violated(let violation):
      "violates \(violation.contract) \(violation.version): "
        + (violation.field.isEmpty ? "" : "\(violation.field): ") + violation.rule
    case .inLane: "still in its lane: the next opening of the log moves it into a segment"
    case .drained(let offset, let file, let isBatch):
      "drained at offset \(offset), in the \(isBatch ? "batch" : "raw") segment \(file)"
    case .attempted(let attempt): attempt.description
    case .withheld: "withheld by the mapper"
    case .rejected(let reason): "rejected: \(reason)"
    case .redriven(let attempt): "delivered again from the dead letters: \(attempt)"
    case .settled: "settled: the cursor moved past it"
    }
  }

  private func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension Journey.Attempt: CustomStringConvertible {
  package var description: String {
    let batch = events == 1 ? "this event" : "\(events) events (\(first) to \(last))"
    return "attempt \(number) of \(batch), \(duration): \(result.rawValue)" + (answer.isEmpty ? "" : ": \(answer)")
  }
}

extension Journey.Fate: CustomStringConvertible {
  public var description: String {
    switch self {
    case .acknowledged: "acknowledged"
    case .rejected(let reason): "rejected: \(reason)"
    case .withheld: "withheld"
    case .pending: "pending"
    case .before: "before the provider's start"
    }
  }
}

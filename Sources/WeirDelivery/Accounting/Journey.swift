// Journey: the way of one event, from its capture to each provider.

public import Weir

/// The way of one event through the log, and what each provider made of it.
///
/// ```swift
/// let journey = try LogDirectory("/var/lib/shop/events").journey(of: id)
/// for step in journey.steps { print(step) }
/// ```
///
/// Made from the files alone, in any process: the log, the cursors, the dead letters and the logs of attempts. What a
/// live process has settled and not yet noted on the disk shows as pending. The logs of attempts are bounded and best
/// effort: of an old event the attempts may be gone, while ``Outcome`` is always told. Sensitive values are replaced,
/// and nothing that a provider said has credentials in it.
public struct Journey: Hashable, Sendable {
  /// The event, with sensitive values replaced unless they were asked for.
  public var event: StoredEvent

  /// What happened to it, in order of time; steps whose time is not known stand after what made them possible.
  public var steps: [Step]

  /// What became of it, for each provider that there is a cursor of, in the order of their names.
  public var outcomes: [Outcome]

  /// What could not be read and may be missing here, a line each: a log of attempts, the dead letters.
  public var unread: [String]

  /// What became of an event at one provider.
  public struct Outcome: Hashable, Sendable {
    /// The provider's name.
    public var provider: String
    /// What became of it.
    public var fate: Fate

    /// An outcome.
    package init(provider: String, fate: Fate) {
      self.provider = provider
      self.fate = fate
    }
  }

  /// What became of an event.
  public enum Fate: Hashable, Sendable {
    /// The provider has it for good.
    case acknowledged
    /// The provider will never take it, for this reason. It is in the dead letters.
    case rejected(reason: String)
    /// The provider's mapper withheld it.
    case withheld
    /// It is yet to be settled.
    case pending
    /// It lies before the place where the provider began.
    case before
  }

  /// One thing that happened to an event: a capture, a call of a provider with its answer, a move of a cursor. Its
  /// description tells what happened, on one line.
  public struct Step: Hashable, Sendable {
    /// When; nil if nothing tells.
    public var time: Timestamp?
    /// The provider that it concerns; nil for what the log did.
    public var provider: String?
    /// What happened.
    package var what: What

    /// A step.
    package init(time: Timestamp? = nil, provider: String? = nil, what: What) {
      self.time = time
      self.provider = provider
      self.what = what
    }
  }

  /// What happened to an event.
  package enum What: Hashable, Sendable {
    /// A capture accepted it: in this opening, in this lane.
    case captured(opening: UInt64, lane: Int)
    /// It is no event of the application: the log wrote it, about captures that were refused or offsets that no event
    /// has. No provider gets it.
    case noted
    /// It is in its lane still: the process that captured it is dead, and the next opening moves it into a segment.
    case inLane
    /// It was moved into the log, at this offset, and is in this file now, which is a raw segment or a batch segment.
    case drained(offset: Offset, file: String, isBatch: Bool)
    /// It was given to the provider.
    case attempted(Attempt)
    /// The provider's mapper withheld it.
    case withheld
    /// The provider said that it will never take it: it was put among the dead letters.
    case rejected(reason: String)
    /// It was given to the provider again from the dead letters; offsets of the call are those of the letters.
    case redriven(Attempt)
    /// All up to it were settled, and the provider's cursor was moved past it, on the disk.
    case settled
  }

  /// One call of a provider that an event was given in.
  package struct Attempt: Hashable, Sendable {
    /// How often in a row the events of the call had been tried, this time included.
    package var number: Int
    /// The first offset of the call.
    package var first: Offset
    /// The last offset of the call.
    package var last: Offset
    /// How many events were given.
    package var events: Int
    /// Their bytes in the log.
    package var bytes: Int
    /// How long it took.
    package var duration: Duration
    /// What the provider said, or what went wrong.
    package var answer: String
    /// What that meant for this event.
    package var result: Result
  }

  /// What a call of a provider meant for one event.
  package enum Result: String, Hashable, Sendable {
    /// The provider has it for good.
    case accepted
    /// The provider will never take it.
    case rejected
    /// It is given again.
    case retried
    /// It is not known any more: the call left more to give again than was noted.
    case unknown
  }

  /// A journey of these.
  package init(event: StoredEvent, steps: [Step], outcomes: [Outcome], unread: [String] = []) {
    self.event = event
    self.steps = steps
    self.outcomes = outcomes
    self.unread = unread
  }
}

extension Journey {
  /// The event's identity.
  package var id: EventID { event.id }

  /// The event's number in the log.
  package var offset: Offset { event.offset }
}

extension Journey.Step: CustomStringConvertible {
  /// One line, such as `2026-11-21T00:00:00.123456789Z http: attempt 2 of 500 events (17 to 516): accepted: 200 OK`.
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
    case .inLane: "in its lane still: the next opening of the log moves it into a segment"
    case .drained(let offset, let file, let isBatch):
      "drained at offset \(offset), in the \(isBatch ? "batch" : "raw") segment \(file)"
    case .attempted(let attempt): attempt.description
    case .withheld: "withheld by the mapper"
    case .rejected(let reason): "rejected: \(reason)"
    case .redriven(let attempt): "given again from the dead letters: \(attempt)"
    case .settled: "settled: the cursor was moved past it"
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
    case .before: "before its beginning"
    }
  }
}

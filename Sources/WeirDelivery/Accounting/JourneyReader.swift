// JourneyReader: finds an event and its steps in a log's files.

public import Weir
import WeirContracts

extension LogDirectory {
  /// Returns the journey of the event with this id.
  ///
  /// ```swift
  /// let journey = try LogDirectory("/var/lib/shop/events").journey(of: EventID("9f0c…")!)
  /// print(journey.outcomes)
  /// ```
  ///
  /// Throws `missing` if the log has no such event, or if the event is not drained yet, and what ``EventReader``
  /// throws. Writes nothing and takes no lock, so it may be called beside any process.
  ///
  /// Sensitive values are replaced unless `showsSensitive` is `true`. The log has no index of ids. So this reads the
  /// log's events up to the event, without decoding them: ten to twenty million events a second.
  /// ``journey(at:showsSensitive:)`` reads only one block. Both then read the logs of attempts and the dead letters.
  public func journey(of id: EventID, showsSensitive: Bool = false) throws(WeirError) -> Journey {
    try JourneyReader(self, try event(with: id)).journey(showsSensitive: showsSensitive)
  }

  /// Returns the journey of the event at this offset, like ``journey(of:showsSensitive:)``, but faster.
  public func journey(at offset: Offset, showsSensitive: Bool = false) throws(WeirError) -> Journey {
    let reader = try EventReader(directory: path, from: offset)
    guard let event = try reader.next(), event.offset == offset else { throw missing("event at offset \(offset)") }
    return try JourneyReader(self, event).journey(showsSensitive: showsSensitive)
  }

  /// Returns the event with this id.
  ///
  /// Throws `missing` if the log has no such event, and what ``EventReader`` throws.
  func event(with id: EventID) throws(WeirError) -> StoredEvent {
    guard let event = try EventReader(directory: path).next(where: id) else { throw missing("event \(id)") }
    return event
  }

  /// Returns the outcomes of an event, which need not be in the log any more. Unlike in a journey, an event that the
  /// provider accepted counts as acknowledged before the cursor has passed the event.
  func outcomes(of event: StoredEvent) throws(WeirError) -> [Journey.Outcome] {
    guard !event.isNotice else { return [] }
    var reader = JourneyReader(self, event)
    reader.countsAccepted = true
    try reader.readProviders()
    return reader.outcomes
  }

  private func missing(_ event: String) -> WeirError {
    WeirError(
      .missing, "\(path) has no \(event): the event is not drained yet, was removed by retention, or is damaged",
      path: path)
  }
}

/// Builds the journey of one event.
private struct JourneyReader {
  private let log: LogDirectory
  private let event: StoredEvent
  private let calls = SystemCalls()
  private var steps: [Journey.Step] = []
  fileprivate private(set) var outcomes: [Journey.Outcome] = []
  private var unread: [String] = []
  /// Whether an accepted event counts as acknowledged although the cursor has not passed the event.
  fileprivate var countsAccepted = false

  init(_ log: LogDirectory, _ event: StoredEvent) {
    self.log = log
    self.event = event
  }

  func journey(showsSensitive: Bool) throws(WeirError) -> Journey {
    var reader = self
    try reader.readLog()
    if !event.isNotice {
      reader.readViolations()
      try reader.readProviders()
    }
    return Journey(
      event: showsSensitive ? event : event.redacted(), steps: reader.steps, outcomes: reader.outcomes,
      unread: reader.unread)
  }

  // MARK: The log

  private mutating func readLog() throws(WeirError) {
    let lane = Int(event.id.sequence >> 48)
    steps.append(
      Journey.Step(
        time: event.time, what: event.isNotice ? .noted : .captured(opening: event.id.opening, lane: lane)))
    guard try isInSegment else { return steps.append(Journey.Step(what: .inLane)) }
    guard let segment = try segment() else { return }
    steps.append(
      Journey.Step(what: .drained(offset: event.offset, file: segment, isBatch: segment.hasSuffix(Self.batchSuffix))))
  }

  /// Whether the event is in a segment. In a dead process's log, the reader also returns events in lanes, with their
  /// future offsets.
  private var isInSegment: Bool {
    get throws(WeirError) {
      let reader = try EventReader(directory: log.path, from: event.offset, includeLanes: false)
      return try reader.next()?.offset == event.offset
    }
  }

  private static let digits = 20
  private static let suffixes = [".weir", ".weir.active", batchSuffix]
  private static let batchSuffix = ".weir.lz4"

  /// Returns the file that contains the event: the file with the greatest first offset that is not above the event's
  /// offset. Returns `nil` if the file was renamed while the names were read.
  private func segment() throws(WeirError) -> String? {
    var best: (base: Offset, name: String)?
    for name in try calls.names(in: try calls.openDirectory(log.path)) {
      guard Self.suffixes.contains(String(name.dropFirst(Self.digits))), let base = Offset(name.prefix(Self.digits)),
        base <= event.offset, base >= best?.base ?? 0
      else { continue }
      // Just after a batch segment is finished, the raw segment also exists, and readers use the raw segment.
      if base == best?.base, name.hasSuffix(Self.batchSuffix) { continue }
      best = (base, name)
    }
    return best?.name
  }

  // MARK: Inspection

  /// After a kill, the inspection repeats violations.
  private mutating func readViolations() {
    var found: [Journey.Step] = []
    let id = event.id
    readAll(LoggedViolation.directory(in: log.path), "the violations") { stored in
      guard let violation = try? LoggedViolation(stored), violation.id == id,
        !found.contains(where: { $0.what == .violated(violation) })
      else { return }
      found.append(Journey.Step(time: stored.time, what: .violated(violation)))
    }
    steps += found
  }

  // MARK: Providers

  fileprivate mutating func readProviders() throws(WeirError) {
    let directory = try calls.openDirectory(log.path)
    var names: Set<String> = []
    for place in [Cursor.directoryName, AttemptLog.directoryName, DeadLetter.directoryName] {
      names.formUnion(try calls.names(in: place, of: directory).filter(Cursor.isProviderName))
    }
    var providersSteps: [Journey.Step] = []
    for name in names.sorted() {
      var notes = attempts(of: name)
      let letters = deadLetters(of: name, &notes)
      let (fate, isSettled) = fate(at: name, notes, letters)
      providersSteps += notes.steps + letters
      // An event before the place where the provider started was below the cursor from the beginning.
      if isSettled, let time = notes.settledAt {
        providersSteps.append(Journey.Step(time: time, provider: name, what: .settled))
      }
      if let fate { outcomes.append(Journey.Outcome(provider: name, fate: fate, flags: notes.flags)) }
    }
    // Steps with equal times keep their order.
    let sorted = providersSteps.enumerated().sorted { left, right in
      let (leftTime, rightTime) = (left.element.time ?? event.time, right.element.time ?? event.time)
      return (leftTime, left.offset) < (rightTime, right.offset)
    }
    steps += sorted.map(\.element)
  }

  /// Returns what happened to the event at a provider, and whether the cursor has passed the event. The fate is `nil`
  /// for a provider that was removed and neither rejected nor withheld the event.
  private mutating func fate(
    at name: String, _ notes: Notes, _ letters: [Journey.Step]
  ) -> (Journey.Fate?, isSettled: Bool) {
    var position: CursorPosition?
    do throws(WeirError) {
      switch try Cursor.read(name, of: log.path, calls: calls) {
      case .position(let found): position = found
      case .nothing: break
      case .damaged: unread.append("the cursor of \(name) is damaged")
      }
    } catch {
      unread.append(error.message)
    }
    // An event before the place to which the provider was rewound was settled before the rewind.
    let isBefore = event.offset < position?.counts?.firstFrom ?? 0
    let isSettled = event.offset < position?.offset ?? 0 && !isBefore
    // After a rewind, an event from before the rewind comes again, whatever the provider answered then. The ledger says
    // so too.
    if let position, let counts = position.counts, counts.rewinds > 0, event.offset >= position.offset,
      event.offset < counts.rewound
    {
      return (.pending, false)
    }
    // The provider may have accepted the event after rejecting it: the event was delivered again by a redrive or after
    // a kill.
    if case .rejected(let reason)? = letters.last?.what, !notes.isRedriven,
      !notes.isAcceptedAfter(letters.last?.time)
    {
      return (.rejected(reason: reason), isSettled)
    }
    if let time = notes.withheldAt, !notes.isAcceptedAfter(time) { return (.withheld, isSettled) }
    guard position != nil else { return (nil, false) }
    // Not an earlier attempt: after a power cut, the offset may be another event's.
    let isAccepted = isSettled || countsAccepted && notes.isAcceptedAfter(event.time)
    return (isBefore ? .before : isAccepted ? .acknowledged : .pending, isSettled)
  }

  /// The notes about the event in a provider's log of attempts.
  private struct Notes {
    var steps: [Journey.Step] = []
    /// When the event was withheld the last time.
    var withheldAt: Timestamp?
    /// Whether a redrive had the event's last letter accepted.
    var isRedriven = false
    var settledAt: Timestamp?
    /// The texts of the event's flags, by flag.
    private var texts: [String: [String]] = [:]

    /// The flags in the order in which events have them.
    var flags: FieldObject {
      FieldObject(
        DeliveryOptions.Annotations.names.compactMap { name, _ in
          texts[name].map { FieldObject.Member(name: name, value: .array($0.map { .string($0) })) }
        })
    }

    mutating func add(_ note: FlagNote) {
      var known = texts[note.flag] ?? []
      if !note.text.isEmpty, !known.contains(note.text) { known.append(note.text) }
      texts[note.flag] = known
    }

    func isAcceptedAfter(_ time: Timestamp?) -> Bool {
      steps.contains { step in
        switch step.what {
        case .attempted(let attempt), .redriven(let attempt):
          let never = Timestamp(nanosecondsSince1970: .min)
          return attempt.result == .accepted && step.time ?? never > time ?? never
        default: return false
        }
      }
    }
  }

  private mutating func attempts(of name: String) -> Notes {
    var notes = Notes()
    let offset = event.offset
    readAll(AttemptLog.path(in: log.path, provider: name), "the attempts of \(name)") { stored in
      // A note that can't be read is from another version.
      guard let note = try? LoggedAttempt(stored) else { return }
      switch note {
      case .attempt(let call):
        guard let attempt = Journey.Attempt(call, of: offset) else { return }
        notes.steps.append(Journey.Step(time: call.began, provider: name, what: .attempted(attempt)))
      case .withheld(offset):
        notes.withheldAt = stored.time
        notes.steps.append(Journey.Step(time: stored.time, provider: name, what: .withheld))
      case .flagged(let note):
        if note.at.contains(offset) == true { notes.add(note) }
      case .settled(let end):
        if end > offset, notes.settledAt == nil { notes.settledAt = stored.time }
      case .withheld: break
      }
    }
    return notes
  }

  /// Returns the event's letters. Adds their redrives, whose attempts are in the letters' directory.
  private mutating func deadLetters(of name: String, _ notes: inout Notes) -> [Journey.Step] {
    var steps: [Journey.Step] = []
    var offsets: [Offset] = []
    let id = event.id
    var joiner = DeadLetterJoiner()
    let letters = DeadLetter.path(of: name, in: log.path)
    readAll(letters, "the dead letters of \(name)") { stored in
      guard let letter = joiner.take(stored), letter.event.id == id else { return }
      let reason = letter.reason.inOneLine(of: LoggedAttempt.answerBytes)
      steps.append(Journey.Step(time: stored.time, provider: name, what: .rejected(reason: reason)))
      offsets.append(stored.offset)
    }
    guard let last = offsets.last else { return steps }
    notes.isRedriven = AcceptedLetters(of: name, in: log.path).contains(last)
    readAll(AttemptLog.path(in: letters, provider: name), "the redrives of \(name)") { stored in
      guard case .attempt(let call)? = try? LoggedAttempt(stored) else { return }
      for attempt in offsets.compactMap({ Journey.Attempt(call, of: $0) }) {
        notes.steps.append(Journey.Step(time: call.began, provider: name, what: .redriven(attempt)))
      }
    }
    return steps
  }

  /// Reads a log beside this log. A missing log has no events. A log that can't be read does not make the journey fail.
  private mutating func readAll(_ path: String, _ what: String, _ body: (StoredEvent) -> Void) {
    do throws(WeirError) {
      let reader = try EventReader(directory: path)
      while let stored = try reader.next() { body(stored) }
      let damaged = reader.skipped.filter { !$0.isRemoval }.reduce(0) { $0 + $1.count }
      if damaged > 0 { unread.append("\(what): \(damaged) events can't be read") }
    } catch {
      if error.code != .missing { unread.append("\(what) can't be read: \(error.message)") }
    }
  }
}

extension Journey.Attempt {
  /// Creates an attempt from a call, for the event at this offset. Returns `nil` if the event was not in the call.
  fileprivate init?(_ call: LoggedAttempt.Call, of offset: Offset) {
    guard call.first <= offset, offset <= call.last else { return nil }
    let isGiven = call.given.contains(offset)
    guard isGiven != false else { return nil }
    number = Int(clamping: call.number)
    first = call.first
    last = call.last
    events = Int(clamping: call.events)
    bytes = Int(clamping: call.bytes)
    duration = .nanoseconds(Int64(clamping: call.nanoseconds))
    answer = call.answer
    result =
      switch (isGiven, call.rejected.contains(offset), call.retried.contains(offset)) {
      case (_, true, _): .rejected
      case (_, _, true): .retried
      case (true, false, false): call.outcome == Attempt.Outcome.verdicts.rawValue ? .accepted : .retried
      default: .unknown
      }
  }
}

// JourneyReader: finds an event in a log's files, and what became of it.

public import Weir

extension LogDirectory {
  /// The way of the event with this identity.
  ///
  /// ```swift
  /// let journey = try LogDirectory("/var/lib/shop/events").journey(of: EventID("9f0c…")!)
  /// print(journey.outcomes)
  /// ```
  ///
  /// Throws a ``WeirError``: `missing` if the log has no such event, or none that is drained yet, and what
  /// ``EventReader`` throws. Writes nothing and takes no lock, so it may be called beside any process.
  ///
  /// Sensitive values are replaced unless `showsSensitive` is true. Nothing in the log's files tells where an identity
  /// lies, so this goes over the log's events up to it, without decoding them: ten or twenty millions a second.
  /// ``journey(at:showsSensitive:)`` reads one block. Both go over the logs of attempts and dead letters after that.
  public func journey(of id: EventID, showsSensitive: Bool = false) throws(WeirError) -> Journey {
    let reader = try EventReader(directory: path)
    guard let event = try reader.next(where: id) else { throw missing("event \(id)") }
    return try JourneyReader(self, event).journey(showsSensitive: showsSensitive)
  }

  /// The way of the event at this offset: as ``journey(of:showsSensitive:)``, and sooner found.
  public func journey(at offset: Offset, showsSensitive: Bool = false) throws(WeirError) -> Journey {
    let reader = try EventReader(directory: path, from: offset)
    guard let event = try reader.next(), event.offset == offset else { throw missing("event at offset \(offset)") }
    return try JourneyReader(self, event).journey(showsSensitive: showsSensitive)
  }

  private func missing(_ event: String) -> WeirError {
    WeirError(
      .missing, "\(path) has no \(event): it is not drained yet, was removed by retention, or is damaged", path: path)
  }
}

/// Puts together the journey of one event.
private struct JourneyReader {
  private let log: LogDirectory
  private let event: StoredEvent
  private let calls = SystemCalls()
  private var steps: [Journey.Step] = []
  private var outcomes: [Journey.Outcome] = []
  private var unread: [String] = []

  init(_ log: LogDirectory, _ event: StoredEvent) {
    self.log = log
    self.event = event
  }

  func journey(showsSensitive: Bool) throws(WeirError) -> Journey {
    var reader = self
    try reader.readLog()
    if !event.isNotice { try reader.readProviders() }
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

  /// Of a dead process's log the reader gives what is in the lanes, too, with the offsets that it will have.
  private var isInSegment: Bool {
    get throws(WeirError) {
      let reader = try EventReader(directory: log.path, from: event.offset, includeLanes: false)
      return try reader.next()?.offset == event.offset
    }
  }

  private static let digits = 20
  private static let suffixes = [".weir", ".weir.active", batchSuffix]
  private static let batchSuffix = ".weir.lz4"

  /// The file that the event is in: the one with the greatest first offset that is not beyond it. Nil if it was renamed
  /// while the names were read.
  private func segment() throws(WeirError) -> String? {
    var best: (base: Offset, name: String)?
    for name in try calls.names(in: try calls.openDirectory(log.path)) {
      guard Self.suffixes.contains(String(name.dropFirst(Self.digits))), let base = Offset(name.prefix(Self.digits)),
        base <= event.offset, base >= best?.base ?? 0
      else { continue }
      // Where a batch segment is just finished the raw one is there too, and is what readers take.
      if base == best?.base, name.hasSuffix(Self.batchSuffix) { continue }
      best = (base, name)
    }
    return best?.name
  }

  // MARK: Providers

  private mutating func readProviders() throws(WeirError) {
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
      // Below the place where a provider began the cursor stood from its first day.
      if isSettled, let time = notes.settledAt {
        providersSteps.append(Journey.Step(time: time, provider: name, what: .settled))
      }
      if let fate { outcomes.append(Journey.Outcome(provider: name, fate: fate)) }
    }
    // Equal times stay in their order.
    let sorted = providersSteps.enumerated().sorted { left, right in
      let (leftTime, rightTime) = (left.element.time ?? event.time, right.element.time ?? event.time)
      return (leftTime, left.offset) < (rightTime, right.offset)
    }
    steps += sorted.map(\.element)
  }

  /// What became of the event, and whether the cursor has passed it; nil for a provider that was removed and had
  /// nothing against it.
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
    let isBefore = event.offset < position?.counts?.from ?? 0
    let isSettled = event.offset < position?.offset ?? 0 && !isBefore
    // It may have been accepted after a rejection: it was given again, by a redrive or because of a kill.
    if case .rejected(let reason)? = letters.last?.what, !notes.isRedriven,
      !notes.isAcceptedAfter(letters.last?.time)
    {
      return (.rejected(reason: reason), isSettled)
    }
    if notes.isWithheld { return (.withheld, isSettled) }
    guard position != nil else { return (nil, false) }
    return (isBefore ? .before : isSettled ? .acknowledged : .pending, isSettled)
  }

  /// What a provider's log of attempts says about the event.
  private struct Notes {
    var steps: [Journey.Step] = []
    var isWithheld = false
    /// Its last letter was accepted in a redrive.
    var isRedriven = false
    var settledAt: Timestamp?

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
      // What can't be read as a note is of another version.
      guard let note = try? LoggedAttempt(stored) else { return }
      switch note {
      case .attempt(let call):
        guard let attempt = Journey.Attempt(call, of: offset) else { return }
        notes.steps.append(Journey.Step(time: call.began, provider: name, what: .attempted(attempt)))
      case .withheld(offset):
        notes.isWithheld = true
        notes.steps.append(Journey.Step(time: stored.time, provider: name, what: .withheld))
      case .settled(let end):
        if end > offset, notes.settledAt == nil { notes.settledAt = stored.time }
      case .withheld: break
      }
    }
    return notes
  }

  /// Its letters, and what became of them in a redrive, which has attempts of its own in the letters' directory.
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

  /// Goes over a log beside this one. One that is not there has nothing in it; one that can't be read is no reason to
  /// tell nothing at all.
  private mutating func readAll(_ path: String, _ what: String, _ body: (StoredEvent) -> Void) {
    do throws(WeirError) {
      let reader = try EventReader(directory: path)
      while let stored = try reader.next() { body(stored) }
      let damaged = reader.skipped.filter { !$0.isRemoval }.reduce(0) { $0 + $1.count }
      if damaged > 0 { unread.append("\(what): \(damaged) can't be read") }
    } catch {
      if error.code != .missing { unread.append("\(what) can't be read: \(error.message)") }
    }
  }
}

extension Journey.Attempt {
  /// The call as the event at this offset sees it; nil if it was not in it.
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

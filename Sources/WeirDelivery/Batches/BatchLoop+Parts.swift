// BatchLoop, parts: delivers parts of a log, as a broker's messages, whether their segments are sealed or not.

import Weir

/// The parts of a log that were cut, and what comes after them. Belongs to the loop of one provider.
struct PartQueue {
  private let directory: String
  private var cutter: LogCutter?
  /// Where the cutter goes on.
  private var position: Offset = 0
  /// The bytes of the last full part, divided by its events.
  private var bytesAnEvent = 24.0
  /// The most bytes of the next call: half of the last call after a failure, twice as many after a success, as TCP's
  /// window (Jacobson 1988). Many hosts that come back together soon send no more than the broker can answer in time.
  private var callBytes = Int.max
  /// No failure makes a call smaller.
  private static let leastCallBytes = 16 << 10

  init(_ directory: String) {
    self.directory = directory
  }

  /// What lies at a position.
  enum Found {
    /// Parts that follow on one another, and whether more events follow them.
    case parts([LogPart], more: Bool)
    /// No file has the offsets below this one.
    case gap(until: Offset)
    case nothing
  }

  /// Whether so many events fill a part.
  func isFull(_ events: UInt64, _ provider: any PartProvider) -> Bool {
    Double(events) * bytesAnEvent >= Double(provider.largestPart)
  }

  /// Makes the next call open the files again.
  mutating func forget() {
    cutter = nil
  }

  /// Notes how a call with so many bytes ended.
  mutating func called(with bytes: Int, isDone: Bool) {
    let more = callBytes > .max / 2 ? .max : callBytes * 2
    callBytes = isDone ? more : max(min(callBytes, bytes) / 2, Self.leastCallBytes)
  }

  /// Cuts the next parts, so many that they have at least `mostBytes` together, or less after failures, if there are so
  /// many.
  mutating func next(
    at offset: Offset, for provider: any PartProvider, mostBytes: Int
  ) throws(WeirError) -> Found {
    do throws(WeirError) {
      if cutter == nil || position != offset {
        cutter = try LogCutter(directory: directory, from: offset)
        position = offset
      }
      return try cut(provider, min(mostBytes, callBytes))
    } catch {
      forget()
      throw error
    }
  }

  private mutating func cut(_ provider: any PartProvider, _ mostBytes: Int) throws(WeirError) -> Found {
    var parts: [LogPart] = []
    var bytes = 0
    while let cutter, bytes < mostBytes {
      let most = min(max(min(provider.largestPart, callBytes), LogCutter.leastBytes), LogCutter.mostBytes)
      switch try cutter.next(atMost: most) {
      case .part(let part):
        // A gap before the part is told by the position.
        guard part.summary.offsets.lowerBound == position else {
          let start = part.summary.offsets.lowerBound
          forget()
          return parts.isEmpty ? .gap(until: start) : .parts(parts, more: true)
        }
        parts.append(part)
        position = part.summary.offsets.upperBound
        bytes += part.bytes.count
        let events = part.summary.offsets.count
        if part.bytes.count > most / 2, events > 0 { bytesAnEvent = Double(part.bytes.count) / Double(events) }
      // The next part says where the log goes on.
      case .skip: break
      case .end: return parts.isEmpty ? .nothing : .parts(parts, more: false)
      }
    }
    return .parts(parts, more: true)
  }
}

extension BatchLoop {
  /// Gives the next parts, if there are any that are due.
  func deliverParts(_ provider: any PartProvider) throws(WeirError) {
    let end = orders.log.nextOffset
    if let end {
      // In the process that captures, nothing is cut before it is due.
      guard end > max(span.position, seenEnd) else { return caughtUp(with: end) }
      noteUnsealed(upTo: end)
      guard isDue() || parts.isFull(end - span.position, provider) else { return waitUntilDue() }
    }
    // A budget is not spent in one call.
    let budget = orders.options.budget.bytesPerSecond ?? .max
    let mostBytes = min(provider.bytesAtOnce, max(provider.largestPart, budget))
    switch try parts.next(at: span.position, for: provider, mostBytes: mostBytes) {
    case .gap(let until):
      gapFrom = gapFrom ?? span.position
      try passOver(upTo: until)
    case .nothing:
      if let end { return caughtUp(with: end) }
      try caughtUpWithOthers()
    case .parts(var cut, let more):
      if let gapFrom { cut[0].follows = min(gapFrom, cut[0].follows) }
      if end == nil, !more, let last = cut.last {
        noteUnsealed(upTo: last.summary.offsets.upperBound)
        guard isAsked || isDue() || cut.count > 1 else {
          parts.forget()
          return waitUntilDue()
        }
      }
      pause = configuration.firstPause
      try describe(&cut, more: more)
      try give(cut, to: provider)
      if !more { unsealed = nil }
    }
  }

  /// Says in each part where the delivery began, and what is behind the part.
  private func describe(_ cut: inout [LogPart], more: Bool) throws(WeirError) {
    guard let last = cut.last?.summary.offsets.upperBound else { return }
    var logEnd = orders.log.nextOffset ?? last
    if orders.log.nextOffset == nil, more {
      // Counting reads all seals.
      if clock.now >= endOfOthers.next {
        endOfOthers = (try LogDirectory(orders.log.directory).tally(from: .max).nextOffset, clock.now + .seconds(5))
      }
      logEnd = max(last, endOfOthers.offset)
    }
    for index in cut.indices {
      cut[index].start = span.counts.from
      cut[index].pending = UInt64(max(logEnd, last) - cut[index].summary.offsets.upperBound)
    }
  }

  /// Everything that the files have was given.
  private func caughtUp(with end: Offset) {
    unsealed = nil
    flushTarget = nil
    writerAwaited = nil
    seenEnd = max(seenEnd, end)
    lookLater(at: clock.now)
  }

  /// The same beside another process. What a dead process left in its lanes waits for the next opening.
  private func caughtUpWithOthers() throws(WeirError) {
    unsealed = nil
    lookLater(at: clock.now)
    guard isAsked else { return }
    let tally = try LogDirectory(orders.log.directory).tally(from: span.position)
    isAsked = false
    writerAwaited = tally.pending > 0 ? ordersTaken : nil
    if writerAwaited == nil { seenEnd = max(seenEnd, tally.nextOffset) }
  }

  private func noteUnsealed(upTo end: Offset) {
    let now = clock.now
    let first = unsealed?.first ?? now
    let last = unsealed?.end == end ? unsealed?.last ?? now : now
    unsealed = (first, last, end)
  }

  private func isDue() -> Bool {
    if let flushTarget, flushTarget > span.position { return true }
    return sealTime.map { $0 <= clock.now } ?? false
  }

  private func waitUntilDue() {
    lookLater(at: clock.now)
    if let due = sealTime { nextLook = min(nextLook, due) }
  }

  /// Gives parts to the provider, and settles those that it has.
  private func give(_ cut: [LogPart], to provider: any PartProvider) throws(WeirError) {
    guard let first = cut.first?.summary, let last = cut.last?.summary else { return }
    attemptsOfSegment += 1
    let bytes = cut.reduce(0) { $0 + $1.bytes.count }
    let began = Timestamp.now
    let start = clock.now
    let given = answer { try await provider.deliver(cut) }
    guard ending != .abandonment else { return }
    quietUntil = max(quietUntil, start + orders.options.budget.pause(after: bytes))
    let offsets = first.offsets.lowerBound..<last.offsets.upperBound
    let events = cut.reduce(0) { $0 + $1.summary.events }
    parts.called(with: bytes, isDone: given?.isWhole ?? false)
    note(offsets, settledBy: given, cut, events: events, bytes: bytes, began, clock.now - start)
    switch given {
    case .verdicts(let verdicts): try apply(verdicts, to: cut)
    case .stopped(let reason): stopped(reason)
    case .refused(let reason), .failed(let reason): failed(reason)
    case .cutShort(let reason): report(reason, "provider")
    case nil: unanswered("deliver(_:)")
    }
    publish()
  }

  /// Settles the parts up to the first one that is to come again.
  private func apply(_ verdicts: [Verdict], to cut: [LogPart]) throws(WeirError) {
    guard verdicts.count == cut.count else {
      return failed("the provider returned \(verdicts.count) verdicts for \(cut.count) parts")
    }
    for (part, verdict) in zip(cut, verdicts) {
      switch verdict {
      case .accepted:
        succeeded()
        accept(part)
      case .rejected(let reason):
        succeeded()
        // Nobody is to wait for a part that never comes.
        gapFrom = gapFrom ?? part.summary.offsets.lowerBound
        try bury(upTo: part.summary.offsets.upperBound, reason)
      case .retry(let after):
        let first = part.summary.offsets.lowerBound
        return failed("the provider asked to retry the events from offset \(first) on", retryAfter: after)
      }
    }
  }

  private func accept(_ part: LogPart) {
    let summary = part.summary
    guard span.position == summary.offsets.lowerBound else { return }
    var outcomes = Outcomes(overwritten: summary.overwritten, inHoles: summary.inHoles)
    outcomes.acknowledged = summary.events
    span.passed(upTo: summary.offsets.upperBound, outcomes)
    gapFrom = nil
    attemptsOfSegment = 0
  }

  private func note(
    _ offsets: Range<Offset>, settledBy answer: DeliveryAnswer?, _ cut: [LogPart], events: UInt64, bytes: Int,
    _ began: Timestamp, _ took: Duration
  ) {
    var (outcome, text) = answer.noted
    var rejected: [Range<Offset>] = []
    var retried = offsets
    if case .verdicts(let verdicts)? = answer {
      for (part, verdict) in zip(cut, verdicts) {
        if case .retry = verdict { break }
        retried = part.summary.offsets.upperBound..<offsets.upperBound
        guard case .rejected(let reason) = verdict else { continue }
        text = reason
        rejected.append(part.summary.offsets)
      }
    }
    noteCall(
      offsets, events: events, bytes: bytes, began, took, outcome, text, rejected: OffsetRanges(ranges: rejected),
      retried: OffsetRanges(all: retried))
  }
}

extension DeliveryAnswer {
  /// Whether nothing is to come again.
  fileprivate var isWhole: Bool {
    guard case .verdicts(let verdicts) = self else { return false }
    return verdicts.allSatisfy { if case .retry = $0 { false } else { true } }
  }
}

// DeliveryLoop, reading: moves events from the log into the queue.

import Weir

extension DeliveryLoop {
  /// Reads new events, as many as the policy allows to be held, of a limited number of offsets. However few of the
  /// events the provider gets, its orders are taken, its cursor moves and its held events leave in between.
  func read() {
    hasMore = false
    guard ending != .removal, ending != .abandonment, isReading, clock.now >= nextRead else { return }
    guard reader.mayHaveMore(after: span.end, orders.log) else { return reachedEnd() }
    // Read once: the events that are read together come at the same time.
    let now = clock.now
    do throws(WeirError) {
      let limit = span.end + max(Self.mostRead, Offset(orders.options.flush.maximumEvents))
      while isReading {
        guard span.end < limit else {
          hasMore = true
          plan.hasMore()
          break
        }
        switch try reader.next(from: span.end) {
        case .events(let block, let place): reader.took(take(block, from: place, at: now))
        case .skip(let skip): try passOver(skip)
        case .end: return reachedEnd()
        }
        pause = configuration.firstPause
      }
      clear("reading")
    } catch {
      isAtEnd = false
      reader.forget()
      report(error, "reading")
      nextRead = clock.now + Self.pauseAfterError
    }
  }

  /// Waits for new events in the log, until `time` at most.
  ///
  /// If this process captures, the drainer wakes the worker. A worker that holds no events does nothing until then, and
  /// a worker that holds events checks for signals meanwhile.
  func waitForNews(until time: Duration?) {
    let isLong = isAtEnd && nextRead > clock.now + Self.shortPause
    switch isLong ? orders.log.arm(shared.alarm, after: max(span.end, reader.seenEnd)) : .untold {
    case .untold: waitForOthers(until: time, isLong: isLong)
    case .there: readSoon()
    case .armed:
      let isHolding = span.open > 0 || span.openNotices > 0
      wait(until: least(time, isHolding ? nextRead : nil, isHeldUpByOthers ? nextRelease : nil))
      if orders.log.disarm(shared.alarm) { readSoon() }
    }
  }

  /// Waits for the events of another process. The worker checks from time to time, and the system ends a long pause
  /// when the writer continues.
  private func waitForOthers(until time: Duration?, isLong: Bool) {
    var watch: DescriptorWatch?
    if isLong, clock.isMachines, let look = reader.nextLook() {
      // The descriptor has just been made: what happened before is for one more check to find.
      guard look.pause > .zero else {
        nextRead = .zero
        return
      }
      watch = look.descriptor.flatMap { reader.watch($0, rings: shared.alarm) }
    }
    wait(until: least(time, nextRead))
    if watch?.hasRung == true { readSoon() }
  }

  private static var shortPause: Duration { .milliseconds(50) }

  private func readSoon() {
    nextRead = .zero
    pause = configuration.firstPause
  }

  /// Whether there is room for more events.
  var isReading: Bool { !plan.isFull && !queue.isHeldUp && !isBurialHeldUp }

  private static var pauseAfterError: Duration { .seconds(1) }

  /// Reading as many takes a fraction of a second.
  private static var mostRead: Offset { 100_000 }

  private func reachedEnd() {
    clear("reading")
    plan.reachedEnd()
    isAtEnd = true
    nextRead = clock.now + pause
    pause = min(pause * 2, configuration.lastPause)
  }

  /// Takes events of a block, as many as there is room for, and at least one. Returns their number.
  private func take(_ block: EventBlock, from place: Int, at now: Duration) -> Int {
    let first = block.entries[place]
    // If the log was restored from a copy, the reader may return events that it has already returned.
    guard first.offset >= span.end else { return 1 }
    if orders.isRedrive || first.marks.contains(.isOfTheLog) {
      takeDecoded(block[place].stored, first.byteCount, at: now)
      return 1
    }
    guard preparation.passesBytes else {
      let event = block[place]
      hold(
        preparation.prepare(event), event.offset, event.id, event.byteCount, userID: event.context.user?.id, at: now)
      return 1
    }
    var end = place
    let room = place + plan.room(for: block, from: place)
    repeat {
      end += 1
    } while end < room && block.entries[end].offset == first.offset + Offset(end - place)
      && !block.entries[end].marks.contains(.isOfTheLog)
    span.opened(first.offset..<first.offset + Offset(end - place))
    queue.add { new in preparation.prepare(block, place..<end) { new.append(HeldEvent(prepared: $0, $1)) } }
    plan.arrived(block, place..<end, at: now)
    return end - place
  }

  /// Takes an event of the log itself, or an event of a dead-letter log.
  private func takeDecoded(_ event: StoredEvent, _ bytes: Int, at now: Duration) {
    let mark = SettledSpan.Mark(offset: event.offset, id: event.id)
    if event.isNotice { return takeNotice(event, at: mark, bytes) }
    if orders.isRedrive { return takeLetter(event, at: mark, bytes) }
    if let change = HeldAssociation(event, bytes: bytes) {
      span.opened(event.offset, id: event.id)
      queue.add(change)
      return plan.arrived(bytes: bytes, opening: event.id.opening, at: now)
    }
    hold(prepare(event), mark.offset, mark.id, bytes, userID: event.context.user?.id, at: now)
  }

  /// Takes a notice of the log: adds the notice to a gap that waits for its call, holds the notice as a gap, or passes
  /// over the notice.
  private func takeNotice(_ notice: StoredEvent, at mark: SettledSpan.Mark, _ bytes: Int) {
    func pass() { span.passed(upTo: mark.offset + 1, Outcomes(notice: notice), last: mark) }
    guard orders.options.sendsGaps, !orders.isRedrive, let gap = Gap(notice) else { return pass() }
    let isAdded = waitingGaps[gap.reason].map { offset in
      queue.changeNew(at: offset) { held in
        guard held.gap?.add(gap) == true else { return false }
        if let sum = held.gap, let prepared = preparation.prepare(sum) { held.prepared = prepared }
        return true
      }
    }
    if isAdded == true { return pass() }
    guard let prepared = preparation.prepare(gap) else { return pass() }
    span.opened(mark.offset, id: mark.id, as: .notice)
    waitingGaps[gap.reason] = mark.offset
    queue.add(HeldEvent(prepared: prepared, offset: mark.offset, bytes: bytes, gap: gap))
    plan.arrived(bytes: bytes, opening: mark.id.opening, at: clock.now)
  }

  /// Takes an event of a dead-letter log: a letter, or a part of a letter. A part is settled when the whole letter is
  /// settled.
  private func takeLetter(_ event: StoredEvent, at mark: SettledSpan.Mark, _ bytes: Int) {
    let found = letters.take(event, bytes: bytes)
    for offset in found.abandoned { span.settle(offset, Outcomes()) }
    if let letter = found.letter {
      return hold(
        prepare(letter.event), mark.offset, mark.id, found.bytes, userID: letter.event.context.user?.id, at: clock.now)
    }
    if found.isPart { return span.opened(mark.offset, id: mark.id, as: .part) }
    span.passed(upTo: mark.offset + 1, Outcomes(), last: mark)
  }

  /// Queues a prepared event for delivery, unless the mapper withheld it: then `prepared` is `nil`. `id` is the id in
  /// the log that is delivered, and `userID` the id of the user that the event was captured for.
  private func hold(
    _ prepared: PreparedEvent?, _ offset: Offset, _ id: EventID, _ bytes: Int, userID: @autoclosure () -> String?,
    at now: Duration
  ) {
    guard let prepared else {
      attempts.writeWithheld(offset)
      if orders.feed.isHeard { orders.feed.tell([SettledEvent(id: id, provider: orders.name, fate: .withheld)]) }
      span.passed(upTo: offset + 1, Outcomes(withheld: 1), last: .init(offset: offset, id: id))
      return settleParts(before: offset)
    }
    // A letter's id in its log is not the id of its event.
    if orders.isRedrive { span.opened(offset, id: id) } else { span.opened(offset) }
    queue.add(
      HeldEvent(
        prepared: prepared, offset: offset, bytes: bytes, userID: orders.options.pseudonym == nil ? nil : userID()))
    plan.arrived(bytes: bytes, opening: id.opening, at: now)
  }

  /// Passes over offsets that can't be read, and counts the events among them as the log counts them: some of the
  /// offsets may belong to notices.
  private func passOver(_ skip: EventReader.Skip) throws(WeirError) {
    let end = skip.firstOffset + skip.count
    guard skip.count > 0, end > span.end else { return }
    let tally = try LogDirectory(orders.log.directory).tally(from: end)
    if skip.isRemoval, span.isUntouched, keeper.isNew, orders.options.start == .beginning {
      // The provider starts with the events that the log had when the provider was added. Events of these that were
      // removed are not the provider's. Later events that were removed are the provider's loss, as at any other time.
      let first = min(end, keeper.end)
      if first > span.position {
        let below = tally.acceptedBelow(noMoreThan: first)
        span.restart(at: first, baseline: min(below, keeper.acceptedBelowEnd))
      }
      guard end > first else { return }
    }
    let counted = span.acceptedBelowEnd
    let lost = min(tally.acceptedBelow > counted ? tally.acceptedBelow - counted : 0, end - span.end)
    let outcomes = skip.isRemoval ? Outcomes(removed: lost) : Outcomes(damaged: lost)
    span.passed(upTo: end, outcomes)
  }
}

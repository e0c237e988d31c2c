// WorkerReader: a worker's eye on the log.

import Weir

/// Reads the log for one worker: events with what was passed over before them, and whether there may be more.
struct WorkerReader {
  /// What was read.
  enum Found {
    case event(StoredEvent, bytes: Int)
    /// Offsets that are passed over: removed, damaged, or left out.
    case skip(EventReader.Skip)
    /// There is nothing more at present.
    case end
  }

  /// What a reader reports from within `next()`.
  private final class Skips {
    var all: [EventReader.Skip] = []
  }

  private let directory: String
  private let skips = Skips()
  private var reader: EventReader?
  /// An event that was read, while what lies before it is told of first.
  private var held: (event: StoredEvent, bytes: Int)?
  /// Everything below it that is in the files was read.
  private(set) var seenEnd: Offset = 0
  /// The log's end when it was asked for last: what is below it is in the files, if it is anywhere. Not asked for at
  /// each event, since all workers share the lock before the answer.
  private var knownEnd: Offset?

  init(_ directory: String) {
    self.directory = directory
  }

  /// Whether there may be something at or after `offset`. Costs a look at some counters where this process captures,
  /// otherwise some system calls.
  mutating func mayHaveMore(after offset: Offset, _ log: DeliveredLog) -> Bool {
    if held != nil || !skips.all.isEmpty { return true }
    knownEnd = log.nextOffset
    if let knownEnd { return knownEnd > max(offset, seenEnd) }
    return reader?.wait(upTo: .zero) ?? true
  }

  /// The next event or gap, after ``mayHaveMore(after:_:)`` was asked; `offset` is where to begin if nothing was read
  /// yet. If it throws, the next call begins there anew.
  mutating func next(from offset: Offset) throws(WeirError) -> Found {
    if !skips.all.isEmpty { return .skip(skips.all.removeFirst()) }
    if let held {
      self.held = nil
      return .event(held.event, bytes: held.bytes)
    }
    do throws(WeirError) {
      let reader = try opened(offset)
      let event = try reader.next()
      if let event { held = (event, reader.lastBytes) } else if let knownEnd { seenEnd = max(seenEnd, knownEnd) }
    } catch {
      forget()
      throw error
    }
    if held == nil && skips.all.isEmpty { return .end }
    return try next(from: offset)
  }

  /// Begins anew at the next call, with files that may be others.
  mutating func forget() {
    reader = nil
    held = nil
    skips.all = []
  }

  private mutating func opened(_ offset: Offset) throws(WeirError) -> EventReader {
    if let reader { return reader }
    let opened = try EventReader(directory: directory, from: offset)
    opened.onSkip = { [skips] in skips.all.append($0) }
    reader = opened
    return opened
  }
}

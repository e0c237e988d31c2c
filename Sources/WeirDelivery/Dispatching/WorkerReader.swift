// WorkerReader: reads the log for one worker.

import Weir

/// Reads the log for one worker: returns the events, the skipped offsets before them, and whether there may be more
/// events.
struct WorkerReader {
  /// The result of a read.
  enum Found {
    case event(StoredEvent, bytes: Int)
    /// Skipped offsets: removed, damaged, or left out.
    case skip(EventReader.Skip)
    /// There is nothing more at present.
    case end
  }

  /// The skips that a reader reports during `next()`.
  private final class Skips {
    var all: [EventReader.Skip] = []
  }

  private let directory: String
  private let skips = Skips()
  private var reader: EventReader?
  /// An event that was read, kept until the skips before it are returned.
  private var held: (event: StoredEvent, bytes: Int)?
  /// All events below this offset that are in the files were read.
  private(set) var seenEnd: Offset = 0
  /// The log's end when it was last read: everything below it is in the files, if it exists at all. Not read for each
  /// event, because the read takes a lock that all workers share.
  private var knownEnd: Offset?

  init(_ directory: String) {
    self.directory = directory
  }

  /// Returns whether there may be events at or after `offset`. Reads some counters if this process captures; otherwise
  /// costs some system calls.
  mutating func mayHaveMore(after offset: Offset, _ log: DeliveredLog) -> Bool {
    if held != nil || !skips.all.isEmpty { return true }
    knownEnd = log.nextOffset
    if let knownEnd { return knownEnd > max(offset, seenEnd) }
    return reader?.wait(upTo: .zero) ?? true
  }

  /// Returns the next event or skip. Call ``mayHaveMore(after:_:)`` first. `offset` is the place to start if nothing
  /// was read yet. If this throws, the next call starts there again.
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

  /// Makes the next call open the files again, because they may be different files.
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

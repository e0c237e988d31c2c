// WorkerReader: reads the log for one worker.

import Weir

/// Reads the log for one worker: returns the events, the skipped offsets before them, and whether there may be more
/// events.
struct WorkerReader {
  /// The result of a read.
  enum Found {
    /// The events of a block from this place on: see ``took(_:)``.
    case events(EventBlock, from: Int)
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
  /// Events that were read together, kept until the skips before them are returned, and the next of them.
  private var block: EventBlock?
  private var place = 0
  /// The watch on the reader's descriptor.
  private var kept: (watch: DescriptorWatch, descriptor: Int32)?
  /// All events below this offset that are in the files were read.
  private(set) var seenEnd: Offset = 0
  /// The log's end when it was last read: everything below it is in the files, if it exists at all. Not read for each
  /// event, because the read takes a lock that all workers share.
  private var knownEnd: Offset?

  /// How many events are read together, and how many bytes of them: enough to share what a call costs, and little
  /// beside what a call of a provider holds.
  private static let blockEvents = 256
  private static let blockBytes = 64 << 10

  init(_ directory: String) {
    self.directory = directory
  }

  /// Returns whether there may be events at or after `offset`. Reads some counters if this process captures; otherwise
  /// costs some system calls.
  mutating func mayHaveMore(after offset: Offset, _ log: DeliveredLog) -> Bool {
    if block != nil || !skips.all.isEmpty { return true }
    knownEnd = log.nextOffset
    if let knownEnd { return knownEnd > max(offset, seenEnd) }
    return reader?.wait(upTo: .zero) ?? true
  }

  /// Returns how to sleep until the next check, beside another process; `nil` before the first check, and in the
  /// process that captures.
  func nextLook() -> EventReader.NextLook? { knownEnd == nil ? reader?.nextLook() : nil }

  /// Returns a watch that rings this alarm, once, when the descriptor of ``nextLook()`` becomes readable. The watch is
  /// kept until it has rung: to begin a watch wakes a thread.
  mutating func watch(_ descriptor: Int32, rings alarm: Alarm) -> DescriptorWatch? {
    if let kept, kept.descriptor == descriptor, !kept.watch.hasRung { return kept.watch }
    kept = DescriptorWatch(descriptor, rings: alarm).map { ($0, descriptor) }
    return kept?.watch
  }

  /// Returns the next events or the next skip. Call ``mayHaveMore(after:_:)`` first. `offset` is the place to start if
  /// nothing was read yet. If this throws, the next call starts there again.
  mutating func next(from offset: Offset) throws(WeirError) -> Found {
    if !skips.all.isEmpty { return .skip(skips.all.removeFirst()) }
    if let block { return .events(block, from: place) }
    do throws(WeirError) {
      block = try opened(offset).nextBlock(most: Self.blockEvents, bytes: Self.blockBytes)
      place = 0
      if block == nil, let knownEnd { seenEnd = max(seenEnd, knownEnd) }
    } catch {
      forget()
      throw error
    }
    if block == nil && skips.all.isEmpty { return .end }
    return try next(from: offset)
  }

  /// Notes that so many of the events that ``next(from:)`` returned were taken; the next call returns those after them.
  mutating func took(_ count: Int) {
    place += count
    if let block, place >= block.count { self.block = nil }
  }

  /// Makes the next call open the files again, because they may be different files.
  mutating func forget() {
    reader = nil
    kept = nil
    block = nil
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

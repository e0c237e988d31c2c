// LetterParts: which events of a dead-letter log are parts of one letter, as a redrive reads them. A pure value.

import Weir

/// Puts letters together, and knows which parts wait for the settling of theirs.
///
/// A large letter is several events. None of them is settled before the letter is, or a redrive that fails would leave
/// the next one a letter without its beginning. Parts of a letter that was never finished belong to none.
struct LetterParts: Sendable {
  /// What an event of the log is.
  struct Found {
    /// The letter that it is, or that it ends.
    var letter: DeadLetter?
    /// Of a letter: its bytes in the log, with those of the parts before its last.
    var bytes = 0
    /// It is a part of a letter that is not read to its end.
    var isPart = false
    /// Parts read before that belong to no letter, as it shows now.
    var abandoned: [Offset] = []
  }

  private var joiner = DeadLetterJoiner()
  /// Of the letter that is being read.
  private var reading: [Offset] = []
  private var readingBytes = 0
  /// Of letters that are not settled, by their last part: the parts before it.
  private var waiting: [Offset: [Offset]] = [:]

  /// Takes the next event of the log, which has so many bytes there.
  mutating func take(_ event: StoredEvent, bytes: Int) -> Found {
    guard event.name == DeadLetter.eventName else { return Found() }
    var found = Found(letter: joiner.take(event), bytes: bytes)
    if found.letter == nil, joiner.parts > 1 {
      reading.append(event.offset)
      readingBytes += bytes
      found.isPart = true
      return found
    }
    if found.letter != nil, joiner.lastCount > 1 {
      waiting[event.offset] = reading
      found.bytes += readingBytes
    } else {
      found.abandoned = reading
    }
    found.isPart = found.letter == nil && joiner.parts == 1
    reading = found.isPart ? [event.offset] : []
    readingBytes = found.isPart ? bytes : 0
    return found
  }

  /// The letter that ends at `offset` is settled: answers its parts before that.
  mutating func settled(_ offset: Offset) -> [Offset] {
    waiting.isEmpty ? [] : waiting.removeValue(forKey: offset) ?? []
  }
}

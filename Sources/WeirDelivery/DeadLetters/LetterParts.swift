// LetterParts: determines which events of a dead-letter log are parts of one letter, for a redrive. A pure value.

import Weir

/// Joins letters, and tracks the parts that wait until their letter is settled.
///
/// A large letter consists of several events. None of them is settled before the letter is settled: otherwise, after a
/// redrive that fails, the next redrive would find a letter without its beginning. The parts of an unfinished letter
/// belong to no letter.
struct LetterParts: Sendable {
  /// The kind of an event of the log.
  struct Found {
    /// The letter that the event is, or that ends with the event.
    var letter: DeadLetter?
    /// The size of the letter in the log, in bytes, including its earlier parts.
    var bytes = 0
    /// Whether the event is a part of a letter whose end was not read yet.
    var isPart = false
    /// Parts read before that turned out to belong to no letter.
    var abandoned: [Offset] = []
  }

  private var joiner = DeadLetterJoiner()
  /// The parts of the letter that is being read.
  private var reading: [Offset] = []
  private var readingBytes = 0
  /// The earlier parts of letters that are not settled, by the offset of the letter's last part.
  private var waiting: [Offset: [Offset]] = [:]

  /// Takes the next event of the log; `bytes` is its size there.
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

  /// Notes that the letter that ends at `offset` is settled. Returns the letter's earlier parts.
  mutating func settled(_ offset: Offset) -> [Offset] {
    waiting.isEmpty ? [] : waiting.removeValue(forKey: offset) ?? []
  }
}

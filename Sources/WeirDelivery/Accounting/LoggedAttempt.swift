// LoggedAttempt: the events of a log of attempts.

import Weir

/// One call of a provider, as its worker records the call.
struct Attempt: Hashable, Sendable {
  /// The provider's answer.
  enum Outcome: String, Hashable, Sendable {
    /// The provider returned a verdict for each event.
    case verdicts
    /// The provider threw an error: all events are delivered again.
    case failed
    /// The provider refused the batch as a whole.
    case refused
    /// The provider stopped delivery until somebody fixes a problem.
    case stopped
    /// The call was cancelled, because it took too long or because the dispatcher ended: all events are delivered
    /// again.
    case cancelled
    /// The number of verdicts differed from the number of events: all verdicts are ignored.
    case miscounted
  }

  /// The number of tries in a row of these events, or of the first of them: 1 for the first try.
  var number: Int
  /// The offsets of the call's events, in order.
  var offsets: [Offset]
  /// The size of the events in the log, in bytes.
  var bytes: Int
  var began: Timestamp
  var took: Duration
  var outcome: Outcome
  /// The provider's message, or the error, without credentials.
  var answer: String
  /// The subset of ``offsets`` that was rejected.
  var rejected: [Offset] = []
  /// The subset of ``offsets`` that is delivered again. With ``Outcome/verdicts``, the remaining events were accepted.
  var retried: [Offset] = []
}

/// An event of a log of attempts: `attempts/NAME` in the log's directory.
enum LoggedAttempt: Event, Hashable {
  /// A call of the provider. `given`, `rejected` and `retried` are the events: see ``OffsetRanges``.
  case attempt(Call)
  /// The cursor moved: everything below this offset is settled, on disk.
  case settled(below: Offset)
  /// The provider's mapper withheld this event.
  case withheld(Offset)
  /// Events of the following call have this flag: see ``FlagNote``.
  case flagged(FlagNote)

  struct Call: Hashable, Sendable {
    var number: UInt64
    var first: Offset
    var last: Offset
    var given: OffsetRanges
    var events: UInt64
    var bytes: UInt64
    var began: Timestamp
    var nanoseconds: UInt64
    var outcome: String
    var answer: String
    var rejected: OffsetRanges
    var retried: OffsetRanges
  }

  static let eventTypes = [
    EventType(
      "attempt",
      [
        Field("number", .uint64), Field("first", .uint64), Field("last", .uint64), Field("events", .uint64),
        Field("bytes", .uint64), Field("began_ns", .int64), Field("took_ns", .uint64), Field("outcome", .string),
        Field("answer", .string), Field("given", .array(.uint64)), Field("rejected", .array(.uint64)),
        Field("retried", .array(.uint64)),
      ]),
    EventType("settled", [Field("below", .uint64)]),
    EventType("withheld", [Field("offset", .uint64)]),
    EventType("flagged", [Field("flag", .string), Field("text", .string), Field("at", .array(.uint64))]),
  ]

  /// The maximum size of a stored answer, in bytes.
  static let answerBytes = 1024
  /// The maximum size of an event: three lists of ranges, an answer, and some more.
  static let maximumBytes = 3 * OffsetRanges.maximumRanges * 2 * 10 + answerBytes + 1024

  init(_ attempt: Attempt) {
    self = .attempt(
      Call(
        number: UInt64(clamping: attempt.number), first: attempt.offsets.first ?? 0, last: attempt.offsets.last ?? 0,
        given: OffsetRanges(attempt.offsets),
        events: UInt64(attempt.offsets.count), bytes: UInt64(clamping: attempt.bytes), began: attempt.began,
        nanoseconds: attempt.took.wholeNanoseconds, outcome: attempt.outcome.rawValue,
        answer: attempt.answer.inOneLine(of: Self.answerBytes), rejected: OffsetRanges(attempt.rejected),
        retried: OffsetRanges(attempt.retried)))
  }

  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .attempt(let call):
      encoder.begin(0)
      encoder.put(call.number)
      encoder.put(call.first)
      encoder.put(call.last)
      encoder.put(call.events)
      encoder.put(call.bytes)
      encoder.put(call.began.nanosecondsSince1970)
      encoder.put(call.nanoseconds)
      encoder.put(call.outcome)
      encoder.put(call.answer)
      encoder.put(call.given.numbers)
      encoder.put(call.rejected.numbers)
      encoder.put(call.retried.numbers)
    case .settled(let offset):
      encoder.begin(1)
      encoder.put(offset)
    case .withheld(let offset):
      encoder.begin(2)
      encoder.put(offset)
    case .flagged(let note):
      encoder.begin(3)
      encoder.put(note.flag)
      encoder.put(note.text)
      encoder.put(note.at.numbers)
    }
  }

  init?(_ stored: StoredEvent) throws {
    switch stored.name {
    case "attempt": self = .attempt(try Call(stored))
    case "settled": self = .settled(below: try stored["below"])
    case "withheld": self = .withheld(try stored["offset"])
    case "flagged":
      let note = FlagNote(flag: try stored["flag"], text: try stored["text"], at: try Call.ranges("at", of: stored))
      self = .flagged(note)
    default: return nil
    }
  }
}

extension LoggedAttempt.Call {
  fileprivate init(_ stored: StoredEvent) throws {
    func ranges(_ name: String) throws -> OffsetRanges { try Self.ranges(name, of: stored) }
    number = try stored["number"]
    first = try stored["first"]
    last = try stored["last"]
    given = try ranges("given")
    events = try stored["events"]
    bytes = try stored["bytes"]
    began = Timestamp(nanosecondsSince1970: try stored["began_ns"])
    nanoseconds = try stored["took_ns"]
    outcome = try stored["outcome"]
    answer = try stored["answer"]
    rejected = try ranges("rejected")
    retried = try ranges("retried")
  }

  fileprivate static func ranges(_ name: String, of stored: StoredEvent) throws -> OffsetRanges {
    guard let ranges = OffsetRanges(numbers: try stored[name]) else {
      throw FieldError("the value is not a list of offset ranges", field: name)
    }
    return ranges
  }
}

extension String {
  /// Returns the text with spaces in place of control characters, cut to this many bytes of UTF-8. For texts of others
  /// in logs and reports.
  func inOneLine(of bytes: Int) -> String {
    // Cut before the conversion, because the text may have megabytes.
    let start = utf8.count > bytes ? String(decoding: utf8.prefix(bytes), as: UTF8.self) : self
    let plain = start.unicodeScalars.map { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: Character(" ")
      default: Character(scalar)
      }
    }
    return String(plain).cut(to: bytes)
  }
}

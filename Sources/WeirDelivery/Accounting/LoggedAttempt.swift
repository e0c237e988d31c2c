// LoggedAttempt: the events of a log of attempts.

import Weir

/// One call of a provider, as its worker knows it.
struct Attempt: Hashable, Sendable {
  /// What the provider did.
  enum Outcome: String, Hashable, Sendable {
    /// It answered a verdict for each event.
    case verdicts
    /// It threw: all come again.
    case failed
    /// It refused the batch as a whole.
    case refused
    /// It said that somebody must mend something first.
    case stopped
    /// It was cancelled, because it took too long or for the end of the dispatcher: all come again.
    case cancelled
    /// It answered another number of verdicts than there were events: nothing of them is believed.
    case miscounted
  }

  /// How often in a row these events, or the first of them, were tried: 1 for the first time.
  var number: Int
  /// Those that were given, in order.
  var offsets: [Offset]
  /// Their size in the log.
  var bytes: Int
  var began: Timestamp
  var took: Duration
  var outcome: Outcome
  /// What the provider said, or what went wrong, without credentials.
  var answer: String
  /// Of ``offsets``, those that it will never take.
  var rejected: [Offset] = []
  /// Of ``offsets``, those that come again. With ``Outcome/verdicts`` the rest were accepted.
  var retried: [Offset] = []
}

/// An event of a log of attempts, `attempts/NAME` in the directory of the log.
enum LoggedAttempt: Event, Hashable {
  /// A call of the provider. `given`, `rejected` and `retried` say which events: see ``OffsetRanges``.
  case attempt(Call)
  /// The cursor was moved: everything below it is settled, on the disk.
  case settled(below: Offset)
  /// The provider's mapper withheld an event: the provider does not get it.
  case withheld(Offset)

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
  ]

  /// The longest answer that is kept.
  static let answerBytes = 1024
  /// The largest event: three lists of ranges, an answer, and some.
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
    }
  }

  init?(_ stored: StoredEvent) throws {
    switch stored.name {
    case "attempt": self = .attempt(try Call(stored))
    case "settled": self = .settled(below: try stored["below"])
    case "withheld": self = .withheld(try stored["offset"])
    default: return nil
    }
  }
}

extension LoggedAttempt.Call {
  fileprivate init(_ stored: StoredEvent) throws {
    func ranges(_ name: String) throws -> OffsetRanges {
      guard let ranges = OffsetRanges(numbers: try stored[name]) else {
        throw FieldError("no ranges of offsets", field: name)
      }
      return ranges
    }
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
}

extension String {
  /// The text with control characters as spaces, cut to so many bytes of UTF-8: for logs and reports of what somebody
  /// else said.
  func inOneLine(of bytes: Int) -> String {
    // Cut first, and generously: it may be megabytes.
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

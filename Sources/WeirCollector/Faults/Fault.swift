// Fault: one way for the collector to fail, and the words that ask for it.

#if Collector
  /// One way for a collector to fail.
  package struct Fault: Hashable, Sendable {
    /// What goes wrong.
    package enum Kind: Hashable, Sendable {
      /// Nothing is stored; the answer has this status, 400 to 599. `status=500`
      case status(Int)
      /// Nothing is stored; the answer is 429, with so many seconds to wait. `retry-after=2s`
      case retryAfter(seconds: Int)
      /// Nothing is stored; the answer is 302, to an address that says yes to everything. `redirect`
      case redirect
      /// A part of the events, one in four and at least one, is refused in the vendor's way. A vendor that has no way
      /// for that stores the others, and answers 500. `partial`
      case partial
      /// All is stored; the answer comes so much later. `slow=2s`
      case slow(Duration)
      /// All is stored; the answer ends in its middle. `cut`
      case cut
      /// All is stored; the connection is closed without an answer. `drop-answer`
      case dropAnswer
      /// All is stored; the answer has the right status, and a body that nobody understands. `garbage`
      case garbage
      /// All is stored; the answer tells of more events than there were. `stranger`
      case stranger

      /// The word for it, without what follows the equals sign.
      package var name: String {
        switch self {
        case .status: "status"
        case .retryAfter: "retry-after"
        case .redirect: "redirect"
        case .partial: "partial"
        case .slow: "slow"
        case .cut: "cut"
        case .dropAnswer: "drop-answer"
        case .garbage: "garbage"
        case .stranger: "stranger"
        }
      }

      /// Whether the request is answered without anything of it being stored.
      var storesNothing: Bool {
        switch self {
        case .status, .retryAfter, .redirect: true
        case .partial, .slow, .cut, .dropAnswer, .garbage, .stranger: false
        }
      }
    }

    /// What goes wrong.
    package var kind: Kind

    /// With how many of the requests, from 0 to 1.
    package var probability: Double

    /// After so many times it does not happen any more; nil for no end.
    package var times: Int?

    /// A fault that happens to so many of the requests, at most so many times.
    package init(_ kind: Kind, probability: Double = 1, times: Int? = nil) {
      self.kind = kind
      self.probability = probability
      self.times = times
    }
  }

  extension Fault: CustomStringConvertible {
    /// Reads a fault as it is written: a kind, then `:` and a probability (1 if it is left out), then `*` and how many
    /// times at most.
    ///
    /// `status=503:0.1`, `drop-answer`, `slow=500ms:0.05`, `cut:1*3`
    package init(_ text: String) throws {
      var rest = text[...]
      var times: Int?
      if let star = rest.lastIndex(of: "*") {
        guard let number = Int(rest[rest.index(after: star)...]), number >= 1 else {
          throw CollectorError("\(text): after * comes how many times at most, such as cut:1*3")
        }
        times = number
        rest = rest[..<star]
      }
      var probability = 1.0
      if let colon = rest.lastIndex(of: ":") {
        guard let number = Double(rest[rest.index(after: colon)...]), (0...1).contains(number) else {
          throw CollectorError("\(text): after : comes a probability from 0 to 1, such as cut:0.05")
        }
        probability = number
        rest = rest[..<colon]
      }
      self.init(try Self.kind(rest, in: text), probability: probability, times: times)
    }

    private static func kind(_ words: Substring, in text: String) throws -> Kind {
      let parts = words.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      switch (parts[0], parts.count == 2 ? parts[1] : nil) {
      case ("status", let value?):
        guard let status = Int(value), (400...599).contains(status) else {
          throw CollectorError("\(text): a status is 400 to 599, such as status=500")
        }
        return .status(status)
      case ("retry-after", let value?):
        let time = try time(value, in: text)
        let seconds = Int(time.components.seconds) + (time.components.attoseconds > 0 ? 1 : 0)
        return .retryAfter(seconds: seconds)
      case ("slow", let value?): return .slow(try time(value, in: text))
      case ("redirect", nil): return .redirect
      case ("partial", nil): return .partial
      case ("cut", nil): return .cut
      case ("drop-answer", nil): return .dropAnswer
      case ("garbage", nil): return .garbage
      case ("stranger", nil): return .stranger
      default:
        throw CollectorError(
          "\(text) is no fault; there are status=500, retry-after=2s, redirect, partial, slow=2s, cut, drop-answer, "
            + "garbage and stranger")
      }
    }

    /// A time such as `2s`, `500ms` or `1m`, up to an hour.
    private static func time(_ value: String, in text: String) throws -> Duration {
      let number = value.prefix { $0.isNumber || $0 == "." }
      let unit: Double? =
        switch value.dropFirst(number.count) {
        case "ms": 0.001
        case "s": 1
        case "m": 60
        default: nil
        }
      guard let unit, let count = Double(number), count * unit <= 3_600 else {
        throw CollectorError("\(text): a time is such as 500ms, 2s or 1m, at most 60m")
      }
      return .milliseconds(Int64((count * unit * 1_000).rounded()))
    }

    /// As ``init(_:)`` reads it.
    package var description: String {
      let kind =
        switch kind {
        case .status(let status): "status=\(status)"
        case .retryAfter(let seconds): "retry-after=\(seconds)s"
        case .slow(let time):
          "slow=\(time.components.seconds * 1_000 + time.components.attoseconds / 1_000_000_000_000_000)ms"
        default: kind.name
        }
      return "\(kind):\(probability)" + (times.map { "*\($0)" } ?? "")
    }
  }
#endif

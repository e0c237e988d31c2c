// LineFormat: the formats of `weir record`. Parsing and capturing are two steps, so that the captures can be timed
// without the parsing.

#if Tool
  import Weir

  /// A format of `weir record`. A format turns every line into an event. A line that the format can't read becomes an
  /// event `malformed` with the exact text, because a skipped line would be lost.
  protocol LineFormat: Sendable {
    associatedtype Parsed: Sendable

    /// Parses a line, which has no newline at its end.
    static func parse(_ line: Span<UInt8>) -> Parsed

    /// Captures a parsed line on the calling thread.
    static func capture(_ parsed: Parsed, with tracker: Tracker) -> Receipt
  }

  /// Lines as they are: event `line`.
  enum PlainLines: LineFormat {
    static func parse(_ line: Span<UInt8>) -> LineEvent { .line(LineText(line)) }
    static func capture(_ parsed: LineEvent, with tracker: Tracker) -> Receipt { tracker.track(parsed) }
  }

  /// Apache's combined log: events `request` and `malformed`.
  enum AccessLog: LineFormat {
    static func parse(_ line: Span<UInt8>) -> AccessEvent { AccessEvent(line: line) }
    static func capture(_ parsed: AccessEvent, with tracker: Tracker) -> Receipt { tracker.track(parsed) }
  }

  /// One JSON object per line, `{"event":"name","fields":{…}}`: an event of that name, or `malformed`.
  enum JSONLines: LineFormat {
    enum Parsed: Equatable, Sendable {
      case event(name: String, fields: FieldObject)
      case malformed(LineText)
    }

    static func parse(_ line: Span<UInt8>) -> Parsed {
      if let event = JSONLineParser.event(in: line) { return .event(name: event.name, fields: event.fields) }
      return .malformed(LineText(line))
    }

    static func capture(_ parsed: Parsed, with tracker: Tracker) -> Receipt {
      switch parsed {
      case .event(let name, let fields): tracker.track(name, fields: fields)
      case .malformed(let text): tracker.track(LineEvent.malformed(text))
      }
    }
  }
#endif

// LineEvent: an input line as an event: `line` for a line that is recorded as it is, `malformed` for a line that the
// format can't read. The field is `text`, or `bytes` if the line is not UTF-8.

#if Tool
  import Weir

  enum LineEvent: Event, Equatable {
    case line(LineText)
    case malformed(LineText)

    static let eventTypes = [
      EventType("line", [Field("text", .string)]),
      EventType("line", [Field("bytes", .bytes)]),
      EventType("malformed", [Field("text", .string)]),
      EventType("malformed", [Field("bytes", .bytes)]),
    ]

    func encode(into encoder: inout EventEncoder) {
      switch self {
      case .line(.text(let text)):
        encoder.begin(0)
        encoder.put(text)
      case .line(.bytes(let bytes)):
        encoder.begin(1)
        encoder.put(bytes)
      case .malformed(.text(let text)):
        encoder.begin(2)
        encoder.put(text)
      case .malformed(.bytes(let bytes)):
        encoder.begin(3)
        encoder.put(bytes)
      }
    }

    init?(_ stored: StoredEvent) throws {
      switch stored.name {
      case "line": self = .line(try LineText(stored))
      case "malformed": self = .malformed(try LineText(stored))
      default: return nil
      }
    }
  }

  extension LineText {
    /// Creates the text of a stored event, which has one of the two fields.
    init(_ stored: StoredEvent) throws {
      if stored.fields["text"] != nil {
        self = .text(try stored["text"])
      } else {
        self = .bytes(try stored["bytes"])
      }
    }
  }
#endif

// Route: which vendor's endpoint a path is.

#if Collector
  import Weir

  struct Route: Sendable {
    private let vendors: [any Vendor]
    /// Clients ask it whether anybody is there.
    let answersGet: Bool

    /// The endpoint at a path; nil if there is none.
    init?(path: String) {
      var trimmed = path[...]
      while trimmed.count > 1, trimmed.last == "/" { trimmed = trimmed.dropLast() }
      answersGet = trimmed == "/" || trimmed == "/ping"
      switch trimmed {
      case "/v1/batch", "/v1/import", "/v1/b": vendors = [Segment()]
      case "/v1/track", "/v1/identify", "/v1/page", "/v1/screen", "/v1/group", "/v1/alias":
        vendors = [Segment(call: String(trimmed.dropFirst("/v1/".count)))]
      case "/import": vendors = [Mixpanel()]
      case "/engage": vendors = [MixpanelProfiles()]
      case "/2/httpapi": vendors = [Amplitude(limitBytes: 1 << 20)]
      // Both vendors chose this path. Amplitude's events are in `events`, PostHog's in `batch`.
      case "/batch": vendors = [PostHog(), Amplitude(limitBytes: 20 << 20)]
      case "/capture", "/i/v0/e", "/e", "/track": vendors = [PostHog()]
      case "/mp/collect": vendors = [GA4()]
      case "/debug/mp/collect": vendors = [GA4(isDebug: true)]
      case "/v1/logs": vendors = [OTLP()]
      case "/events": vendors = [OwnForm()]
      case "/", "/ping": vendors = [ClickHouse()]
      default: return nil
      }
    }

    /// Whose form a body is in; nil for a body that could not be read.
    func vendor(for body: [UInt8]?) -> any Vendor {
      guard vendors.count > 1, let body, TopLevel.names(body).contains("events") else { return vendors[0] }
      return vendors[1]
    }
  }

  /// The names of the outermost object's members, found without reading what they hold.
  enum TopLevel {
    static func names(_ body: [UInt8]) -> Set<String> {
      var names: Set<String> = []
      var depth = 0
      var start: Int?
      var isEscaped = false
      var last: Range<Int>?
      for (index, byte) in body.enumerated() {
        if let begun = start {
          if isEscaped {
            isEscaped = false
          } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
          } else if byte == UInt8(ascii: "\"") {
            last = begun..<index
            start = nil
          }
          continue
        }
        switch byte {
        case UInt8(ascii: "\""): start = index + 1
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        case UInt8(ascii: ":"):
          if depth == 1, let last { names.insert(String(decoding: body[last], as: UTF8.self)) }
        default: break
        }
      }
      return names
    }
  }
#endif

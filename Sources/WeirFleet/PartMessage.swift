// PartMessage: a part of a log as a broker's message: what its headers say, so that nobody has to open it.

package import Weir

/// A part of a log as a broker carries it: its bytes, and what the headers say of it.
///
/// | header | value |
/// |---|---|
/// | `Weir-Part` | `1`, the version of this form |
/// | `Weir-Host` | the host that captured the events: UTF-8, at most 64 bytes |
/// | `Weir-Log`, `Weir-Opening` | 16 hexadecimal digits each |
/// | `Weir-Offsets` | the first and the last offset: `FIRST-LAST` |
/// | `Weir-Follows` | the offset at which the sender's part before this one ended |
/// | `Weir-Start` | the first offset that the sender was ever to send |
/// | `Weir-Events` | the number of events, without notices |
/// | `Weir-Lanes` | for each lane its number and the positions: `LANE:FROM-TO`, separated by commas |
/// | `Weir-Pending` | the number of events in the log behind this part, as the sender knew it |
/// | `Weir-Times` | the earliest and the latest time of the events, in nanoseconds since 1970: `FIRST LAST` |
/// | `Weir-Sent` | the time of the sender's clock at the first try, in nanoseconds since 1970 |
///
/// The headers are not trusted: what is written to a log is checked against the part itself.
package struct PartMessage: Hashable, Sendable {
  package static let form = "1"
  /// The longest name of a host, in bytes.
  package static let mostHostBytes = 64

  package var host: String
  package var logID: UInt64
  package var opening: UInt64
  package var offsets: Range<Offset>
  package var follows: Offset
  package var start: Offset
  package var events: UInt64
  /// By lane, without the offsets.
  package var lanes: [LaneSpan]
  package var pending: UInt64
  package var times: ClosedRange<Int64>?
  package var sent: Int64

  /// The spans of the lanes, and that of the offsets.
  package var spans: [LaneSpan] {
    lanes + [LaneSpan(lane: LaneSpan.offsets, positions: offsets.lowerBound << 3..<offsets.upperBound << 3)]
  }

  /// Describes a part that is sent.
  package init(_ part: LogPart, host: String, start: Offset, pending: UInt64, sent: Int64) {
    self.host = host
    logID = part.summary.logID
    opening = part.summary.opening
    offsets = part.summary.offsets
    follows = part.follows
    self.start = start
    events = part.summary.events
    lanes = part.spans.filter { $0.lane != LaneSpan.offsets }
    self.pending = pending
    times = part.summary.times
    self.sent = sent
  }

  // MARK: Headers

  package var headers: [(name: String, value: String)] {
    var headers = [
      ("Weir-Part", Self.form), ("Weir-Host", host), ("Weir-Log", Self.digits(logID)),
      ("Weir-Opening", Self.digits(opening)), ("Weir-Offsets", "\(offsets.lowerBound)-\(offsets.upperBound - 1)"),
      ("Weir-Follows", "\(follows)"), ("Weir-Start", "\(start)"), ("Weir-Events", "\(events)"),
      (
        "Weir-Lanes",
        lanes.map { "\($0.lane):\($0.positions.lowerBound)-\($0.positions.upperBound)" }.joined(separator: ",")
      ),
      ("Weir-Pending", "\(pending)"),
    ]
    if let times { headers.append(("Weir-Times", "\(times.lowerBound) \(times.upperBound)")) }
    return headers + [("Weir-Sent", "\(sent)")]
  }

  /// Reads the headers of a message. Throws `version` for a form of a newer version, and `invalid` for headers that are
  /// no part's, with the header that is wrong.
  package init(headers: [String: String]) throws(WeirError) {
    func value(_ name: String) throws(WeirError) -> String {
      guard let value = headers[name] else { throw Self.wrong(name, nil) }
      return value
    }
    func number<Number: FixedWidthInteger>(_ name: String, _ type: Number.Type, radix: Int = 10) throws(WeirError)
      -> Number
    {
      let text = try value(name)
      guard let number = Number(text, radix: radix) else { throw Self.wrong(name, text) }
      return number
    }
    let form = try value("Weir-Part")
    guard form == Self.form else {
      throw WeirError(
        .version, "the message has the form \(form.prefix(20)), which a newer Weir sends; update this one")
    }
    host = try value("Weir-Host")
    guard !host.isEmpty, host.utf8.count <= Self.mostHostBytes, !host.utf8.contains(0) else {
      throw Self.wrong("Weir-Host", host)
    }
    logID = try number("Weir-Log", UInt64.self, radix: 16)
    opening = try number("Weir-Opening", UInt64.self, radix: 16)
    let range = try value("Weir-Offsets")
    let ends = range.split(separator: "-", omittingEmptySubsequences: false).map { Offset($0) }
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < 1 << 60 else {
      throw Self.wrong("Weir-Offsets", range)
    }
    offsets = first..<last + 1
    follows = try number("Weir-Follows", Offset.self)
    start = try number("Weir-Start", Offset.self)
    guard start <= follows, follows <= first else { throw Self.wrong("Weir-Follows", "\(follows)") }
    events = try number("Weir-Events", UInt64.self)
    let list = try value("Weir-Lanes")
    lanes = []
    for text in list.split(separator: ",") {
      guard let span = Self.span(text), lanes.last.map({ $0.lane < span.lane }) ?? true else {
        throw Self.wrong("Weir-Lanes", list)
      }
      lanes.append(span)
    }
    pending = try number("Weir-Pending", UInt64.self)
    sent = try number("Weir-Sent", Int64.self)
    if let text = headers["Weir-Times"] {
      let times = text.split(separator: " ").map { Int64($0) }
      guard times.count == 2, let first = times[0], let last = times[1], first <= last else {
        throw Self.wrong("Weir-Times", text)
      }
      self.times = first...last
    }
  }

  private static func span(_ text: Substring) -> LaneSpan? {
    let parts = text.split(whereSeparator: { $0 == ":" || $0 == "-" }).map { UInt64($0) }
    guard parts.count == 3, let lane = parts[0], let from = parts[1], let to = parts[2],
      lane < UInt64(LaneSpan.offsets),
      from < to
    else { return nil }
    return LaneSpan(lane: UInt32(lane), positions: from..<to)
  }

  private static func wrong(_ name: String, _ value: String?) -> WeirError {
    guard let value else { return WeirError(.invalid, "the message has no header \(name), so it is no part of a log") }
    return WeirError(
      .invalid, "the message's header \(name) is \(value.prefix(80).debugDescription), which no part has")
  }

  private static func digits(_ number: UInt64) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}

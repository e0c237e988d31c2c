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
/// | `Weir-Lanes` | for each lane its number and the positions: `LANE:FROM-TO`, separated by commas; missing if longer than 8 KiB |
/// | `Weir-Pending` | the number of events and notices in the log behind this part, as the sender knew it |
/// | `Weir-Times` | the earliest and the latest time of the events, in nanoseconds since 1970: `FIRST LAST` |
/// | `Weir-Version` | the version of the sender's Weir |
/// | `Weir-Sent` | the time of the sender's clock, in nanoseconds since 1970 |
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
  /// By lane, without the offsets. `nil` if the headers do not say it.
  package var lanes: [LaneSpan]?
  package var pending: UInt64
  package var times: ClosedRange<Int64>?
  package var sent: Int64
  package var version: String?

  /// The spans of the lanes, and that of the offsets.
  package var spans: [LaneSpan] {
    (lanes ?? []) + [LaneSpan(lane: LaneSpan.offsets, positions: offsets.lowerBound << 3..<offsets.upperBound << 3)]
  }

  /// The longest header `Weir-Lanes`.
  private static let mostLaneBytes = 8 << 10

  /// A name as a host's name in messages: at most ``mostHostBytes``.
  package static func host(_ name: String) -> String {
    var name = name.filter { $0 != "\0" && !$0.isNewline }
    while name.utf8.count > mostHostBytes { name.removeLast() }
    return name.isEmpty ? "unknown" : name
  }

  /// Describes a part that is sent.
  package init(_ part: LogPart, host: String, sent: Int64) {
    self.host = host
    logID = part.summary.logID
    opening = part.summary.opening
    offsets = part.summary.offsets
    follows = part.follows
    start = min(part.start, part.follows)
    events = part.summary.events
    lanes = part.spans.filter { $0.lane != LaneSpan.offsets }
    pending = part.pending
    times = part.summary.times
    self.sent = sent
    version = weirVersion
  }

  /// The id of the message: `OPENING-FIRST-END-CHECKSUM`, with the CRC-32C of the part. A broker drops a message whose id
  /// the broker had before. A log that was copied, or restored from a backup, gives offsets again, to other events: so
  /// the id must tell these apart.
  func id(of bytes: [UInt8]) -> String {
    let checksum = Self.digits(UInt64(bytes.withUnsafeBytes { crc32c($0) })).suffix(8)
    return "\(Self.digits(opening))-\(offsets.lowerBound)-\(offsets.upperBound)-\(checksum)"
  }

  // MARK: Headers

  package var headers: [(name: String, value: String)] {
    var headers = [
      ("Weir-Part", Self.form), ("Weir-Host", host), ("Weir-Log", Self.digits(logID)),
      ("Weir-Opening", Self.digits(opening)), ("Weir-Offsets", "\(offsets.lowerBound)-\(offsets.upperBound - 1)"),
      ("Weir-Follows", "\(follows)"), ("Weir-Start", "\(start)"), ("Weir-Events", "\(events)"),
      ("Weir-Pending", "\(pending)"),
    ]
    if let lanes {
      let list = lanes.map { "\($0.lane):\($0.positions.lowerBound)-\($0.positions.upperBound)" }
      let text = list.joined(separator: ",")
      if text.utf8.count <= Self.mostLaneBytes { headers.append(("Weir-Lanes", text)) }
    }
    if let times { headers.append(("Weir-Times", "\(times.lowerBound) \(times.upperBound)")) }
    if let version { headers.append(("Weir-Version", version)) }
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
    guard events <= 1 << 60 else { throw Self.wrong("Weir-Events", "\(events)") }
    if let list = headers["Weir-Lanes"] {
      guard list.utf8.count <= Self.mostLaneBytes else { throw Self.wrong("Weir-Lanes", list) }
      var lanes: [LaneSpan] = []
      for text in list.split(separator: ",") {
        guard let span = Self.span(text), lanes.last.map({ $0.lane < span.lane }) ?? true else {
          throw Self.wrong("Weir-Lanes", list)
        }
        lanes.append(span)
      }
      self.lanes = lanes
    }
    pending = try number("Weir-Pending", UInt64.self)
    guard pending <= 1 << 60 else { throw Self.wrong("Weir-Pending", "\(pending)") }
    sent = try number("Weir-Sent", Int64.self)
    version = headers["Weir-Version"].map { String($0.prefix(32)) }
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

  package static func digits(_ number: UInt64) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}

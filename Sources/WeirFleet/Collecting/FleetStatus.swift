// FleetStatus: how each log of a fleet is doing, as the headers of its parts say.

public import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How each log of a fleet is doing, as the headers of its parts say. A fleet keeps this in the file `fleet.json` in the
/// directory of its log, for `weir fleet` and for anybody else: the file is written anew about once a second, and not
/// synced. Times are nanoseconds since 1970.
public struct FleetStatus: Hashable, Codable, Sendable {
  /// One log of a host.
  public struct Row: Hashable, Codable, Sendable {
    public var host: String
    /// The log's id, in 16 hexadecimal digits.
    public var log: String
    /// The last opening that parts came of, in 16 hexadecimal digits.
    public var opening: String
    /// The number of openings that parts came of, since the collector saw the log first.
    public var openings: UInt64 = 0
    /// Events that were collected.
    public var events: UInt64 = 0
    /// The bytes of their parts, packed as they came.
    public var bytes: UInt64 = 0
    /// The offset after the last one that came.
    public var next: Offset = 0
    /// The number of offsets that are missing below ``next``.
    public var missing: UInt64 = 0
    /// Events in the host's log behind its last part, when the host sent that.
    public var pending: UInt64 = 0
    /// When the last event was captured, by the host's clock.
    public var lastEvent: Int64 = 0
    /// When the last part was taken, by this machine's clock.
    public var taken: Int64 = 0
    /// The version of Weir at the host.
    public var version = ""

    /// How long the last event had waited when its part was taken, in nanoseconds. The clocks are those of two machines.
    public var lag: Int64 { FleetStatus.span(from: lastEvent, to: taken) }
    /// The bytes of what is pending, in the size that events had so far.
    public var pendingBytes: UInt64 {
      UInt64(exactly: (Double(pending) * Double(bytes) / Double(max(events, 1))).rounded()) ?? .max
    }
    /// How long the oldest event that is pending has waited for at least, at a time of the collector's clock.
    public func pendingAge(at now: Int64) -> Int64 { pending == 0 ? 0 : FleetStatus.span(from: lastEvent, to: now) }
  }

  /// The logs, by host.
  public var rows: [Row] = []
  /// When the file was written, by the collector's clock.
  public var written: Int64 = 0
  /// Messages that the broker has and that were not read; `nil` if the broker does not say it.
  public var behind: UInt64?
  /// Why nothing is collected at present; `nil` if all is well.
  public var trouble: String?

  package init() {}

  /// A time between two, at least 0. Times come from other machines, and may be anything.
  package static func span(from start: Int64, to end: Int64) -> Int64 {
    let (span, isTooLong) = end.subtractingReportingOverflow(start)
    return end <= start ? 0 : isTooLong ? .max : span
  }

  package static let fileName = "fleet.json"

  /// Reads the file in the directory of a collecting log. `nil` if there is none, or none that can be read.
  package static func read(in directory: String) -> FleetStatus? {
    guard let bytes = try? SystemCalls().contents(of: directory + "/" + fileName, atMost: 1 << 30) else { return nil }
    return try? JSONDecoder().decode(FleetStatus.self, from: Data(bytes))
  }

  func write(in directory: String) throws(WeirError) {
    guard let bytes = try? JSONEncoder().encode(self) else { return }
    let calls = SystemCalls()
    let place = try calls.openDirectory(directory)
    let new = Self.fileName + ".new"
    try calls.unlink(new, in: place)
    try calls.write(try calls.create(new, in: place), Array(bytes), at: 0)
    try calls.rename(new, to: Self.fileName, in: place)
  }
}

/// The rows while parts come. Belongs to one thread at a time.
struct FleetRows {
  private var rows: [UInt64: FleetStatus.Row] = [:]

  init(_ status: FleetStatus?) {
    for row in status?.rows ?? [] {
      if let id = UInt64(row.log, radix: 16) { rows[id] = row }
    }
  }

  /// Notes what the headers of a part say. Only the newest part of a log tells what is pending.
  mutating func came(_ message: PartMessage, bytes: Int) {
    let opening = PartMessage.digits(message.opening)
    var row =
      rows[message.logID]
      ?? FleetStatus.Row(host: message.host, log: PartMessage.digits(message.logID), opening: "")
    row.bytes &+= UInt64(bytes)
    if message.offsets.upperBound >= row.next {
      if row.opening != opening { row.openings += 1 }
      row.opening = opening
      row.host = message.host
      row.next = message.offsets.upperBound
      row.pending = message.pending
      row.taken = Timestamp.now.nanosecondsSince1970
      row.version = message.version ?? ""
      if let times = message.times { row.lastEvent = times.upperBound }
    }
    rows[message.logID] = row
  }

  /// The rows by host, with what the state says of each log.
  func sorted(by state: FleetState) -> [FleetStatus.Row] {
    state.logs.map { id, log in
      var row = rows[id] ?? FleetStatus.Row(host: log.host, log: PartMessage.digits(id), opening: "")
      row.events = log.events
      row.next = log.expected
      row.missing = log.missing.ranges.reduce(0) { $0 + UInt64($1.count) }
      return row
    }.sorted { ($0.host, $0.log) < ($1.host, $1.log) }
  }
}

// FleetStateFile: the summary of what was collected, so that a start reads the latest segments alone.

package import Weir

/// The file `collected` in the directory of a log that collects: what its segments below an offset have, and how far the
/// broker was read. The segments from that offset on say the rest, so the file may be old, or missing.
package struct FleetStateFile: Sendable {
  static let name = "collected"
  private static let magic: [UInt8] = Array("WEIRCOLL".utf8)
  private static let version: UInt32 = 3

  /// What the file holds.
  package struct Content: Hashable, Sendable {
    package var state = FleetState()
    /// The segments with events below this offset are in the state.
    package var covered: Offset = 0
    /// How far the broker was read, by the name of a stream or a partition: everything below is collected.
    package var positions: [String: UInt64] = [:]
    /// Where a start reads on, for what had not settled: at or before the position.
    package var settled: [String: UInt64] = [:]
    /// The last message that was read, if the broker said when that came.
    package var last: [String: ReadPlace.Last] = [:]

    package init() {}
  }

  let path: String
  private let directory: Descriptor
  private let calls: SystemCalls

  package init(in directory: String, calls: SystemCalls = SystemCalls()) throws(WeirError) {
    path = directory + "/" + Self.name
    self.calls = calls
    self.directory = try calls.openDirectory(directory)
  }

  /// Reads the file. `nil` if there is none. Throws `invalid` if the file is damaged, and `version` if a newer version of
  /// Weir wrote the file.
  package func read() throws(WeirError) -> Content? {
    let bytes: [UInt8]
    do throws(WeirError) {
      bytes = try calls.contents(of: path, atMost: .max)
    } catch {
      guard error.code == .missing else { throw error }
      return nil
    }
    if let content = Self.parse(bytes) { return content }
    if let version = Self.head(bytes)?.version, version > Self.version {
      throw WeirError(.version, "\(path) was written by a newer version of Weir; collect with that one", path: path)
    }
    throw WeirError(.invalid, "\(path) is damaged", path: path)
  }

  /// Writes the file. A kill or a power cut at any moment leaves the file as it was before or after.
  package func write(_ content: Content) throws(WeirError) {
    let new = Self.name + ".new"
    try calls.unlink(new, in: directory)
    let file = try calls.create(new, in: directory)
    try calls.write(file, Self.bytes(of: content), at: 0)
    try calls.syncData(file)
    try calls.rename(new, to: Self.name, in: directory)
    try calls.syncDirectory(directory)
  }

  // MARK: Bytes

  static func bytes(of content: Content) -> [UInt8] {
    var body = Writer()
    body.number(content.covered)
    body.number(UInt64(content.positions.count))
    for (name, position) in content.positions.sorted(by: { $0.key < $1.key }) {
      body.text(name)
      body.number(position)
      body.number(content.settled[name] ?? position)
      body.number(content.last[name]?.position ?? 0)
      body.number(UInt64(bitPattern: content.last[name]?.time ?? 0))
    }
    body.number(UInt64(content.state.logs.count))
    for (id, log) in content.state.logs.sorted(by: { $0.key < $1.key }) {
      body.number(id)
      body.text(log.host)
      body.number(log.start)
      body.number(log.expected)
      body.number(log.events)
      body.ranges(log.missing)
    }
    body.number(UInt64(content.state.openings.count))
    for (id, opening) in content.state.openings.sorted(by: { $0.key < $1.key }) {
      body.number(id)
      body.number(opening.logID)
      body.number(UInt64(opening.lanes.count))
      for (lane, ranges) in opening.lanes.sorted(by: { $0.key < $1.key }) {
        body.number(UInt64(lane))
        body.ranges(ranges)
      }
    }
    var bytes = magic
    withUnsafeBytes(of: version.littleEndian) { bytes += $0 }
    withUnsafeBytes(of: body.bytes.withUnsafeBytes { crc32c($0) }.littleEndian) { bytes += $0 }
    return bytes + body.bytes
  }

  static func parse(_ bytes: [UInt8]) -> Content? {
    guard let head = head(bytes), head.version == Self.version else { return nil }
    var body = head.body
    return try? content(of: &body)
  }

  /// The version, and what follows it. `nil` if the checksum is another one.
  private static func head(_ bytes: [UInt8]) -> (version: UInt32, body: Reader)? {
    var head = Reader(bytes[...])
    guard bytes.starts(with: magic), head.skip(magic.count), let version = head.word(), let checksum = head.word(),
      head.rest.withUnsafeBytes({ crc32c($0) }) == checksum
    else { return nil }
    return (version, head)
  }

  private static func content(of body: inout Reader) throws(Malformed) -> Content {
    var content = Content()
    content.covered = try body.number()
    for _ in 0..<(try body.count()) {
      let name = try body.text()
      content.positions[name] = try body.number()
      content.settled[name] = try body.number()
      let last = ReadPlace.Last(position: try body.number(), time: Int64(bitPattern: try body.number()))
      if last.time != 0 { content.last[name] = last }
    }
    var logs: [UInt64: FleetState.Log] = [:]
    for _ in 0..<(try body.count()) {
      let id = try body.number()
      let host = try body.text()
      let (start, expected, events) = (try body.number(), try body.number(), try body.number())
      logs[id] = FleetState.Log(
        host: host, start: start, expected: expected, events: events, missing: try body.ranges())
    }
    var openings: [UInt64: FleetState.Opening] = [:]
    for _ in 0..<(try body.count()) {
      let id = try body.number()
      var opening = FleetState.Opening(logID: try body.number())
      for _ in 0..<(try body.count()) {
        let lane = UInt32(truncatingIfNeeded: try body.number())
        opening.lanes[lane] = try body.ranges()
      }
      openings[id] = opening
    }
    guard body.rest.isEmpty else { throw Malformed() }
    content.state = FleetState(openings: openings, logs: logs)
    return content
  }

  private struct Writer {
    var bytes: [UInt8] = []

    mutating func number(_ number: UInt64) {
      withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    mutating func text(_ text: String) {
      number(UInt64(text.utf8.count))
      bytes += text.utf8
    }

    mutating func ranges(_ lane: LaneRanges) {
      number(UInt64(lane.ranges.count))
      for range in lane.ranges {
        number(range.lowerBound)
        number(range.upperBound)
      }
    }
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func skip(_ count: Int) -> Bool {
      guard rest.count >= count else { return false }
      rest = rest.dropFirst(count)
      return true
    }

    mutating func word() -> UInt32? {
      guard rest.count >= 4 else { return nil }
      defer { rest = rest.dropFirst(4) }
      return rest.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)) }
    }

    mutating func number() throws(Malformed) -> UInt64 {
      guard rest.count >= 8 else { throw Malformed() }
      defer { rest = rest.dropFirst(8) }
      return rest.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    }

    /// A count of things that take at least 8 bytes each.
    mutating func count() throws(Malformed) -> Int {
      let count = try number()
      guard count <= UInt64(rest.count / 8) else { throw Malformed() }
      return Int(count)
    }

    mutating func text() throws(Malformed) -> String {
      let count = try number()
      guard count <= UInt64(rest.count), let text = String(validating: rest.prefix(Int(count)), as: UTF8.self) else {
        throw Malformed()
      }
      rest = rest.dropFirst(Int(count))
      return text
    }

    mutating func ranges() throws(Malformed) -> LaneRanges {
      var lane = LaneRanges()
      for _ in 0..<(try count()) {
        let (from, to) = (try number(), try number())
        guard from < to else { throw Malformed() }
        lane.insert(from..<to)
      }
      return lane
    }
  }
}

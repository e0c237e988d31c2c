// SegmentFile: one sealed segment's file: its name, what it says of itself, whether it is whole, its batch segment.

import CCapture
import CWeir

/// The name of a sealed segment's file: 20 digits and `.weir`, or `.weir.lz4` for a batch segment.
package struct SegmentName: Hashable, Sendable, Comparable {
  /// The segment's first offset.
  package var base: Offset
  /// Whether the file is a batch segment.
  package var isBatch: Bool

  package static let digits = 20
  package static let activeSuffix = ".weir.active"

  package init(base: Offset, isBatch: Bool) {
    self.base = base
    self.isBatch = isBatch
  }

  /// Parses a name. Returns `nil` for any other name.
  package init?(_ text: some StringProtocol) {
    let digits = text.prefix(Self.digits)
    guard digits.utf8.count == Self.digits, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let base = Offset(digits), base <= 1 << 63
    else { return nil }
    switch text.dropFirst(Self.digits) {
    case ".weir": self.init(base: base, isBatch: false)
    case ".weir.lz4": self.init(base: base, isBatch: true)
    default: return nil
    }
  }

  /// The file's name.
  package var text: String {
    let number = String(base)
    return String(repeating: "0", count: Self.digits - number.count) + number + (isBatch ? ".weir.lz4" : ".weir")
  }

  package static func < (left: SegmentName, right: SegmentName) -> Bool { left.base < right.base }
}

/// What a sealed segment says of itself.
package struct SegmentSummary: Hashable, Sendable {
  package var logID: UInt64
  package var opening: UInt64
  package var salt: UInt64
  package var offsets: Range<Offset>
  /// Events, without notices.
  package var events: UInt64
  package var notices: UInt64
  /// Accepted events without offsets that the notices tell of, by what became of them.
  package var overwritten: UInt64
  package var inHoles: UInt64
  package var fileBytes: UInt64
  /// The earliest and the latest time of the events, in nanoseconds since 1970; `nil` without events.
  package var times: ClosedRange<Int64>?

  /// The name of the log's directory at a destination.
  package var logName: String { SegmentFile.name(ofLog: logID) }

  static func checked(_ core: weir_segment, in directory: String) throws(WeirError) -> SegmentSummary {
    // Only a forged file ends before it begins.
    guard core.first_offset <= core.next_offset else {
      throw WeirError(.invalid, "a segment ends before it begins", path: directory)
    }
    return SegmentSummary(core)
  }

  private init(_ core: weir_segment) {
    logID = core.log_id
    opening = core.opening
    salt = core.salt
    offsets = core.first_offset..<core.next_offset
    events = core.events
    notices = core.notices
    overwritten = core.overwritten
    inHoles = core.in_holes
    fileBytes = core.file_bytes
    times = core.events > 0 && core.first_ns <= core.last_ns ? core.first_ns...core.last_ns : nil
  }

  /// Whether two files hold the same segment, raw or compressed.
  package func isSame(as other: SegmentSummary) -> Bool {
    salt == other.salt && offsets == other.offsets && logID == other.logID && opening == other.opening
  }
}

/// The file of a sealed segment. Nothing changes such a file; retention and batching remove it.
package enum SegmentFile {
  /// The name of a log at a destination: the log's id in 16 hexadecimal digits.
  package static func name(ofLog id: UInt64) -> String {
    let digits = String(id, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Reads what a segment in a log's directory says of itself.
  ///
  /// Throws `missing` (there is no such file), `invalid` (no segment of this log, or a damaged header or seal), and
  /// what ``LogDirectory/verify(onFinding:)`` throws.
  package static func read(_ name: SegmentName, in directory: String) throws(WeirError) -> SegmentSummary {
    try checkPath(directory)
    var core = weir_segment()
    try WeirError.check { weir_read_segment(directory, name.text, name.base, 1, &core, $0) }
    return try SegmentSummary.checked(core, in: directory)
  }

  /// Reads the same from a file of any log. The file may have any name; its suffix tells whether it is a batch segment.
  /// Checks header and seal alone. Returns `nil` if one of them is damaged, or if the file is no segment.
  package static func read(
    _ file: String, as name: SegmentName, in directory: String
  ) throws(WeirError) -> SegmentSummary? {
    try checkPath(directory)
    var core = weir_segment()
    do throws(WeirError) {
      try WeirError.check { weir_read_segment(directory, file, name.base, 0, &core, $0) }
      return try SegmentSummary.checked(core, in: directory)
    } catch {
      guard error.code == .invalid else { throw error }
      return nil
    }
  }

  /// Checks every byte of a segment's file, of any log. `file` is the file's present name; its suffix says whether it
  /// is a batch segment. Throws `invalid` with the first problem.
  package static func verify(
    _ file: String, as name: SegmentName, in directory: String
  ) throws(WeirError) -> SegmentSummary {
    try checkPath(directory)
    var core = weir_segment()
    var finding = weir_finding()
    try WeirError.check { weir_verify_segment(directory, file, name.base, &core, &finding, $0) }
    if let problem = finding.problem {
      throw WeirError(.invalid, "\(String(cString: problem)), at byte \(finding.position)", path: directory)
    }
    return try SegmentSummary.checked(core, in: directory)
  }

  /// Writes the batch segment of a raw segment to a new file. Throws `invalid` if the segment is damaged, and `missing`
  /// if there is no such raw segment.
  package static func pack(
    _ base: Offset, in directory: String, to file: String, in target: String
  ) throws(WeirError) {
    try checkPath(directory)
    try checkPath(target)
    try WeirError.check { weir_pack_segment(directory, base, target, file, $0) }
  }
}

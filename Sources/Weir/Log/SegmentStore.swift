// SegmentStore: a place where segments of logs are kept as files: `LOG/FIRST_OFFSET.weir.lz4`, where LOG is the log's
// id. So the directory of each log is a log for every reader, and names sort by log and by offset.

/// Keeps segments as files under their logs' ids.
///
/// A segment is written under a name that no reader knows, synced, and renamed, and the directory is synced. So a kill
/// at any moment leaves the segment there as a whole or not at all, and a segment that comes again is recognised by its
/// name and content. What an interrupted write left is removed by ``removeIncomplete()``.
package struct SegmentStore: Sendable {
  /// What became of a segment.
  package enum Arrival: Hashable, Sendable {
    case new
    /// The same segment was there already.
    case known
  }

  private static let prefix = "incoming-"

  /// The directory, with one directory for each log in it.
  package let path: String
  private let calls: SystemCalls

  package init(_ path: String, calls: SystemCalls = SystemCalls()) {
    self.path = absolutePath(path)
    self.calls = calls
  }

  /// Removes what interrupted writes left. Nobody else may be writing.
  package func removeIncomplete() throws(WeirError) {
    guard let root = try directory() else { return }
    for name in try calls.names(in: root) where Self.isLogName(name) { try removeIncomplete(ofLog: name) }
  }

  /// The same for one log.
  package func removeIncomplete(ofLog logName: String) throws(WeirError) {
    guard let root = try directory() else { return }
    let names = try calls.names(in: logName, of: root).filter { $0.hasPrefix(Self.prefix) }
    guard !names.isEmpty else { return }
    let log = try calls.openDirectory(logName, in: root)
    for name in names { try calls.unlink(name, in: log) }
  }

  /// Whether a text is a log's name: 16 hexadecimal digits.
  package static func isLogName(_ text: some StringProtocol) -> Bool {
    text.utf8.count == 16
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
  }

  /// Begins to write a segment. Makes the directories that are missing.
  package func begin(_ name: SegmentName, ofLog logName: String) throws(WeirError) -> IncomingSegment {
    guard Self.isLogName(logName) else {
      throw WeirError(.invalid, "\(logName.debugDescription) is no log's id; 16 hexadecimal digits are", path: path)
    }
    try calls.makeDirectories(path)
    let root = try calls.openDirectory(rootPath)
    try calls.makeDirectory(logName, in: root)
    try calls.syncDirectory(root)
    let log = try calls.openDirectory(logName, in: root)
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    let temporary = Self.prefix + digits + (name.isBatch ? ".weir.lz4" : ".weir")
    return IncomingSegment(
      name, logName, file: try calls.create(temporary, in: log), named: temporary, in: log, calls: calls)
  }

  /// With the slash, the path may be a link to the directory, such as one on another disk.
  private var rootPath: String { path.hasSuffix("/") ? path : path + "/" }

  private func directory() throws(WeirError) -> Descriptor? {
    do throws(WeirError) {
      return try calls.openDirectory(rootPath)
    } catch {
      guard error.code == .missing else { throw error }
      return nil
    }
  }
}

/// A segment that is being written. Belongs to one task or thread at a time.
package struct IncomingSegment: Sendable {
  package let name: SegmentName
  package let logName: String
  /// How many bytes were written.
  package private(set) var byteCount = 0

  private let file: Descriptor
  private let temporary: String
  private let directory: Descriptor
  private let calls: SystemCalls

  init(
    _ name: SegmentName, _ logName: String, file: Descriptor, named temporary: String, in directory: Descriptor,
    calls: SystemCalls
  ) {
    self.name = name
    self.logName = logName
    self.file = file
    self.temporary = temporary
    self.directory = directory
    self.calls = calls
  }

  package mutating func append(_ bytes: [UInt8]) throws(WeirError) {
    try calls.write(file, bytes, at: byteCount)
    byteCount += bytes.count
  }

  /// Removes what was written. Best effort: the next start removes it otherwise.
  package func discard() {
    try? calls.unlink(temporary, in: directory)
  }

  /// Checks every byte of the file. Throws `invalid` if something is wrong, or if it is another segment than its name
  /// says.
  package func verify() throws(WeirError) {
    let summary = try SegmentFile.verify(temporary, as: name, in: directory.path)
    guard summary.logName == logName else {
      throw WeirError(.invalid, "the segment is of the log \(summary.logName), and not of \(logName)")
    }
  }

  /// Gives the segment its name. It is on disk under that name when this returns, and the temporary file is gone.
  ///
  /// Throws `unsafe` if another segment has the name, and the errors of the system. After an error the segment may be
  /// there or not; write it again.
  package func finish() throws(WeirError) -> SegmentStore.Arrival {
    do throws(WeirError) {
      let own = try SegmentFile.read(temporary, as: name, in: directory.path)
      if try isThere(own) { return try keep() }
      try calls.syncData(file)
      // The disk may have taken long, and another segment may have got the name meanwhile.
      let isKnown = try Self.naming.withLock { _ throws(WeirError) -> Bool in
        guard try !isThere(own) else { return true }
        try calls.rename(temporary, to: name.text, in: directory)
        return false
      }
      guard !isKnown else { return try keep() }
      try calls.syncDirectory(directory)
      try removeDamaged()
      return .new
    } catch {
      discard()
      throw error
    }
  }

  /// Held between the check of what a name has and the rename: two copies of a log may send different segments of one
  /// name at once, and only one of them may be accepted.
  private static let naming = Lock(0)

  /// Whether the segment is there. Throws `unsafe` if another one has its name.
  private func isThere(_ own: SegmentSummary?) throws(WeirError) -> Bool {
    if let there = try summary(other), try isSame(there, own) {
      guard try !isWhole(other), try isOwnWhole else { return true }
    }
    guard let there = try summary(name), try isSame(there, own) else { return false }
    guard try !hasSameBytes() else { return true }
    return try !isOwnWhole
  }

  /// The segment's name in its other form, raw or compressed.
  private var other: SegmentName { SegmentName(base: name.base, isBatch: !name.isBatch) }

  /// The segment is there. It may have got its name just before a kill, so its name must reach the disk.
  private func keep() throws(WeirError) -> SegmentStore.Arrival {
    discard()
    try calls.syncDirectory(directory)
    try removeDamaged()
    return .known
  }

  /// Of two files of a segment, readers take the raw one. So a damaged file in the other form is removed, but only after
  /// the whole file has its name on disk.
  private func removeDamaged() throws(WeirError) {
    guard try calls.open(other.text, in: directory, forWriting: false) != nil else { return }
    guard try isWhole(name), try !isWhole(other) else { return }
    try calls.unlink(other.text, in: directory)
    try calls.syncDirectory(directory)
  }

  /// Whether the segment that was written is whole.
  private var isOwnWhole: Bool {
    get throws(WeirError) {
      do throws(WeirError) {
        _ = try SegmentFile.verify(temporary, as: name, in: directory.path)
        return true
      } catch {
        guard error.code == .invalid else { throw error }
        return false
      }
    }
  }

  /// Whether the file of this name is whole. A file that the disk can't read is not.
  private func isWhole(_ name: SegmentName) throws(WeirError) -> Bool {
    do throws(WeirError) {
      _ = try SegmentFile.verify(name.text, as: name, in: directory.path)
      return true
    } catch {
      guard error.code == .missing || error.code == .invalid || error.code == .io else { throw error }
      return false
    }
  }

  /// The segment of this name that is there. `nil` if there is none, or only a damaged file, which is replaced.
  private func summary(_ name: SegmentName) throws(WeirError) -> SegmentSummary? {
    do throws(WeirError) {
      return try SegmentFile.read(name.text, as: name, in: directory.path)
    } catch {
      guard error.code == .missing || error.code == .invalid else { throw error }
      return nil
    }
  }

  private func isSame(_ there: SegmentSummary, _ own: SegmentSummary?) throws(WeirError) -> Bool {
    // A damaged segment can't be told from another one.
    guard let own, !there.isSame(as: own) else { return own != nil }
    throw WeirError(
      .unsafe,
      "\(directory.path) has another segment at offset \(name.base): the log \(logName) was restored or copied, and "
        + "went on; keep the copies apart", path: directory.path)
  }

  private func hasSameBytes() throws(WeirError) -> Bool {
    guard let there = try calls.open(name.text, in: directory, forWriting: false),
      try calls.byteCount(of: there) == byteCount
    else { return false }
    var place = 0
    while place < byteCount {
      let count = min(1 << 20, byteCount - place)
      guard try calls.read(there, count, at: place) == calls.read(file, count, at: place) else { return false }
      place += count
    }
    return true
  }
}

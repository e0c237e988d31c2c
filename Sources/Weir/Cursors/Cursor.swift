// Cursor: the position of a log's follower, stored in DIR/cursors.

/// A durable position in a log, stored in the file `cursors/NAME` of the log's directory.
///
/// **Crash.** The file has two slots, which are written in turns. They lie 4 KiB apart, so no disk sector holds both.
/// Whenever the process dies or the power fails, at least one slot is intact. It holds the position of the last
/// ``move(to:)`` that returned, or a later one. If both slots are intact, the higher sequence counts. A new file is
/// written under another name first, so a cursor either exists completely or not at all. If neither slot is intact, the
/// cursor is damaged: its follower starts from the beginning of the log, and reports that. A position may be behind
/// what was done, never ahead of it, so a follower repeats what it did after the last move.
///
/// **Cost.** A move costs one write and one sync of the disk. The first move makes the file.
///
/// **Threads.** Belongs to one thread. Takes no lock, so the caller must ensure that only one follower uses the name.
/// One overlap is possible: the inspector's thread may briefly outlive its tracker while another opening moves the same
/// cursor. Each moves the cursor only to what it has done, and the later move, or the one before it, counts. At worst,
/// the follower repeats some work.
package final class Cursor {
  /// The result of opening or reading a cursor.
  package enum Found: Hashable, Sendable {
    /// The cursor does not exist yet.
    case nothing
    case position(CursorPosition)
    /// Neither slot is intact.
    case damaged
  }

  package static let slotStride = 4096
  package static let directoryName = "cursors"
  /// The maximum length of a provider's name, in bytes.
  package static let maximumNameBytes = 64

  package let name: String
  package let found: Found

  private let calls: SystemCalls
  private let directory: Descriptor
  private var file: Descriptor?
  private var sequence: UInt64 = 0
  /// The slot to write next: not the slot that counts.
  private var next = 1

  /// Opens the cursor `name` of the log in `logDirectory`. Makes the directory `cursors` if it is missing.
  ///
  /// `name` consists of letters, digits, `-`, `_` and `.`. Provider names have no dots: names with dots are reserved
  /// for the log's own cursors and for files that are being made.
  ///
  /// Throws `version` if a newer version of the library wrote the cursor, or a system error.
  package init(_ name: String, of logDirectory: String, calls: SystemCalls = SystemCalls()) throws(WeirError) {
    self.name = name
    self.calls = calls
    let log = try calls.openDirectory(logDirectory)
    try calls.makeDirectory(Self.directoryName, in: log)
    directory = try calls.openDirectory(Self.directoryName, in: log)
    guard let file = try calls.open(name, in: directory) else {
      // Needed even if the directory exists: an earlier process may have died between making the directory and
      // syncing it.
      try calls.syncDirectory(log)
      found = .nothing
      return
    }
    let best = try Self.best(of: file, calls)
    if let best { next = 1 - best.index }
    sequence = best?.slot.sequence ?? 0
    found = best.map { .position($0.slot.position) } ?? .damaged
    // A file without an intact slot is made again: no slot could stay intact while the other one is written.
    if best != nil { self.file = file }
  }

  /// Reads the cursor `name` of the log in `logDirectory`, which another thread or process may be moving. Writes
  /// nothing.
  ///
  /// Throws what ``init(_:of:calls:)`` throws.
  package static func read(
    _ name: String, of logDirectory: String, calls: SystemCalls = SystemCalls()
  ) throws(WeirError) -> Found {
    let log = try calls.openDirectory(logDirectory)
    guard let file = try calls.open("\(directoryName)/\(name)", in: log, forWriting: false) else { return .nothing }
    return try best(of: file, calls).map { .position($0.slot.position) } ?? .damaged
  }

  /// Removes the cursor `name` and its accompanying files, including the lock, which the caller holds. The removal is
  /// on disk when this returns.
  package static func remove(_ name: String, of logDirectory: String, calls: SystemCalls) throws(WeirError) {
    let directory = try calls.openDirectory(directoryName, in: try calls.openDirectory(logDirectory))
    // The lock is removed last. So a process that takes the lock afterwards finds no cursor.
    let files = [
      "", ".new", ".user", ".user.new", ".users", ".users.new", ".plan", ".plan.new", ".backoff", ".backoff.new",
      ".lock",
    ]
    for file in files { try calls.unlink(name + file, in: directory) }
    try calls.syncDirectory(directory)
  }

  /// Returns the intact slot with the higher sequence, and its index.
  private static func best(
    of file: Descriptor, _ calls: SystemCalls
  ) throws(WeirError) -> (slot: CursorSlot, index: Int)? {
    var best: (slot: CursorSlot, index: Int)?
    for index in 0..<2 {
      switch CursorSlot.read(try calls.read(file, CursorSlot.byteCount, at: index * slotStride)) {
      case .slot(let slot):
        guard slot.sequence > best?.slot.sequence ?? 0 else { continue }
        best = (slot, index)
      case .damaged: continue
      case .newer(let version):
        throw WeirError(
          .version, "\(file.path) has version \(version), which is newer than this library; update the library",
          path: file.path)
      }
    }
    return best
  }

  /// Throws `invalid` if the name can't be a provider's.
  package static func checkProviderName(_ name: String) throws(WeirError) {
    guard isProviderName(name) else {
      throw WeirError(
        .invalid,
        "\(name.debugDescription) is no provider name; use 1 to \(maximumNameBytes) letters, digits, - and _")
    }
  }

  /// Whether a file name in `cursors` may be a provider's: at most 64 letters, digits, `-` and `_`.
  package static func isProviderName(_ name: String) -> Bool {
    (1...maximumNameBytes).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }

  /// Stores a position. The position is on disk when this returns.
  ///
  /// If this throws, the stored position is either the previous one or this one. The call may be repeated.
  package func move(to position: CursorPosition) throws(WeirError) {
    precondition(position.certain <= position.offset)
    if sequence == .max {
      // Only a forged file has this sequence. The file is made again, and counts from 1.
      file = nil
      sequence = 0
    }
    let slot = CursorSlot(sequence: sequence + 1, position: position)
    if let file {
      try calls.write(file, slot.bytes, at: next * Self.slotStride)
      try calls.syncData(file)
    } else {
      file = try make(slot.bytes)
    }
    // After a failed sync, the slot may be on disk or not. The next move writes the same slot, and the other stays
    // intact.
    sequence = slot.sequence
    next = 1 - next
  }

  /// Makes the file, with the same slot in both places.
  private func make(_ bytes: [UInt8]) throws(WeirError) -> Descriptor {
    let newName = name + ".new"
    try calls.unlink(newName, in: directory)
    let made = try calls.create(newName, in: directory)
    for index in 0..<2 { try calls.write(made, bytes, at: index * Self.slotStride) }
    try calls.syncData(made)
    try calls.rename(newName, to: name, in: directory)
    try calls.syncDirectory(directory)
    return made
  }
}

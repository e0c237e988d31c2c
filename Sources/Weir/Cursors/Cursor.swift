// Cursor: how far a follower of a log has come, kept on the disk in DIR/cursors.

/// A durable position in a log, in the file `cursors/NAME` of its directory.
///
/// The file has two slots, 4 KiB apart so that no sector of a disk holds both, which are written in turns: whenever the
/// process dies or the power fails, at least one is whole, with the position of the last ``move(to:)`` that returned or
/// a later one. Of two whole slots the one with the higher sequence counts.
///
/// A move costs one write and one sync of the disk; the first one makes the file. The file is made under another name,
/// so a cursor is either not there or whole. Where neither slot counts, the cursor is damaged: its follower starts over
/// from the log's beginning, and says so. A position may be behind what was done, never ahead of it: a follower does
/// again what it did after its last move.
///
/// Belongs to one thread. It takes no lock: who follows a log in this name must be settled otherwise. The inspector's
/// thread may outlive its tracker for a moment, and another opening have its own by then; of two that move a cursor,
/// each to what was done, the later move counts or the one before it, so at worst its follower does again what was
/// done.
package final class Cursor {
  /// What an opening found.
  package enum Found: Hashable, Sendable {
    /// There is no such cursor yet.
    case nothing
    case position(CursorPosition)
    /// Neither slot counts.
    case damaged
  }

  package static let slotStride = 4096
  package static let directoryName = "cursors"
  /// The longest name of a provider.
  package static let maximumNameBytes = 64

  package let name: String
  package let found: Found

  private let calls: SystemCalls
  private let directory: Descriptor
  private var file: Descriptor?
  private var sequence: UInt64 = 0
  /// The slot to be written next: not the one that counts.
  private var next = 1

  /// Opens the cursor `name` of the log in `logDirectory`; makes the directory `cursors` if it is missing.
  ///
  /// A `name` has letters, digits, `-`, `_` and `.`; providers' have no dots, so that those are left for the log's own
  /// and for a file that is being made.
  ///
  /// Throws `version` if a newer version of the library wrote it, and what the system may say.
  package init(_ name: String, of logDirectory: String, calls: SystemCalls = SystemCalls()) throws(WeirError) {
    self.name = name
    self.calls = calls
    let log = try calls.openDirectory(logDirectory)
    try calls.makeDirectory(Self.directoryName, in: log)
    directory = try calls.openDirectory(Self.directoryName, in: log)
    guard let file = try calls.open(name, in: directory) else {
      // Also if the directory was there: a process before may have died between making it and this.
      try calls.syncDirectory(log)
      found = .nothing
      return
    }
    let best = try Self.best(of: file, calls)
    if let best { next = 1 - best.index }
    sequence = best?.slot.sequence ?? 0
    found = best.map { .position($0.slot.position) } ?? .damaged
    // A file without a whole slot has none to leave alone while the other is written: it is made anew.
    if best != nil { self.file = file }
  }

  /// Looks at the cursor `name` of the log in `logDirectory`, whoever moves it. Writes nothing.
  ///
  /// Throws as ``init(_:of:calls:)`` does.
  package static func read(
    _ name: String, of logDirectory: String, calls: SystemCalls = SystemCalls()
  ) throws(WeirError) -> Found {
    let log = try calls.openDirectory(logDirectory)
    guard let file = try calls.open("\(directoryName)/\(name)", in: log, forWriting: false) else { return .nothing }
    return try best(of: file, calls).map { .position($0.slot.position) } ?? .damaged
  }

  /// Removes the cursor `name` and what is kept beside it, the lock too, which the caller holds. On the disk when this
  /// returns.
  package static func remove(_ name: String, of logDirectory: String, calls: SystemCalls) throws(WeirError) {
    let directory = try calls.openDirectory(directoryName, in: try calls.openDirectory(logDirectory))
    // The lock last: whoever gets it after that finds no cursor.
    for file in ["", ".new", ".user", ".user.new", ".lock"] { try calls.unlink(name + file, in: directory) }
    try calls.syncDirectory(directory)
  }

  /// The whole slot with the higher sequence, and which of the two it is.
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
          .version, "\(file.path) has version \(version), which is newer than this library; update it",
          path: file.path)
      }
    }
    return best
  }

  /// Whether a file in `cursors` may be a provider's cursor: letters, digits, `-` and `_`, 64 of them at most.
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

  /// Keeps a position. It is on the disk when this returns.
  ///
  /// If this throws, the position is the one before or this one; it may be called again.
  package func move(to position: CursorPosition) throws(WeirError) {
    precondition(position.certain <= position.offset)
    let slot = CursorSlot(sequence: sequence + 1, position: position)
    if let file {
      try calls.write(file, slot.bytes, at: next * Self.slotStride)
      try calls.syncData(file)
    } else {
      file = try make(slot.bytes)
    }
    // After a sync that failed the slot may be there or not: the next move goes to the same place, the other is whole.
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

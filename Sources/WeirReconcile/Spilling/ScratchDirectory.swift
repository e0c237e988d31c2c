// ScratchDirectory: a directory for files that nobody needs afterwards.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A directory for this user alone.
///
/// The directory of a comparison has a name that only the same comparison has. So a process that was killed leaves its
/// files to the next one that compares the same: that one goes on behind the reading of both sides, if that was done.
struct ScratchDirectory {
  private static let lockName = "scratch.lock"
  private static let checkpointName = "checkpoint"
  private static let prefix = "weir-reconcile-"
  /// Of directories that no other process goes on with.
  private static let oncePrefix = prefix + "once-"

  private let comparison: String?
  private let path: String
  private let directory: Descriptor
  /// Held as long as the directory is used.
  private let lock: Descriptor
  private let calls = SystemCalls()

  /// The state of the files, and what has to be the same for the next process.
  private struct Checkpoint<State: Codable>: Codable {
    var comparison: String
    /// Of the kernel: files need not be on the disk, so a start of the machine voids them.
    var boot: String
    var state: State
  }

  /// Makes or opens the directory of a comparison, which is `nil` if no other process can go on with it. The directory
  /// lies in `parent`: by default in that of TMPDIR, or in `/tmp`. Throws what making a directory throws.
  init(in parent: String?, for comparison: String?) throws(WeirError) {
    self.comparison = comparison
    let parent = parent ?? ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    var hash = WordHash(16)
    hash.add(comparison ?? "")
    let once = Self.oncePrefix + UUID().uuidString
    var name = comparison == nil ? once : Self.prefix + String(hash.value, radix: 16)
    do throws(WeirError) {
      let folder = try calls.openDirectory(parent + "/.")
      Self.removeLeft(in: folder, parent, calls)
      let kept = try Self.opened(name, in: folder, calls)
      if kept == nil { name = once }
      let found = if let kept { kept } else { try Self.opened(name, in: folder, calls) }
      guard let found else { throw WeirError(.unsafe, "\(name) is another user's", path: parent) }
      (directory, lock) = found
      path = "\(parent)/\(name)"
    } catch {
      throw WeirError(
        error.code, "no directory for scratch files can be made in \(parent): \(error.message); name another directory",
        path: parent, systemError: error.systemError)
    }
  }

  /// Removes what killed processes left, and no process goes on with.
  private static func removeLeft(in folder: Descriptor, _ parent: String, _ calls: SystemCalls) {
    for name in (try? calls.names(in: folder)) ?? [] where name.hasPrefix(oncePrefix) {
      guard (try? opened(name, in: folder, calls)) ?? nil != nil else { continue }
      try? FileManager.default.removeItem(atPath: "\(parent)/\(name)")
    }
  }

  /// `nil` for a directory that another user made, and for one that another process uses at present.
  private static func opened(
    _ name: String, in folder: Descriptor, _ calls: SystemCalls
  ) throws(WeirError) -> (Descriptor, Descriptor)? {
    try calls.makeDirectory(name, in: folder)
    let directory = try calls.openDirectory(name, in: folder)
    guard calls.isPrivate(directory) else { return nil }
    let known = try calls.open(lockName, in: directory)
    let file = if let known { known } else { try calls.create(lockName, in: directory) }
    return try calls.lock(file) ? (directory, file) : nil
  }

  /// Opens a directory in this one, with or without what a process before left in it.
  func directory(_ name: String, isKept: Bool) throws(WeirError) -> Descriptor {
    if !isKept { try? FileManager.default.removeItem(atPath: "\(path)/\(name)") }
    try calls.makeDirectory(name, in: directory)
    return try calls.openDirectory(name, in: directory)
  }

  /// The state that a process before kept; `nil` if there is none for this comparison.
  func kept<State: Codable>(_ type: State.Type) throws(WeirError) -> State? {
    guard let comparison, let file = try calls.open(Self.checkpointName, in: directory, forWriting: false) else {
      return nil
    }
    let bytes = try calls.read(file, calls.byteCount(of: file), at: 0)
    let found = try? JSONDecoder().decode(Checkpoint<State>.self, from: Data(bytes))
    guard let found, found.comparison == comparison, found.boot == boot else { return nil }
    return found.state
  }

  /// Keeps the state of the files for another process.
  func keep(_ state: some Codable) throws(WeirError) {
    guard let comparison else { return }
    let checkpoint = Checkpoint(comparison: comparison, boot: boot, state: state)
    guard let bytes = try? JSONEncoder().encode(checkpoint) else { return }
    let new = Self.checkpointName + ".new"
    try calls.unlink(new, in: directory)
    try calls.write(calls.create(new, in: directory), Array(bytes), at: 0)
    try calls.rename(new, to: Self.checkpointName, in: directory)
  }

  private var boot: String {
    (try? calls.contents(of: "/proc/sys/kernel/random/boot_id", atMost: 64)).map { String(decoding: $0, as: UTF8.self) }
      ?? ""
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}

// LogRemoval: removes the directory of a log that has no writer and is completely delivered.

#if Tool
  import Foundation
  import Weir
  import WeirDelivery

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  enum LogRemoval {
    /// Removes the log in `directory` as a whole. Otherwise returns the reason, and leaves the log as it is.
    ///
    /// The log is removed if no process writes the log, if all its known providers, including `names`, have settled all
    /// events, and if the directory has no data that exists nowhere else: dead letters, quarantined bytes, violations,
    /// and files that are no part of a log, such as another log, or delivered files in a subdirectory. The writer's
    /// lock is held from before the check to the end, so that no process opens the log meanwhile and loses its
    /// captures.
    static func remove(_ directory: String, deliveredTo names: [String]) throws -> String? {
      guard let lock = WriterLock(of: directory) else { return "a process writes the log" }
      defer { withExtendedLifetime(lock) {} }
      let log = LogDirectory(directory)
      let ledger = try log.ledger()
      for name in names where ledger[name] == nil { return "\(name) has no position in the log" }
      // If the cursor can't be read, the provider may start over.
      if let entry = ledger.entries.first(where: { $0.error != nil }) {
        return "the position of \(entry.provider) in the log is unknown: \(entry.error ?? "")"
      }
      for entry in ledger.entries where entry.pending > 0 {
        return "\(entry.provider) has \(Quantity.count(entry.pending)) pending events"
      }
      if let entry = ledger.entries.first(where: { ($0.lost[.damaged] ?? 0) > 0 }) {
        return "\(Quantity.count(entry.lost[.damaged] ?? 0)) events are damaged"
      }
      let kept = [("dead-letters", "dead letters"), ("quarantine", "damaged bytes"), ("violations", "violations")]
      for (name, what) in kept where !isEmpty("\(directory)/\(name)") { return "the directory holds \(what)" }
      let names = try FileManager.default.contentsOfDirectory(atPath: directory)
      if let stranger = names.sorted().first(where: { !isPart($0) }) {
        return "the directory holds \(Terminal.quoted(stranger)), which is no part of a log"
      }
      try removeFiles(directory, names)
      return nil
    }

    /// Returns whether files or directories with this name are part of a log, according to the format's page.
    static func isPart(_ name: String) -> Bool {
      if parts.contains(name) { return true }
      if let number = ["prepared-", "batch-"].first(where: { name.hasPrefix($0) }).map({ name.dropFirst($0.count) }) {
        return isNumber(number)
      }
      let base = name.prefix { $0 != "." }
      guard base.count == 20, isNumber(base) else { return false }
      return [".weir", ".weir.active", ".weir.lz4"].contains(name.dropFirst(20))
    }

    private static let parts: Set<String> = [
      "lock", "ring", "ring.at", "ring.at.new", "ring.new", "start", "start.new", "recovery", "recovery.new",
      "quarantine", "cursors", "violations", "dead-letters", "attempts", "collected", "collected.new",
    ]

    private static func isNumber(_ text: Substring) -> Bool {
      !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func isEmpty(_ directory: String) -> Bool {
      do {
        return try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty
      } catch CocoaError.fileReadNoSuchFile {
        return true
      } catch {
        return false
      }
    }

    /// Removes the files in order. The cursors are removed after the segments, so that after a kill nothing is
    /// delivered again. The lock is removed last: an earlier opening finds the log locked, a later opening finds no
    /// log.
    private static func removeFiles(_ directory: String, _ names: [String]) throws {
      let last = ["cursors", WriterLock.fileName]
      for name in names.filter({ !last.contains($0) }) + names.filter({ $0 == "cursors" }) {
        try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
      }
      // An error here means that somebody added a file meanwhile. The file stays.
      guard unlink("\(directory)/\(WriterLock.fileName)") == 0, rmdir(directory) == 0 else {
        throw ToolError(
          "\(directory) can't be removed: \(systemMessage(errno)); its events are delivered; look at the files that are "
            + "left in it, then remove the directory")
      }
    }
  }
#endif

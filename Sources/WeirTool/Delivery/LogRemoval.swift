// LogRemoval.swift: removes the directory of a log that nobody writes and that everybody has got.

#if Tool
  import Foundation
  import Glibc
  import Weir
  import WeirDelivery

  enum LogRemoval {
    /// Removes the log in `directory` as a whole, or answers why not and leaves it as it is.
    ///
    /// It goes if no process writes it, all providers that it knows of have everything, `name`s among them, and there
    /// is nothing in it that is nowhere else: dead letters, quarantined bytes, violations, and whatever is no part of a
    /// log, such as another log or what was delivered, if that went to a directory in this one. The writer's lock is
    /// held from before the look to the end, so nobody opens the log meanwhile and captures into what is about to go.
    static func remove(_ directory: String, deliveredTo names: [String]) throws -> String? {
      guard let lock = WriterLock(of: directory) else { return "a process writes it" }
      defer { withExtendedLifetime(lock) {} }
      let log = LogDirectory(directory)
      let ledger = try log.ledger()
      for name in names where ledger[name] == nil { return "\(name) has no place in it" }
      // Where its cursor can't be read, nobody knows what it has: it may start over.
      if let entry = ledger.entries.first(where: { $0.error != nil }) {
        return "the place of \(entry.provider) in it is not known: \(entry.error ?? "")"
      }
      for entry in ledger.entries where entry.pending > 0 {
        return "\(entry.provider) is yet to be given \(Quantity.count(entry.pending)) events"
      }
      if let entry = ledger.entries.first(where: { ($0.lost[.damaged] ?? 0) > 0 }) {
        return "\(Quantity.count(entry.lost[.damaged] ?? 0)) events in it are damaged"
      }
      let kept = [("dead-letters", "dead letters"), ("quarantine", "damaged bytes"), ("violations", "violations")]
      for (name, what) in kept where !isEmpty("\(directory)/\(name)") { return "it holds \(what)" }
      let names = try FileManager.default.contentsOfDirectory(atPath: directory)
      if let stranger = names.sorted().first(where: { !isPart($0) }) {
        return "it holds \(Terminal.quoted(stranger)), which is no part of it"
      }
      try removeFiles(directory, names)
      return nil
    }

    /// Whether the directory of a log has files and directories of this name: those of the format's page, and no other.
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
      "quarantine", "cursors", "violations", "dead-letters", "attempts",
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

    /// The cursors after what they are about, so that after a kill on the way nothing is delivered again. The lock goes
    /// last: who comes before that finds the log locked, who comes after it finds no log.
    private static func removeFiles(_ directory: String, _ names: [String]) throws {
      let last = ["cursors", WriterLock.fileName]
      for name in names.filter({ !last.contains($0) }) + names.filter({ $0 == "cursors" }) {
        try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
      }
      // An error here means that somebody put something there meanwhile: that stays.
      guard unlink("\(directory)/\(WriterLock.fileName)") == 0, rmdir(directory) == 0 else {
        throw ToolError("\(directory) can't be removed: \(systemMessage(errno)); its events were delivered")
      }
    }
  }
#endif

// Session.swift: one run: where its logs go, what it has measured, and what it had to leave out.
import Foundation

final class Session {
  private(set) var outcomes: [Outcome] = []
  private(set) var skipped: [(name: String, reason: String)] = []
  /// What the reader of the tables should know.
  private(set) var notes: [String] = []
  private let folder: URL
  private let memory = URL(fileURLWithPath: "/dev/shm/weir-bench-\(getpid())")

  init(folder: URL) {
    self.folder = folder
  }

  func add(_ outcome: Outcome) { outcomes.append(outcome) }

  func note(_ text: String) {
    if !notes.contains(text) { notes.append(text) }
  }

  func isSkipped(_ name: String) -> Bool { skipped.contains { $0.name == name } }

  /// Runs `body`; a subject that cannot be measured here is left out from then on, with the reason.
  func attempt(_ name: String, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let skip as Skipped {
      skipped.append((name, skip.reason))
    } catch {
      throw SubjectFailure(description: "\(name): \(error)")
    }
  }

  /// Gives `body` an empty folder and removes it afterwards.
  func inFolder(inMemory: Bool = false, _ body: (String) throws -> Void) throws {
    let place = (inMemory ? memory : folder).appendingPathComponent("round", isDirectory: true)
    try? FileManager.default.removeItem(at: place)
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    try body(place.path)
  }

  func end() {
    try? FileManager.default.removeItem(at: folder)
    try? FileManager.default.removeItem(at: memory)
  }

  /// The line of a measurement, for ratios.
  func line(_ bench: String, _ subject: String, threads: Int = 1, eventBytes: Int = 48, ring: String? = nil)
    -> ResultLine?
  {
    outcomes.first {
      $0.bench == bench && $0.subject == subject && $0.threads == threads && $0.eventBytes == eventBytes
        && $0.ring == ring
    }?.line
  }
}

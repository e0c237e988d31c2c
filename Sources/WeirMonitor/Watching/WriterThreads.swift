// WriterThreads: the threads of Weir's in the process that captures to a log, as the kernel shows them.

import Foundation
import Weir

/// Finds the process that has a log's ring mapped, and what its threads of Weir's have taken of the processors.
///
/// Sees processes of the same user alone, or of all users as root. Belongs to one thread at a time.
final class WriterThreads {
  private static let names: Set = [
    "weir-drain", "weir-prepare", "weir-prefault", "weir-seal", "weir-batch", "weir-inspect", "weir-deliver",
    "weir-flush", "weir-segment", "weir-process",
  ]
  /// The time between two searches for a process. A search reads the threads of all processes of the user.
  private static let pause = Duration.seconds(10)

  private let directory: String
  private let files = FileManager.default
  private var process: String?
  private var nextSearch: ContinuousClock.Instant?

  init(_ log: LogDirectory) {
    directory = URL(fileURLWithPath: log.path).resolvingSymlinksInPath().path
  }

  /// One line for each thread; none if no process is seen.
  func lines() -> [String] {
    if let known = process, !hasMapped(known) { process = nil }
    if process == nil { search() }
    guard let process else { return [] }
    return threads(of: process).map { name, seconds in
      "\(name) of process \(process): \(String(format: "%.2f", seconds)) s of processor time"
    }
  }

  private func search() {
    if let nextSearch, ContinuousClock.now < nextSearch { return }
    nextSearch = .now + Self.pause
    let processes = (try? files.contentsOfDirectory(atPath: "/proc")) ?? []
    process = processes.first { name in
      name.utf8.allSatisfy { (0x30...0x39).contains($0) } && !threads(of: name).isEmpty && hasMapped(name)
    }
  }

  /// Whether a process has a file of the log's mapped. Others' maps can't be read.
  private func hasMapped(_ process: String) -> Bool {
    text("/proc/\(process)/maps").split(separator: "\n").contains { line in
      guard let path = line.firstIndex(of: "/") else { return false }
      let file = line[path...]
      return file.hasPrefix(directory + "/") && !file.dropFirst(directory.utf8.count + 1).contains("/")
    }
  }

  private func threads(of process: String) -> [(name: String, seconds: Double)] {
    let tasks = "/proc/\(process)/task"
    return ((try? files.contentsOfDirectory(atPath: tasks)) ?? []).compactMap { task in
      let name = text("\(tasks)/\(task)/comm").trimmingCharacters(in: .newlines)
      guard Self.names.contains(name) else { return nil }
      // Behind the name in parentheses: 11 further numbers, then the time in user mode and in system mode.
      let numbers = text("\(tasks)/\(task)/stat").split(separator: ")").last?.split(separator: " ") ?? []
      let ticks = numbers.dropFirst(11).prefix(2).compactMap { Double($0) }.reduce(0, +)
      return (name, ticks / Double(sysconf(Int32(_SC_CLK_TCK))))
    }.sorted { $0.name < $1.name }
  }

  private func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}

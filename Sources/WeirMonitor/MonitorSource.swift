// MonitorSource: the logs that a monitor shows, by name.

#if Monitor
  import Foundation
  import HTTPTypes
  import Synchronization
  import Weir

  /// One log, or the logs in the subdirectories of a directory.
  final class MonitorSource: Sendable {
    private let directory: String
    private let watches = Mutex<[String: LogWatch]>([:])

    /// Shows the log in a directory, or the logs in its subdirectories. Neither has to be there yet.
    init(_ directory: String) {
      self.directory = directory
    }

    /// The names of the logs. A directory without logs is taken for a log that is to come.
    private var names: [String] {
      let log = LogDirectory(directory)
      let own = URL(fileURLWithPath: directory).lastPathComponent
      if (try? log.tally(from: .max)) != nil { return [own] }
      let entries = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
      let logs = entries.sorted().filter { (try? LogDirectory("\(directory)/\($0)").tally(from: .max)) != nil }
      return logs.isEmpty ? [own] : logs
    }

    /// The names and paths of the logs, as JSON.
    var list: FieldValue {
      .array(names.map { .object(["name": .string($0), "path": .string(path(of: $0))]) })
    }

    private func path(of name: String) -> String {
      let own = URL(fileURLWithPath: directory).lastPathComponent
      return name == own && !isFamily ? directory : "\(directory)/\(name)"
    }

    /// Whether the logs lie in subdirectories.
    private var isFamily: Bool {
      names != [URL(fileURLWithPath: directory).lastPathComponent]
    }

    /// The log of a name, or the first one. Throws `404` for a name that is not in ``list``.
    func watch(_ name: String?) throws(MonitorProblem) -> LogWatch {
      let names = names
      guard let name = name ?? names.first, names.contains(name) else {
        throw MonitorProblem(
          .notFound, "there is no log \((name ?? "").cut(to: 100)); the logs are \(names.joined(separator: ", "))")
      }
      let path = path(of: name)
      return watches.withLock { watches in
        if let known = watches[path] { return known }
        let watch = LogWatch(LogDirectory(path))
        watches[path] = watch
        return watch
      }
    }
  }
#endif

// MonitorSource: the logs that a monitor shows, by name.

#if Monitor
  import Foundation
  import HTTPTypes
  import Synchronization
  import Weir

  /// One log, or the logs in the subdirectories of a directory.
  final class MonitorSource: Sendable {
    private let directory: String
    /// The directory without links, as cookies name it.
    var path: String { URL(fileURLWithPath: directory).resolvingSymlinksInPath().path }
    private let watches = Mutex<[String: LogWatch]>([:])
    /// The logs as of the last look at the directory: a family may have hundreds, and each is opened to know it.
    private let known = Mutex<(at: ContinuousClock.Instant, paths: [(name: String, path: String)])?>(nil)
    private static let pause = Duration.seconds(1)

    /// Shows the log in a directory, or the logs in its subdirectories. Neither has to be there yet.
    init(_ directory: String) {
      self.directory = directory
    }

    /// The paths of the logs by name, as of the last second.
    private var paths: [(name: String, path: String)] {
      known.withLock { known in
        if let known, ContinuousClock.now < known.at + Self.pause { return known.paths }
        var paths = Self.paths(in: directory)
        // The first one stays the first: a page that asks for no name goes on with its log.
        if let first = known?.paths.first?.name, let place = paths.firstIndex(where: { $0.name == first }) {
          paths.insert(paths.remove(at: place), at: 0)
        }
        known = (.now, paths)
        return paths
      }
    }

    /// A directory without logs is taken for a log that is to come.
    private static func paths(in directory: String) -> [(name: String, path: String)] {
      let own = [(name: URL(fileURLWithPath: directory).lastPathComponent, path: directory)]
      if isLog(directory) { return own }
      let entries = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
      let logs = entries.map { (name: $0, path: "\(directory)/\($0)") }.filter { isLog($0.path) }
      return logs.isEmpty ? own : logs
    }

    /// Whether a directory holds a log, also one that can't be read: its page says why.
    private static func isLog(_ path: String) -> Bool {
      do throws(WeirError) {
        _ = try EventReader(directory: path)
        return true
      } catch {
        return error.code != .missing && error.code != .directory
      }
    }

    /// The names and paths of the logs, as JSON.
    var list: FieldValue {
      .array(paths.map { .object(["name": .string($0.name), "path": .string($0.path)]) })
    }

    /// The log of a name, or the first one. Throws `404` for a name that is not in ``list``.
    func watch(_ name: String?) throws(MonitorProblem) -> LogWatch {
      let paths = paths
      guard let path = paths.first(where: { name == nil || $0.name == name })?.path else {
        let names = paths.map(\.name).joined(separator: ", ").cut(to: 1_000)
        throw MonitorProblem(.notFound, "there is no log \((name ?? "").cut(to: 100)); the logs are \(names)")
      }
      return watches.withLock { watches in
        if let known = watches[path] { return known }
        let watch = LogWatch(LogDirectory(path))
        watches[path] = watch
        return watch
      }
    }
  }
#endif

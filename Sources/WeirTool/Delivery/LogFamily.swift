// LogFamily: the logs in the subdirectories of a directory, as a pre-fork server leaves them: live processes
// write some of the logs, dead processes left the others.

#if Tool
  import Foundation
  import Weir

  struct LogFamily {
    /// The directories of the logs, in order of their names.
    let logs: [String]
    /// Messages about directories that could not be read.
    let complaints: [String]

    /// Returns whether `directory` itself holds a log. Throws if there is no such directory.
    static func isLog(_ directory: String) throws(WeirError) -> Bool {
      do throws(WeirError) {
        _ = try LogDirectory(directory).statistics()
        return true
      } catch {
        if error.code == .missing, error.systemError != ENOENT { return false }
        throw error
      }
    }

    /// Reads the subdirectories of `parent`. Symbolic links are not followed. Throws if the directory does not exist.
    init(_ parent: String) throws {
      let names: [String]
      do {
        names = try FileManager.default.contentsOfDirectory(atPath: parent).sorted()
      } catch {
        throw ToolError("\(parent) can't be read; name a log's directory, or a directory with logs in subdirectories")
      }
      var logs: [String] = []
      var complaints: [String] = []
      for name in names {
        let path = (parent as NSString).appendingPathComponent(name)
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard attributes?[.type] as? FileAttributeType == .typeDirectory else { continue }
        do throws(WeirError) {
          if try Self.isLog(path) { logs.append(path) }
        } catch {
          // Another command may have removed the directory meanwhile.
          if error.code != .missing { complaints.append(error.message) }
        }
      }
      guard !logs.isEmpty || !complaints.isEmpty else {
        throw ToolError("\(parent) holds no log, and neither do its subdirectories; name a log's directory")
      }
      self.logs = logs
      self.complaints = complaints
    }

    /// Returns why `option`, which needs one log, can't be given with `parent`, the directory of these logs.
    func refusal(of option: String, at parent: String) -> ToolError {
      switch logs.count {
      case 0: ToolError(complaints[0])
      case 1: ToolError("\(option) needs the log itself; name \(Terminal.printable(logs[0]))")
      default: ToolError("\(option) needs one log; \(parent) holds several, name one of them")
      }
    }

    /// The result of taking over a log.
    enum Takeover: Equatable {
      /// A process writes the log.
      case live
      /// The log was closed in order, or was recovered before.
      case inOrder
      /// The log is now recovered, with this number of events from its lanes.
      case recovered(fromLanes: UInt64)
    }

    /// Recovers the log of a dead process, as its next opening would: the events in the lanes are written to segments.
    /// A log that has a writer, or that is in order, stays as it is.
    static func takeOver(_ directory: String) throws(WeirError) -> Takeover {
      let statistics = try LogDirectory(directory).statistics()
      if statistics.isLive { return .live }
      let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
      guard statistics.laneEvents > 0 || names.contains(where: { $0.hasSuffix(".active") }) else { return .inOrder }
      var configuration = Tracker.Configuration()
      configuration.createDirectory = false
      configuration.logger = nil
      do throws(WeirError) {
        let tracker = try Tracker(directory: directory, configuration: configuration)
        let recovered = tracker.recovery.eventsFromLanes
        try tracker.close()
        return .recovered(fromLanes: recovered)
      } catch {
        // The log's process, or another process, was faster.
        if error.code == .locked { return .live }
        throw error
      }
    }
  }
#endif

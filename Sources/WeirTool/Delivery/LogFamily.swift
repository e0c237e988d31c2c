// LogFamily.swift: the logs in the subdirectories of a directory, as the processes of a pre-fork server leave them:
// some are written, others were left by processes that are dead.

#if Tool
  import Foundation
  import Weir

  struct LogFamily {
    /// The directories of the logs, in order of their names.
    let logs: [String]
    /// What could not be looked at, in words.
    let complaints: [String]

    /// Whether `directory` holds a log itself.
    static func isLog(_ directory: String) throws(WeirError) -> Bool {
      do throws(WeirError) {
        _ = try LogDirectory(directory).statistics()
        return true
      } catch {
        if error.code == .missing { return false }
        throw error
      }
    }

    /// Looks into the subdirectories of `parent`; a symbolic link is not followed. Throws if there is no such
    /// directory.
    init(_ parent: String) throws {
      let names: [String]
      do {
        names = try FileManager.default.contentsOfDirectory(atPath: parent).sorted()
      } catch {
        throw ToolError("\(parent) can't be read; name the directory of a log, or one that has logs in subdirectories")
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
          complaints.append(error.message)
        }
      }
      guard !logs.isEmpty || !complaints.isEmpty else {
        throw ToolError("\(parent) holds no log, and neither does a directory in it; name the directory of a log")
      }
      self.logs = logs
      self.complaints = complaints
    }

    /// What taking over a log came to.
    enum Takeover: Equatable {
      /// A process writes it.
      case live
      /// It was closed in order, or recovered before.
      case inOrder
      /// Recovered now; so many events were in its lanes.
      case recovered(fromLanes: UInt64)
    }

    /// Recovers the log of a dead process, as its next opening would: what is in its lanes goes into segments. Leaves
    /// alone a log that has a writer, and one that is in order.
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
        // Its process, or another one, was faster.
        if error.code == .locked { return .live }
        throw error
      }
    }
  }
#endif

// Logs for the tests of what the macro's code does.

#if Macros
  import Foundation
  import Testing
  import Weir

  /// Calls `body` with the path of a new, empty directory, and removes it afterwards.
  func withDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
    let directory = FileManager.default.temporaryDirectory.appending(path: "weir-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: directory) }
    return try body(directory)
  }

  /// A small log that reports nothing.
  func openQuietly(_ directory: String) throws -> Tracker {
    var configuration = Tracker.Configuration()
    configuration.logger = nil
    configuration.laneCount = 6
    configuration.segmentBytes = 1 << 20
    return try Tracker(directory: directory, configuration: configuration)
  }

  /// Captures events in a new log, and answers it as it is read back.
  func stored<E: Event>(_ events: [E]) throws -> [StoredEvent] {
    try withDirectory { directory in
      let tracker = try openQuietly(directory)
      for event in events {
        let receipt = tracker.track(event)
        #expect(receipt.isAccepted, "\(event): \(receipt) \(tracker.lastDefinitionError?.message ?? "")")
      }
      let stored = try tracker.events()
      try tracker.close()
      return stored
    }
  }

  /// What a reader of another type makes of the same log.
  func reading<New: Event>(_ events: [some Event], as type: New.Type) throws -> [New?] {
    try stored(events).map { try New($0) }
  }
#endif

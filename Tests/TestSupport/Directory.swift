// A directory of its own for each test, and shorthands for opening logs in it.

import Foundation
import Testing

package import Weir

/// Calls `body` with the path of a new, empty directory, and removes it afterwards.
package func withDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
  let directory = try makeDirectory()
  defer { try? FileManager.default.removeItem(atPath: directory) }
  return try body(directory)
}

/// The same for asynchronous code.
package func withDirectoryAsync<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let directory = try makeDirectory()
  defer { try? FileManager.default.removeItem(atPath: directory) }
  return try await body(directory)
}

private func makeDirectory() throws -> String {
  let directory = FileManager.default.temporaryDirectory.appending(path: "weir-\(UUID().uuidString)").path
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
  return directory
}

/// A small log that reports nothing.
package func quiet(_ change: (inout Tracker.Configuration) -> Void = { _ in }) -> Tracker.Configuration {
  var configuration = Tracker.Configuration()
  configuration.logger = nil
  configuration.laneCount = 6
  configuration.overflowBytes = 0
  configuration.segmentBytes = 1 << 20
  change(&configuration)
  return configuration
}

/// Captures an event in a new log and reads it back.
package func roundTrip<E: Event>(_ event: E) throws -> Recorded<E> {
  try withDirectory { directory in
    let tracker = try Tracker(directory: directory, configuration: quiet())
    let id = try #require(tracker.track(event).id, "\(tracker.lastDefinitionError?.message ?? "dropped")")
    let found = try tracker.events(of: E.self)
    try #require(found.count == 1)
    #expect(found[0].id == id)
    return found[0]
  }
}

/// Captures an event in a new log; the answer, and what is noted about its type.
package func capture(_ event: some Event) throws -> (receipt: Receipt, error: WeirError?, stored: [StoredEvent]) {
  try withDirectory { directory in
    let tracker = try Tracker(directory: directory, configuration: quiet())
    let receipt = tracker.track(event)
    // Whatever becomes of it, it is counted once, and the lane is free again.
    let counters = tracker.counters
    #expect(counters.accepted + counters.dropped.values.reduce(0, +) == 1)
    #expect(tracker.track("another").isAccepted)
    return (receipt, tracker.lastDefinitionError, try tracker.events().filter { $0.name != "another" })
  }
}

extension EventReader {
  /// The rest of the events.
  package func all() throws -> [StoredEvent] {
    var events: [StoredEvent] = []
    while let event = try next() { events.append(event) }
    return events
  }
}

// Lines: logging into a new log, and reading the lines back.

import Logging
import TestSupport
import Testing
import Weir
import WeirLogging

/// A logger whose lines go into a tracker.
func logger(
  _ tracker: Tracker, label: String = "shop", level: Logger.Level = .info, metadata: Logger.Metadata = [:],
  provider: Logger.MetadataProvider? = nil
) -> Logger {
  Logger(label: label) { label in
    var handler = WeirLogHandler(label: label, tracker: tracker, metadataProvider: provider)
    handler.logLevel = level
    handler.metadata = metadata
    return handler
  }
}

/// The events that `body` logs into a new log.
func lines(
  configuration: Tracker.Configuration = quiet(), _ body: (Tracker) throws -> Void
) throws -> [StoredEvent] {
  try withDirectory { directory in
    let tracker = try Tracker(directory: directory, configuration: configuration)
    try body(tracker)
    let events = try tracker.events()
    try tracker.close()
    return events
  }
}

/// The fields of the one line that `body` logs.
func line(_ body: (Tracker) throws -> Void) throws -> FieldObject {
  let events = try lines(body)
  try #require(events.map(\.name) == ["log.line"])
  return events[0].fields
}

/// The fields of metadata: those that not every line has, by name.
func metadata(_ fields: FieldObject) -> [String: FieldValue] {
  let always: Set = ["level", "label", "message", "source", "file", "function", "line"]
  #expect(Set(fields.map(\.name)).isSuperset(of: always))
  #expect(Set(fields.map(\.name)).count == fields.count, "a field is there twice")
  return Dictionary(uniqueKeysWithValues: fields.filter { !always.contains($0.name) }.map { ($0.name, $0.value) })
}

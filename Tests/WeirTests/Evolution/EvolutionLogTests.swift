// EvolutionLogTests: every version of a program reads the log of every other one. The logs were made once, by each
// version, and are kept in Tests/Evolution; what each reader makes of each is in expected.txt there.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts

private let folder = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appending(path: "Evolution").path

private let versions: [any OrderVersion.Type] = [
  OrderV1.self, OrderV2.self, OrderV3.self, OrderV4.self, OrderV5.self, OrderV6.self, OrderV7.self,
]

/// What a version makes of a log: a line an event, as the version's own value, or `passed over`.
private func read<Version: OrderVersion>(_ log: String, as version: Version.Type) throws -> [String] {
  let reader = try EventReader(directory: log)
  var lines: [String] = []
  while let stored = try reader.next() {
    lines.append(try Version(stored).map { "\($0)" } ?? "passed over")
  }
  #expect(reader.skippedCount == 0, "\(log): \(reader.skipped)")
  return lines
}

/// What all versions make of the logs, as expected.txt has it.
private func everyReading(of logs: [String]) throws -> String {
  var text = ""
  for (writer, log) in logs.enumerated() {
    for (reader, version) in versions.enumerated() {
      text += "log of version \(writer + 1), read by version \(reader + 1)\n"
      text += try read(log, as: version).map { "  \($0)\n" }.joined()
    }
  }
  return text
}

private func make<Version: OrderVersion>(_ log: String, as version: Version.Type) throws {
  var configuration = quiet()
  // As little as the format allows: the files are kept.
  configuration.laneCount = 2
  configuration.spareLanes = 1
  configuration.laneBytes = 4096
  configuration.maximumEventBytes = 512
  let tracker = try Tracker(directory: log, configuration: configuration)
  for event in Version.captured { try #require(tracker.track(event).isAccepted) }
  try tracker.close()
}

struct EvolutionLogTests {
  private let logs = versions.indices.map { "\(folder)/v\($0 + 1)" }

  @Test func `every version reads every log`() throws {
    let expected = try String(contentsOfFile: folder + "/expected.txt", encoding: .utf8)
    #expect(try everyReading(of: logs) == expected)
  }

  /// The same of logs made just now: the programs still write what they did.
  @Test func `logs that are made now are read the same`() throws {
    let expected = try String(contentsOfFile: folder + "/expected.txt", encoding: .utf8)
    try withDirectory { directory in
      let made = versions.indices.map { "\(directory)/v\($0 + 1)" }
      for (log, version) in zip(made, versions) { try make(log, as: version) }
      #expect(try everyReading(of: made) == expected)
      for (golden, made) in zip(logs, made) {
        let (golden, made) = (try Schema(of: LogDirectory(golden)), try Schema(of: LogDirectory(made)))
        #expect(golden == made)
      }
    }
  }

  /// A version reads its own log as what it captured, whatever expected.txt says.
  @Test func `each version reads its own log`() throws {
    func check<Version: OrderVersion>(_ version: Version.Type, _ log: String) throws {
      #expect(try read(log, as: version) == version.captured.map { "\($0)" })
    }
    for (log, version) in zip(logs, versions) { try check(version, log) }
  }

  /// One log that all versions wrote in turn, as a log does that outlives its programs.
  @Test func `one log of all versions is read as the logs of each`() throws {
    try withDirectory { directory in
      for version in versions { try make(directory, as: version) }
      for (reader, version) in versions.enumerated() {
        let apart = try logs.flatMap { try read($0, as: version) }
        #expect(try read(directory, as: version) == apart, "version \(reader + 1)")
      }
      let schema = try Schema(of: LogDirectory(directory))
      // placed in four forms, of which the last is created; shipped in two; noted; returned.
      #expect(schema.events.count == 8)
      #expect(schema.changes(to: schema).isEmpty)
    }
  }

  /// The log says what the program declared, and `weir schema diff` what changed from one version to the next.
  @Test func `the log's schema is what its program declared`() throws {
    let schemas = try logs.map { try Schema(of: LogDirectory($0)) }
    for (schema, version) in zip(schemas, versions) {
      #expect(Set(schema.events.map(\.type)) == Set(version.eventTypes))
    }
    let steps = zip(schemas, schemas.dropFirst()).map { old, new in
      old.changes(to: new).map { "\($0.event) \($0.field) \($0.what.rawValue) \($0.breaks.map(\.rawValue))" }
    }
    #expect(
      steps == [
        [
          "order.placed country field_added []", #"order.placed items field_added ["new_readers"]"#,
        ],
        ["order.placed coupon field_removed []"],
        [#"order.shipped carrier field_made_optional ["old_readers"]"#],
        ["order.returned  event_added []"],
        ["order.placed  event_renamed []", "order.placed total field_renamed []"],
        ["order.noted  event_retired []"],
      ])
  }

  /// Makes the logs and expected.txt anew, in the directory that is named. Tests/Evolution/README.md says when.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["WEIR_MAKE_EVOLUTION"] != nil))
  func `the logs and what is expected of them are made anew`() throws {
    let target = try #require(ProcessInfo.processInfo.environment["WEIR_MAKE_EVOLUTION"])
    let made = versions.indices.map { "\(target)/v\($0 + 1)" }
    for (log, version) in zip(made, versions) {
      try make(log, as: version)
      // A closed log is in its segments. The ring holds nothing of it, and is larger than all of them.
      for name in ["ring", "lock"] { try FileManager.default.removeItem(atPath: "\(log)/\(name)") }
    }
    try everyReading(of: made).write(toFile: target + "/expected.txt", atomically: true, encoding: .utf8)
  }
}

/// What happens without the habits: these are the rows of Evolution.md where something is lost.
struct EvolutionWithoutDefaultsTests {
  private func stored(_ name: String, _ fields: FieldObject, declaration: EventType? = nil) -> StoredEvent {
    StoredEvent(
      offset: 0, id: EventID(opening: 0, sequence: 0), time: Timestamp(nanosecondsSince1970: 0), name: name,
      fields: fields, declaration: declaration)
  }

  @Test func `a mandatory field that is not there is an error`() {
    let event = stored("e", ["a": 1, "b": .null])
    for name in ["b", "c"] {
      #expect(throws: FieldError.self) { try event.value(Field(name, .string)) as String }
    }
    #expect(throws: FieldError.self) { try event["c"] as String }
  }

  @Test func `an integer that does not fit is an error`() throws {
    #expect(try stored("e", ["a": 127]).value(Field("a", .int8)) as Int8 == 127)
    #expect(throws: FieldError.self) { try stored("e", ["a": 128]).value(Field("a", .int8)) as Int8 }
  }

  /// Renamed without a trace: neither finds the other's, and nothing throws.
  @Test func `an event renamed without a trace is not found`() {
    #expect(stored("new", [:], declaration: EventType("new")).index(in: [EventType("old")]) == nil)
  }

  /// An optional field renamed without a trace reads as nothing, which is why the old name is to be given.
  @Test func `an optional field renamed without a trace reads as nothing`() throws {
    #expect(try stored("e", ["amount": 1]).value(Field("total", .optional(.int64))) as Int64? == nil)
  }
}

// Directories of tests go with them, and what a killed run left goes with a later one.

import Foundation
import Testing
import Weir

@testable import WeirTesting

@Suite struct MemoryDirectoryTests {
  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  /// Makes a directory look as if nothing had happened in it for so long.
  private func age(_ path: String, _ seconds: TimeInterval) throws {
    try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -seconds)], ofItemAtPath: path)
  }

  @Test func `a directory in memory goes with its owner`() throws {
    var directory: MemoryDirectory? = try MemoryDirectory(in: MemoryDirectory.disk)
    let path = try #require(directory?.path)
    try Data("x".utf8).write(to: URL(filePath: path).appending(path: "file"))
    #expect(exists(path))
    directory = nil
    #expect(!exists(path))
  }

  @Test func `an error says that no directory can be made`() {
    let error = #expect(throws: TestKitError.self) { try MemoryDirectory(in: "/nowhere/at/all") }
    #expect(error?.description.contains("/nowhere/at/all") == true)
  }

  @Test func `a new directory removes what dead runs left`() throws {
    let parent = try MemoryDirectory(in: MemoryDirectory.disk).kept()
    defer { try? FileManager.default.removeItem(atPath: parent) }
    // Left by a killed run, with and without a log.
    let empty = try MemoryDirectory(in: parent).kept()
    let dead = try MemoryDirectory(in: parent).kept()
    try closedLog(in: dead)
    // Somebody may still look at this one, that one is in use, and the last is not the kit's.
    let young = try MemoryDirectory(in: parent).kept()
    try closedLog(in: young)
    let live = try MemoryDirectory(in: parent).kept()
    let tracker = try Tracker(directory: live, configuration: small)
    let other = parent + "/other"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
    for path in [empty, dead, live, other] { try age(path, 7200) }

    MemoryDirectory.removeLeftovers(in: parent)

    #expect([empty, dead, young, live, other].map(exists) == [false, false, true, true, true])
    #expect(tracker.track(Order.paid(number: 1)).isAccepted)
    try tracker.close()
  }

  private var small: Tracker.Configuration {
    var configuration = Tracker.Configuration()
    configuration.logger = nil
    configuration.laneCount = 2
    configuration.spareLanes = 1
    configuration.segmentBytes = 1 << 20
    return configuration
  }

  private func closedLog(in path: String) throws {
    try Tracker(directory: path, configuration: small).close()
  }
}

extension MemoryDirectory {
  /// The path of a directory that is not removed with its owner, as if the process had been killed.
  fileprivate func kept() throws -> String {
    let kept = path + "-kept"
    try FileManager.default.moveItem(atPath: path, toPath: kept)
    return kept
  }
}

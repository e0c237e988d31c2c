// The option that puts the ring into another directory.

import Foundation
import TestSupport
import Testing
import Weir

struct RingDirectoryTests {
  private func names(_ directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory)
  }

  @Test func `the ring is there while the log is open`() throws {
    try withDirectory { directory in
      try withDirectory { memory in
        let rings = memory + "/rings"
        for round in 1...3 as ClosedRange<UInt64> {
          let tracker = try Tracker(directory: directory, configuration: quiet { $0.ringDirectory = rings })
          #expect(tracker.recovery.wasClean)
          #expect(!tracker.recovery.ringVanished)
          #expect(try names(rings).count == 1)
          #expect(try names(directory).contains("ring.at"))
          #expect(try !names(directory).contains("ring"))
          tracker.track(Visit.opened)
          #expect(try LogDirectory(directory).statistics().isLive)
          try tracker.close()
          #expect(try names(rings).isEmpty)
          let statistics = try LogDirectory(directory).statistics()
          #expect(statistics.events == round)
          #expect(!statistics.isDamaged)
          #expect(!statistics.ringVanished)
          #expect(try LogDirectory(directory).verify().findings == 0)
        }
        let beside = try Tracker(directory: directory, configuration: quiet())
        #expect(beside.recovery.wasClean)
        #expect(beside.recovery.isComplete)
        #expect(try beside.events(of: Visit.self).count == 3)
      }
    }
  }

  @Test func `a vanished ring is reported`() throws {
    try withDirectory { directory in
      try withDirectory { memory in
        try withDirectory { dead in
          let tracker = try Tracker(directory: directory, configuration: quiet { $0.ringDirectory = memory })
          tracker.track(Visit.opened)
          try tracker.drain()
          // A copy has the locator of the original, but is no place that the locator was made for.
          for name in try names(directory) {
            try FileManager.default.copyItem(atPath: directory + "/" + name, toPath: dead + "/" + name)
          }
          let statistics = try LogDirectory(dead).statistics()
          #expect(statistics.ringVanished)
          #expect(statistics.isDamaged)
          var findings: [String] = []
          _ = try LogDirectory(dead).verify { findings.append("\($0.file): \($0.problem)") }
          try #require(findings.count == 1)
          #expect(findings[0].hasPrefix("ring.at: the ring is not where it was"))
          let report = try Tracker(directory: dead, configuration: quiet()).recovery
          #expect(report.ringVanished)
          #expect(report.ringReplaced)
          #expect(!report.isComplete)
          #expect(!report.wasClean)
          #expect(report.previousOpening == tracker.opening)
          #expect("\(report)".contains("unknown number of events"))
          #expect(try names(memory).count == 1, "the original's ring is not touched")
        }
      }
    }
  }

  @Test func `a relative path is taken from the working directory`() throws {
    try withDirectory { directory in
      let rings = "weir-rings-\(UUID().uuidString)"
      defer { try? FileManager.default.removeItem(atPath: rings) }
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.ringDirectory = rings })
      #expect(try names(FileManager.default.currentDirectoryPath + "/" + rings).count == 1)
      try tracker.close()
    }
  }

  @Test func `unsafe directories are refused`() throws {
    try withDirectory { directory in
      try withDirectory { memory in
        try FileManager.default.setAttributes([.posixPermissions: 0o1777], ofItemAtPath: memory)
        let refused = #expect(throws: WeirError.self) {
          try Tracker(directory: directory, configuration: quiet { $0.ringDirectory = memory })
        }
        #expect(refused?.code == .unsafe)
        #expect(refused?.path == memory)
        let cut = #expect(throws: WeirError.self) {
          try Tracker(directory: directory, configuration: quiet { $0.ringDirectory = memory + "\0rings" })
        }
        #expect(cut?.code == .invalid)
      }
    }
  }
}

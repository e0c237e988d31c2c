// Directories that can't be opened, and what the errors say.

import Foundation
import TestSupport
import Testing
import Weir

struct ErrorTests {
  private func code(_ directory: String, _ configuration: Tracker.Configuration = quiet()) -> WeirError.Code? {
    do throws(WeirError) {
      _ = try Tracker(directory: directory, configuration: configuration)
      return nil
    } catch {
      #expect(!error.message.isEmpty)
      #expect(!error.message.contains("\n"))
      #expect(error.description == error.message)
      return error.code
    }
  }

  @Test func `a file is no directory`() throws {
    try withDirectory { directory in
      let file = directory + "/file"
      try Data("x".utf8).write(to: URL(filePath: file))
      #expect(code(file) == .directory)
      #expect(try Data(contentsOf: URL(filePath: file)) == Data("x".utf8))
    }
  }

  @Test func `a path with a NUL names no other directory`() throws {
    try withDirectory { directory in
      let path = directory + "/log\0.old"
      #expect(code(path) == .invalid)
      #expect(throws: WeirError.self) { try EventReader(directory: path) }
      #expect(throws: WeirError.self) { try LogDirectory(path).statistics() }
      #expect(!FileManager.default.fileExists(atPath: directory + "/log"))
    }
  }

  @Test func `a missing directory is made, unless it is not to be`() throws {
    try withDirectory { directory in
      #expect(code(directory + "/none", quiet { $0.createDirectory = false }) == .missing)
      #expect(!FileManager.default.fileExists(atPath: directory + "/none"))
      #expect(code(directory + "/none") == nil)
      let attributes = try FileManager.default.attributesOfItem(atPath: directory + "/none")
      #expect(attributes[.posixPermissions] as? Int == 0o700)
      #expect(code(directory + "/no/parent") == .missing)
    }
  }

  @Test(arguments: [
    ("~/no-such-parent/events", "~"), ("file:///no-such-parent/events", "URL"), ("no-such-parent/a~b/events", nil),
  ])
  func `a path that can't be one is named`(path: String, word: String?) throws {
    let errors = [
      #expect(throws: WeirError.self) { try Tracker(directory: path, configuration: quiet()) },
      #expect(throws: WeirError.self) { try EventReader(directory: path) },
    ]
    for error in errors {
      #expect(error?.code == .missing)
      let message = try #require(error?.message.replacing(path, with: ""))
      #expect(["~", "URL"].filter { message.contains($0) } == (word.map { [$0] } ?? []), "\(message)")
    }
  }

  @Test(.enabled(if: geteuid() != 0)) func `a directory that can't be written is refused`() throws {
    try withDirectory { directory in
      try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: directory)
      #expect(code(directory) == .access)
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
    }
  }

  @Test func `a directory that others may write to is refused`() throws {
    try withDirectory { directory in
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory)
      #expect(code(directory) == .unsafe)
    }
  }

  @Test func `a log that another writer has is refused`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      #expect(code(directory) == .locked)
      try tracker.close()
      #expect(code(directory) == nil)
    }
  }

  @Test func `a log of a newer version is refused`() throws {
    /// Changes the files whose names end so.
    func change(_ directory: String, _ suffix: String, _ change: (inout Data) -> Void) throws {
      for name in try FileManager.default.contentsOfDirectory(atPath: directory) where name.hasSuffix(suffix) {
        let url = URL(filePath: directory + "/" + name)
        var data = try Data(contentsOf: url)
        change(&data)
        try data.write(to: url)
      }
    }
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track("event")
      try tracker.close()
      // The major version, and a block that this version does not read either: with one it does, the version would be
      // taken for damaged.
      let firstBlock = 512 + 16 * quiet().laneCount
      try change(directory, ".weir") { data in
        data[8] = 2
        data[firstBlock] ^= 0xff
      }
      let error = #expect(throws: WeirError.self) { try EventReader(directory: directory).all() }
      #expect(error?.code == .version)
    }
    try withDirectory { directory in
      try Tracker(directory: directory, configuration: quiet()).close()
      try change(directory, "ring") { $0[8] = 2 }
      #expect(code(directory) == .version)
    }
  }

  @Test func `an option out of range is refused`() throws {
    try withDirectory { directory in
      #expect(code(directory, quiet { $0.laneCount = -1 }) == .invalid)
      #expect(code(directory, quiet { $0.laneCount = 1 << 40 }) == .invalid)
      #expect(code(directory, quiet { $0.laneCount = 257 }) == .invalid)
      #expect(code(directory, quiet { $0.spareLanes = 6 }) == .invalid)
      #expect(code(directory, quiet { $0.laneBytes = 3 << 20 }) == .invalid)
      #expect(code(directory, quiet { $0.maximumEventBytes = 1 }) == .invalid)
      #expect(code("") == .invalid)
    }
  }

  @Test func `a log opens with every clock and policy`() throws {
    for clock in Tracker.ClockSource.allCases {
      for policy in [Tracker.OverflowPolicy.dropNewest, .block, .block(upTo: .milliseconds(1))] {
        try withDirectory { directory in
          let tracker = try Tracker(
            directory: directory,
            configuration: quiet {
              $0.clock = clock
              $0.whenFull = policy
            })
          let before = Date()
          #expect(tracker.track(Checkout.started(cart: 1)).isAccepted)
          let after = Date()
          let time = try tracker.events()[0].time
          let seconds = Double(time.nanosecondsSince1970) / 1e9
          // However long the capture took, with room for what a coarse clock and a calibration are off by.
          let range = (before.timeIntervalSince1970 - 0.1)...(after.timeIntervalSince1970 + 0.1)
          #expect(range.contains(seconds), "\(clock)")
        }
      }
    }
  }

  @Test func `a reader of no log says that it is missing`() throws {
    try withDirectory { directory in
      for call in [
        { _ = try EventReader(directory: directory + "/none") },
        { _ = try LogDirectory(directory + "/none").verify() },
        { _ = try LogDirectory(directory + "/none").statistics() },
      ] as [() throws -> Void] {
        let error = #expect(throws: WeirError.self) { try call() }
        #expect(error?.code == .missing)
      }
    }
  }

  @Test func `a whole log is verified, and counted`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for number in 0..<100 as Range<UInt64> { tracker.track(Checkout.started(cart: number)) }
      tracker.track("")
      try tracker.drain()
      let log = LogDirectory(directory)
      #expect(try log.verify().isLive)
      try tracker.close()
      let verification = try log.verify { Issue.record("\($0)") }
      #expect(verification.findings == 0)
      #expect(!verification.isLive)
      #expect(verification.missingEvents == 0)
      let statistics = try log.statistics()
      #expect(statistics.events == 100)
      #expect(statistics.notices == 1)
      #expect(statistics.dropped == [.invalid: 1])
      #expect(statistics.nextOffset == 101)
      #expect(try #require(statistics.firstTime) <= #require(statistics.lastTime))
      #expect(!statistics.isDamaged)
    }
  }

  @Test func `damage is found, and passed over`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for round in 0..<5 as Range<UInt64> {
        for number in 0..<100 { tracker.track(Checkout.started(cart: round * 100 + UInt64(number))) }
        try tracker.drain()
      }
      let all = try tracker.events()
      try tracker.close()
      let name = try #require(
        try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".weir") })
      let url = URL(filePath: directory + "/" + name)
      var data = try Data(contentsOf: url)
      data[data.count / 2] ^= 1
      try data.write(to: url)

      var findings: [LogDirectory.Finding] = []
      let verification = try LogDirectory(directory).verify { findings.append($0) }
      #expect(verification.findings == UInt64(findings.count))
      #expect(findings.count == 1)
      #expect(findings.first?.file == name)
      let reader = try EventReader(directory: directory)
      var told: [EventReader.Skip] = []
      reader.onSkip = { told.append($0) }
      let left = try reader.all()
      #expect(left.count < all.count)
      #expect(Set(left).isSubset(of: Set(all)))
      #expect(told == reader.skipped)
      #expect(reader.skippedCount == 1)
      #expect(UInt64(left.count) + told.reduce(0) { $0 + $1.count } == 500)
      #expect(verification.missingEvents == told.reduce(0) { $0 + $1.count })
    }
  }
}

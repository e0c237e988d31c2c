// What errors about options say: Swift's names, and what was given.

import Foundation
import TestSupport
import Testing

@testable import Weir

struct OptionNameTests {
  private typealias Change = @Sendable (inout Tracker.Configuration) -> Void

  /// Every option out of its range, with the beginning of the message.
  private static let wrong: [(begins: String, change: Change)] = [
    ("laneCount is 1; ", { $0.laneCount = 1 }),
    ("laneCount is 0; ", { $0.laneCount = 0 }),
    ("laneCount is -1, ", { $0.laneCount = -1 }),
    ("laneCount is 257; ", { $0.laneCount = 257 }),
    ("spareLanes is 0; ", { $0.spareLanes = 0 }),
    ("spareLanes is 6; ", { $0.spareLanes = 6 }),
    ("laneBytes is 0; ", { $0.laneBytes = 0 }),
    ("laneBytes is 100000; ", { $0.laneBytes = 100_000 }),
    ("laneBytes is -4, ", { $0.laneBytes = -4 }),
    ("overflowBytes is -1, ", { $0.overflowBytes = -1 }),
    ("segmentBytes is 1; ", { $0.segmentBytes = 1 }),
    ("segmentBytes is 2147483648; ", { $0.segmentBytes = 2 << 30 }),
    ("maximumEventBytes is 0; ", { $0.maximumEventBytes = 0 }),
    ("maximumEventBytes is 2097152; ", { $0.maximumEventBytes = 2 << 20 }),
    ("drainInterval is 0 seconds; ", { $0.drainInterval = .zero }),
    ("drainInterval is -2 seconds; ", { $0.drainInterval = .seconds(-2) }),
    ("drainInterval is 11 seconds; ", { $0.drainInterval = .seconds(11) }),
    ("durability.interval is 0 seconds; ", { $0.durability = .interval(.zero) }),
    ("durability.interval is -5 seconds; ", { $0.durability = .interval(.seconds(-5)) }),
    ("durability.interval is 3601 seconds; ", { $0.durability = .interval(.seconds(3601)) }),
    ("byteLimit is 0; ", { $0.byteLimit = 0 }),
    ("byteLimit is 1000; ", { $0.byteLimit = 1000 }),
    ("byteLimit is -7, ", { $0.byteLimit = -7 }),
    ("atByteLimit is dropOldest, ", { $0.atByteLimit = .dropOldest }),
    ("retention.bytes is 0; ", { $0.retention = Tracker.Retention(bytes: 0) }),
    ("retention.bytes is -1; ", { $0.retention = Tracker.Retention(bytes: -1) }),
    ("retention.age is 0 seconds; ", { $0.retention = Tracker.Retention(age: .zero) }),
    ("retention.age is -1 seconds; ", { $0.retention = Tracker.Retention(age: .seconds(-1)) }),
    ("batchThreads is 65; ", { $0.batchThreads = 65 }),
    ("batchThreads is -1, ", { $0.batchThreads = -1 }),
    ("ringDirectory is empty; ", { $0.ringDirectory = "" }),
    ("ringDirectory is '", { $0.ringDirectory = "/" + String(repeating: "r", count: 5000) }),
  ]

  @Test(arguments: wrong.indices) func `an option out of range is named as in Swift`(_ index: Int) throws {
    let (begins, change) = Self.wrong[index]
    try withDirectory { directory in
      let log = directory + "/log"
      let error = #expect(throws: WeirError.self) { try Tracker(directory: log, configuration: quiet(change)) }
      let message = try #require(error).message
      #expect(error?.code == .invalid)
      #expect(message.hasPrefix(begins), "\(message)")
      #expect(!message.contains("_"), "\(message)")
      #expect(!message.contains("the option "), "\(message)")
      #expect(!FileManager.default.fileExists(atPath: log))
    }
  }

  /// Each option of the core has a name: none reaches a message untranslated.
  @Test func `each option of the core has a name in Swift`() {
    let swiftNames = Set(Mirror(reflecting: Tracker.Configuration()).children.compactMap(\.label))
    for name in OptionName.all {
      #expect(OptionName.inSwift("the option \(name.core) is 1; no") == "\(name.swift) is 1; no")
      #expect(swiftNames.contains(String(name.swift.prefix { $0 != "." })), "\(name.swift)")
    }
    #expect(OptionName.inSwift("cannot open the option lane_count is") == "cannot open the option lane_count is")
  }
}

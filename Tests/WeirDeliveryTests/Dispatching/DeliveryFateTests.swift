// What a power cut may leave of a log and the cursor beside it: each as it was at another moment. And names that came
// to the disk in another order than they were given.

import Foundation
import Synchronization
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirDelivery
import WeirTesting

struct DeliveryFateTests {
  /// The log at a moment, and what the provider had by then.
  private struct Moment {
    var path: String
    var taken: Set<EventID>
    var cursor: Offset
  }

  private static let batch = 40

  private static func configuration() -> Tracker.Configuration {
    var configuration = VictimWorld.configuration()
    configuration.batchThreads = 0
    return configuration
  }

  private func copy(_ from: String, _ to: String, _ isWanted: (String) -> Bool = { _ in true }) throws {
    try FileManager.default.createDirectory(
      atPath: to, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    for name in try FileManager.default.contentsOfDirectory(atPath: from) where isWanted(name) {
      let target = to + "/" + name
      try? FileManager.default.removeItem(atPath: target)
      do { try FileManager.default.copyItem(atPath: from + "/" + name, toPath: target) } catch {
        // The sealer is quicker than the copy: then it was removed by this moment.
        guard !FileManager.default.fileExists(atPath: from + "/" + name) else { throw error }
      }
    }
  }

  /// Captures and delivers a batch at a time, and keeps the log as it is after each.
  private func moments(in directory: String, removing isRemoving: Bool) async throws -> [Moment] {
    let live = directory + "/live"
    var moments: [Moment] = []
    var configuration = Self.configuration()
    configuration.removeDelivered = isRemoving
    let stage = try DeliveryStage(on: try Tracker(directory: live, configuration: configuration)) {
      $0.cursorInterval = .zero
    }
    let provider = ScriptedProvider()
    try stage.dispatcher.add(provider)
    let filler = String(repeating: "weir ", count: 300)
    for round in 0..<16 {
      for number in round * Self.batch..<(round + 1) * Self.batch {
        #expect(stage.tracker.track("e", fields: ["n": .int(Int64(number)), "filler": .string(filler)]).isAccepted)
      }
      try stage.tracker.sync()
      let end = UInt64((round + 1) * Self.batch)
      #expect(await stage.run { stage.entry().offset >= end })
      let path = directory + "/moment-\(round)"
      try copy(live, path)
      moments.append(
        Moment(path: path, taken: Set(provider.delivered.map(\.stored.id)), cursor: stage.entry().offset))
    }
    await stage.kill()
    return moments
  }

  /// Opens what a power cut left, captures a little more, delivers, and holds it to what has to be true: whoever had
  /// not got an event that is in the log gets it, and the ledger balances. Answers the provider's entry.
  private func judge(_ log: String, had taken: Set<EventID>, _ what: String) async throws -> Ledger.Entry {
    let stage = try DeliveryStage(on: try Tracker(directory: log, configuration: Self.configuration()))
    var new: Set<EventID> = []
    // So many that some of these logs end beyond the cursor then, with other events below it.
    for number in 0..<Self.batch + 10 {
      let id = stage.tracker.track("e", fields: ["n": .int(Int64(1_000_000 + number))]).id
      new.insert(try #require(id))
    }
    try stage.tracker.sync()
    let there = Set(try stage.tracker.events().filter { !$0.isNotice }.map(\.id))
    let provider = ScriptedProvider()
    try stage.dispatcher.add(provider)
    #expect(await stage.run { stage.entry().pending == 0 }, "\(what): \(stage.entry())")
    let given = Set(provider.delivered.map(\.stored.id))
    #expect(new.isSubset(of: given), "\(what): new events were passed over")
    #expect(there.subtracting(given).isSubset(of: taken), "\(what): events that nobody got were passed over")
    #expect(given.isSubset(of: there), "\(what): something else was given")
    let entry = stage.entry()
    #expect(entry.isBalanced, "\(what): \(entry)")
    await stage.kill()
    try stage.tracker.close()
    let files = try #require(try LogDirectory(log).ledger()["scripted"])
    #expect(files.isBalanced, "\(what), from the files: \(files)")
    return entry
  }

  @Test(arguments: [false, true])
  func `case 27: a cursor newer than the segments, or older, loses nothing uncounted`(_ isRemoving: Bool) async throws {
    try await withDirectoryAsync { directory in
      let moments = try await moments(in: directory, removing: isRemoving)
      var mixes = 0
      for (older, newer) in [(0, 15), (2, 3), (5, 11), (9, 10), (12, 15)] {
        for (log, cursor) in [(older, newer), (newer, older)] {
          let path = directory + "/mixed-\(log)-\(cursor)"
          try copy(moments[log].path, path) { $0 != "cursors" }
          try copy(moments[cursor].path, path) { $0 == "cursors" }
          let what = "the log of moment \(log), the cursor of \(cursor)"
          let entry = try await judge(path, had: moments[cursor].taken, what)
          // Nothing is lost but what the log says it removed.
          #expect(entry.lostInAll == entry.lost[.removed] ?? 0, "\(what): \(entry)")
          if !isRemoving { #expect(entry.lostInAll == 0, "\(what): \(entry)") }
          mixes += 1
        }
      }
      print("delivery: \(mixes) logs and cursors of different moments")
    }
  }

  @Test func `case 28: an unlink durable before the cursor counts as removed, and the ledger balances`() async throws {
    try await withDirectoryAsync { directory in
      let moments = try await moments(in: directory, removing: true)
      let last = try #require(moments.last)
      let tally = try LogDirectory(last.path).tally(from: 0)
      try #require(tally.firstOffset > 0, "nothing was removed")
      for (index, moment) in moments.enumerated() where moment.cursor < tally.firstOffset {
        let path = directory + "/ahead-\(index)"
        try copy(last.path, path) { $0 != "cursors" }
        try copy(moment.path, path) { $0 == "cursors" }
        let what = "removed up to \(tally.firstOffset), the cursor of moment \(index)"
        let entry = try await judge(path, had: moment.taken, what)
        #expect(entry.lost[.removed] == tally.firstOffset - moment.cursor)
      }
    }
  }

  @Test func `case 27: a cursor of zeros, or without its name, begins anew`() async throws {
    try await withDirectoryAsync { directory in
      let moments = try await moments(in: directory, removing: false)
      let last = try #require(moments.last)
      // The name did not come to the disk, only the temporary one did, the content did not.
      for (index, content) in [nil, nil, Data(), Data(count: 4608)].enumerated() {
        let path = directory + "/lost-\(index)"
        try copy(last.path, path)
        let cursor = path + "/cursors/scripted"
        if index == 1 { try FileManager.default.copyItem(atPath: cursor, toPath: cursor + ".new") }
        try FileManager.default.removeItem(atPath: cursor)
        try content?.write(to: URL(filePath: cursor))
        let entry = try await judge(path, had: [], "fate \(index)")
        #expect(entry.acknowledged == entry.accepted, "fate \(index): \(entry)")
      }
    }
  }
}

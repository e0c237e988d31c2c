// Faults of the disk and the process while events are delivered: what can't be kept waits, what can goes on.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct DeliveryFaultTests {
  /// Calls that fail while it is on.
  private final class Fault: Sendable {
    let failing = Mutex<Set<SystemCalls.Call>>([])
    let count = Mutex(0)

    var calls: SystemCalls {
      SystemCalls(fault: { call in
        guard self.failing.withLock({ $0.contains(call) }) else { return nil }
        self.count.withLock { $0 += 1 }
        return ENOSPC
      })
    }
  }

  @Test func `accepted events go on without a durable cursor`() async throws {
    try await withDirectoryAsync { directory in
      let fault = Fault()
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let stage = try DeliveryStage(on: tracker) { $0.calls = fault.calls }
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      try stage.capture(5)
      #expect(await stage.run { stage.entry().offset == 5 })
      fault.failing.withLock { $0 = [.write] }
      for round in 1..<4 {
        try stage.capture(5, from: round * 5)
        #expect(await stage.run { stage.entry().acknowledged == UInt64((round + 1) * 5) })
      }
      #expect(await stage.run { stage.entry().error?.contains("cursor") == true })
      var entry = stage.entry()
      #expect(entry.offset == 5)
      #expect(entry.state == .running)
      #expect(entry.isBalanced)
      #expect(fault.count.withLock { $0 } > 0)
      #expect(try LogDirectory(directory).ledger()["scripted"]?.acknowledged == 5)
      fault.failing.withLock { $0 = [] }
      #expect(await stage.run { stage.entry().offset == 20 })
      entry = stage.entry()
      #expect(entry.error == nil)
      #expect(entry.isBalanced)
      #expect(provider.delivered.count == 20)
    }
  }

  @Test func `rejected events wait for their log, and others go on`() async throws {
    try await withDirectoryAsync { directory in
      let fault = Fault()
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let stage = try DeliveryStage(on: tracker) { $0.calls = fault.calls }
      let provider = ScriptedProvider(finally: .each { $0.fields["n"] == .int(2) ? .rejected("no") : .accepted })
      try stage.dispatcher.add(provider)
      fault.failing.withLock { $0 = [.makeDirectory] }
      try stage.capture(5)
      #expect(await stage.run { stage.entry().error?.contains("dead letters") == true })
      try stage.capture(5, from: 5)
      #expect(await stage.run { stage.entry().acknowledged == 9 })
      #expect(stage.entry().pending == 1)
      #expect(stage.entry().rejected == 0)
      #expect(stage.entry().isBalanced)
      #expect(await stage.run { stage.entry().offset == 2 })
      fault.failing.withLock { $0 = [] }
      #expect(await stage.run { stage.entry().rejected == 1 })
      // It was not given again: the provider had answered.
      #expect(provider.callSizes.reduce(0, +) == 10)
      #expect(stage.entry().error == nil)
      #expect(try LogDirectory(directory).deadLetters(of: "scripted").count == 1)
    }
  }

  @Test func `events that wait for the dead letters are few, and are written once a second`() async throws {
    try await withDirectoryAsync { directory in
      let fault = Fault()
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let stage = try DeliveryStage(on: tracker) { $0.calls = fault.calls }
      let provider = ScriptedProvider(finally: .reject("no"))
      var options = DeliveryOptions()
      options.flush.maximumEvents = 10
      try stage.dispatcher.add(provider, options: options)
      fault.failing.withLock { $0 = [.makeDirectory] }
      try stage.capture(200)
      let begin = stage.clock.now
      #expect(await stage.run { begin.duration(to: stage.clock.now) >= .seconds(30) })
      // Those of a call, and of one more that was under way.
      #expect(provider.callSizes.reduce(0, +) <= 20)
      #expect(fault.count.withLock { $0 } <= 32)
      #expect(stage.entry().pending == 200)
      #expect(stage.entry().isBalanced)
      #expect(stage.entry().error?.contains("dead letters") == true)
      fault.failing.withLock { $0 = [] }
      #expect(await stage.run { stage.entry().rejected == 200 })
      #expect(stage.entry().error == nil)
      #expect(provider.callSizes.reduce(0, +) == 200)
      #expect(try LogDirectory(directory).deadLetters(of: "scripted").map(\.event.offset) == Array(0..<200))
      await stage.kill()
    }
  }

  @Test func `a large event that waits for the dead letters holds up others`() async throws {
    try await withDirectoryAsync { directory in
      let fault = Fault()
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let stage = try DeliveryStage(on: tracker) { $0.calls = fault.calls }
      let provider = ScriptedProvider(finally: .reject("no"))
      var options = DeliveryOptions()
      options.flush.maximumBytes = 2000
      try stage.dispatcher.add(provider, options: options)
      fault.failing.withLock { $0 = [.makeDirectory] }
      let text = FieldValue.string(String(repeating: "x", count: 1500))
      for _ in 0..<20 { #expect(stage.tracker.track("e", fields: ["text": text]).isAccepted) }
      try stage.tracker.drain()
      let begin = stage.clock.now
      #expect(await stage.run { begin.duration(to: stage.clock.now) >= .seconds(30) })
      #expect(provider.callSizes.reduce(0, +) <= 4)
      fault.failing.withLock { $0 = [] }
      #expect(await stage.run { stage.entry().rejected == 20 })
      await stage.kill()
    }
  }

  @Test(.enabled(if: FailingDisk.isAvailable)) func `a full disk stops no delivery and loses nothing`() async throws {
    let disk = try FailingDisk()
    let spy = try SpyTracker(on: disk)
    let stage = try DeliveryStage(on: spy.tracker)
    let provider = ScriptedProvider(
      finally: .each { event in
        guard case .int(let number)? = event.fields["n"], number % 5 == 0 else { return .accepted }
        return .rejected("five")
      })
    try stage.dispatcher.add(provider)
    // The worker has looked, and reads nothing more until the clock moves.
    #expect(await stage.rest())
    try stage.capture(10)
    disk.fill()
    #expect(await stage.run { stage.entry().acknowledged == 8 })
    #expect(stage.entry().rejected == 0)
    #expect(stage.entry().pending == 2)
    #expect(stage.entry().isBalanced)
    disk.mend()
    #expect(await stage.run { stage.entry().rejected == 2 })
    #expect(disk.failures > 0)
    #expect(stage.entry().isBalanced)
    #expect(provider.overlaps == 0)
    try await stage.close()
  }

  @Test(.enabled(if: FailingDisk.isAvailable)) func `a letter settles its event once it is on the disk`() async throws {
    let disk = try FailingDisk()
    let spy = try SpyTracker(on: disk)
    let stage = try DeliveryStage(on: spy.tracker)
    try stage.dispatcher.add(ScriptedProvider(finally: .reject("no")))
    try stage.capture(1)
    #expect(await stage.run { stage.entry().offset == 1 })
    // The log of the letters is open, and takes them. The cursor's own calls do not fail.
    disk.fail(.sync, with: .io)
    try stage.capture(2, from: 1)
    #expect(await stage.run { stage.entry().rejected == 3 || stage.entry().error?.contains("dead letters") == true })
    #expect(stage.entry().rejected == 1)
    #expect(stage.entry().pending == 2)
    #expect(stage.entry().offset == 1)
    disk.mend()
    #expect(await stage.run { stage.entry().rejected == 3 })
    #expect(stage.entry().isBalanced)
    try await stage.close()
  }

  /// The provider that a listing leaves out would not have had what is removed then.
  @Test func `a listing of the cursors that fails half way removes nothing`() async throws {
    try await withDirectoryAsync { directory in
      let failing = Mutex(0)
      let listings = Mutex(0)
      let stage = try DeliveryStage(directory, tracker: { $0.removeDelivered = true }) { configuration in
        configuration.calls.fault = { call in
          guard call == .list else { return nil }
          let number = listings.withLock { count in
            count += 1
            return count
          }
          return failing.withLock { $0 == number } ? EIO : nil
        }
      }
      let text = FieldValue.string(String(repeating: "x", count: 50_000))
      for _ in 0..<100 { #expect(stage.tracker.track("e", fields: ["text": text]).isAccepted) }
      let end = try stage.tracker.drain()
      for (name, offset) in [("a", end), ("b", 0), ("c", end)] {
        try Cursor(name, of: directory).move(to: CursorPosition(offset: offset, counts: DeliveryCounts()))
      }
      var failures = 0
      while failures < 100 {
        failing.withLock { $0 = failures + 1 }
        listings.withLock { $0 = 0 }
        guard code({ () throws(WeirError) in try stage.dispatcher.release() }) == .io else { break }
        failures += 1
      }
      // The opening of the directory, each of three names and of two that every directory has, and the end.
      #expect(failures == 7)
      #expect(try LogDirectory(directory).statistics().firstOffset == 0)
      await stage.kill()
    }
  }

  @Test func `a cursor that can't be written keeps a provider from being added`() async throws {
    try await withDirectoryAsync { directory in
      for call in [SystemCalls.Call.create, .write, .syncData, .rename, .makeDirectory] {
        let fault = Fault()
        fault.failing.withLock { $0 = [call] }
        let dispatcher = try Dispatcher(
          directory: { () throws -> String in
            try Tracker(directory: directory, configuration: quiet()).close()
            return directory
          }(), configuration: DeliveryStage.configuration(VirtualClock()) { $0.calls = fault.calls })
        try dispatcher.start()
        #expect(code { () throws(WeirError) in try dispatcher.add(ScriptedProvider()) } == .noSpace, "\(call)")
        fault.failing.withLock { $0 = [] }
        #expect(code { () throws(WeirError) in try dispatcher.add(ScriptedProvider()) } == nil, "\(call)")
        await dispatcher.finish(dispatcher.workers, .abandonment)
        try FileManager.default.removeItem(atPath: directory + "/cursors")
      }
    }
  }

  @Test func `a removal of the log while it is delivered is an error that is told, and no more`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      try stage.capture(2)
      #expect(await stage.run { stage.entry().offset == 2 })
      try FileManager.default.removeItem(atPath: directory + "/cursors")
      try stage.capture(2, from: 2)
      #expect(await stage.run { provider.delivered.count == 4 })
      #expect(stage.entry().isBalanced)
    }
  }
}

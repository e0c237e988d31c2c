// What an app's test sees of a tracker whose disk fills up or fails, and that other trackers do not see it.

import Foundation
import Testing
import Weir
import WeirTesting

@Suite(.enabled(if: FailingDisk.isAvailable)) struct FailingDiskTests {
  private static let text = String(repeating: "x", count: 1000)

  /// Captures until one is refused for the disk; answers how many were accepted.
  private func fillUp(_ tracker: Tracker) -> Int {
    var accepted = 0
    for _ in 0..<100_000 {
      switch tracker.track(Page.viewed(path: Self.text)) {
      case .accepted: accepted += 1
      case .dropped(.storage): return accepted
      // A slow machine may take longer to empty a lane than a capture waits.
      case .dropped: continue
      }
    }
    return accepted
  }

  @Test func `a full disk refuses, and keeps what was accepted`() throws {
    let disk = try FailingDisk()
    let spy = try SpyTracker(on: disk)
    spy.tracker.track(Order.paid(number: 1))
    disk.fill()
    let accepted = fillUp(spy.tracker)
    // What the segments that are there have room for still goes in.
    #expect(accepted > 100)
    #expect(accepted < 100_000)
    #expect(spy.tracker.counters.storage == .noSpace)
    #expect(disk.failures > 0)

    disk.mend()
    #expect(spy.events(of: Page.self).count == accepted)
    #expect(spy.events(of: Order.self) == [.paid(number: 1)])
    #expect(spy.tracker.track(Order.paid(number: 2)).isAccepted)
    #expect(spy.last(of: Order.self) == .paid(number: 2))
    #expect(spy.accepted == UInt64(accepted) + 2)
    #expect((spy.dropped[.storage] ?? 0) >= 1)
    #expect(spy.tracker.counters.storage == nil)
    #expect(spy.notices.contains { $0.name == "weir.gap" })
  }

  @Test func `a disk that cannot sync says so, and loses nothing`() async throws {
    let disk = try FailingDisk()
    let spy = try SpyTracker(on: disk)
    let first = try #require(spy.tracker.track(Order.paid(number: 1)).id)
    disk.fail(.sync, with: .io)
    let error = await #expect(throws: WeirError.self) { try await spy.tracker.durable(upTo: first) }
    #expect(error?.code == .io)
    #expect(spy.tracker.durableOffset == 0)
    #expect(disk.failures > 0)

    disk.mend()
    try await spy.tracker.durable(upTo: first)
    #expect(spy.tracker.durableOffset >= 1)
    #expect(spy.events(of: Order.self) == [.paid(number: 1)])
  }

  @Test func `a log that cannot be made is an error of the opening`() throws {
    for (fault, code) in [(FailingDisk.Fault.noSpace, WeirError.Code.noSpace), (.readOnly, .access), (.io, .io)] {
      let disk = try FailingDisk()
      disk.fail(.create, with: fault)
      let error = #expect(throws: WeirError.self) { try Tracker(directory: disk.directory) }
      #expect(error?.code == code)
      disk.mend()
      let spy = try SpyTracker(on: disk)
      #expect(spy.tracker.track(Order.paid(number: 1)).isAccepted)
    }
  }

  @Test func `a disk fails so many calls after so many`() throws {
    for passing in 0..<3 {
      let disk = try FailingDisk()
      disk.fail(.create, with: .noSpace, after: passing, times: 1)
      #expect(throws: WeirError.self) { try Tracker(directory: disk.directory) }
      #expect(disk.failures == 1)
      let made = try FileManager.default.contentsOfDirectory(atPath: disk.directory)
      #expect(made.count <= passing)
      // That was the one.
      let spy = try SpyTracker(on: disk)
      #expect(spy.tracker.track(Order.paid(number: 1)).isAccepted)
      #expect(disk.failures == 1)
    }
  }

  @Test func `a log that cannot be read is a failure of the spy`() throws {
    let disk = try FailingDisk()
    let spy = try SpyTracker(on: disk)
    spy.tracker.track(Order.paid(number: 1))
    disk.fail(.read, with: .io)
    #expect(spy.events(of: Order.self).isEmpty)
    #expect(spy.failures.count == 1)
    disk.mend()
    #expect(spy.events(of: Order.self) == [.paid(number: 1)])
  }

  @Test func `other directories do not fail`() throws {
    let disk = try FailingDisk()
    let other = try FailingDisk()
    disk.fail([.changes, .read], with: .io)
    let spy = try SpyTracker(on: other)
    let inMemory = try SpyTracker()
    for spy in [spy, inMemory] {
      spy.tracker.track(Order.paid(number: 1))
      try spy.tracker.sync()
      #expect(spy.events(of: Order.self) == [.paid(number: 1)])
    }
    #expect(disk.failures == 0)
  }

  @Test func `a disk that is gone fails nothing any more`() throws {
    for _ in 0..<40 {
      let disk = try FailingDisk()
      disk.fill()
      #expect(throws: WeirError.self) { try Tracker(directory: disk.directory) }
      #expect(disk.failures > 0)
    }
  }
}

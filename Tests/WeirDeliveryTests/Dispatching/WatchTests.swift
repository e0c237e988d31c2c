// That a process stood still, and that its log fills up, is noticed by numbers alone.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct WatchTests {
  private typealias Clocks = ResumeWatch.Clocks

  private func clocks(_ monotonic: Double, suspended: Double = 0) -> Clocks {
    Clocks(boot: .seconds(monotonic + suspended), monotonic: .seconds(monotonic))
  }

  @Test func `a process that was stopped slept too long`() {
    var watch = ResumeWatch(clocks(100))
    #expect(watch.sleeps(clocks(100)) == false)
    #expect(watch.woke(clocks(101.05), meant: .milliseconds(50)) == false)
    #expect(watch.sleeps(clocks(102)) == false)
    #expect(watch.woke(clocks(103.06), meant: .milliseconds(50)) == true)
    // Told once.
    #expect(watch.sleeps(clocks(103.06)) == false)
    // A long sleep that was meant to be long is none.
    #expect(watch.woke(clocks(163.06), meant: .seconds(60)) == false)
    #expect(watch.sleeps(clocks(164.06)) == false)
  }

  @Test func `a process that was stopped between two sleeps is found`() {
    var watch = ResumeWatch(clocks(100))
    #expect(watch.sleeps(clocks(101.01)) == true)
    #expect(watch.woke(clocks(101.02), meant: .milliseconds(50)) == false)
    #expect(watch.sleeps(clocks(102.03)) == true)
  }

  @Test func `a machine that was suspended has a boot clock that ran ahead`() {
    var watch = ResumeWatch(clocks(100, suspended: 7))
    #expect(watch.sleeps(clocks(100, suspended: 7)) == false)
    #expect(watch.woke(clocks(100.05, suspended: 7.09), meant: .milliseconds(50)) == false)
    #expect(watch.sleeps(clocks(101, suspended: 7)) == false)
    #expect(watch.woke(clocks(101.05, suspended: 7.2), meant: .milliseconds(50)) == true)
    // Told once.
    #expect(watch.sleeps(clocks(101.05, suspended: 7.2)) == false)
    #expect(watch.woke(clocks(101.1, suspended: 7.2), meant: .milliseconds(50)) == false)
    // Also if it was outside a sleep.
    #expect(watch.sleeps(clocks(102, suspended: 60)) == true)
    #expect(watch.woke(clocks(102.05, suspended: 60), meant: .milliseconds(50)) == false)
  }

  @Test func `the machine's clocks go on`() async throws {
    let first = Clocks.now
    try await Task.sleep(for: .milliseconds(1))
    let second = Clocks.now
    #expect(second.monotonic - first.monotonic >= .milliseconds(1))
    #expect(second.boot - first.boot >= .milliseconds(1))
    #expect(second.boot >= second.monotonic)
  }

  @Test func `a log over the given part of its byte limit is found`() {
    var watch = OverflowWatch(threshold: 0.8, byteLimit: 1000, refused: 5)
    #expect(watch.look(usedBytes: 799, refused: 5) == false)
    #expect(watch.look(usedBytes: 800, refused: 5) == true)
    #expect(watch.look(usedBytes: 2000, refused: 5) == true)
    var unlimited = OverflowWatch(threshold: 0.8, byteLimit: nil, refused: 0)
    #expect(unlimited.look(usedBytes: .max, refused: 0) == false)
  }

  @Test func `captures refused since the last look are found`() {
    var watch = OverflowWatch(threshold: 1, byteLimit: nil, refused: 5)
    #expect(watch.look(usedBytes: 0, refused: 5) == false)
    #expect(watch.look(usedBytes: 0, refused: 6) == true)
    #expect(watch.look(usedBytes: 0, refused: 6) == false)
  }

  @Test func `captures are refused for want of room by some reasons, and by no others`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.drainInterval = .seconds(10) })
      var counters = tracker.counters
      counters.dropped = [.full: 1, .noLane: 2, .storage: 4, .tooLarge: 8, .invalid: 16, .closed: 32, .sampled: 64]
      #expect(counters.refusedForRoom == 7)
      counters.dropped = [.full: .max, .storage: 1]
      #expect(counters.refusedForRoom == .max)
    }
  }
}

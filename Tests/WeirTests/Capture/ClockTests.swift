// Where the times of events come from, as Configuration.clock says.

import Foundation
import TestSupport
import Testing
import Weir

@Suite(.timeLimit(.minutes(15))) struct ClockTests {
  private static let count = 100_000

  /// The times of events that one thread captured one after the other, and that between which they were captured.
  private func times(_ clock: Tracker.ClockSource) throws -> (times: [Int64], from: Int64, to: Int64)? {
    try withDirectory { directory in
      let configuration = quiet {
        $0.clock = clock
        $0.whenFull = .block
      }
      let tracker: Tracker
      do {
        tracker = try Tracker(directory: directory, configuration: configuration)
      } catch let error as WeirError where clock == .counter && error.code == .platform {
        return nil  // as documented, where there is no counter to be trusted
      }
      let from = Date().timeIntervalSince1970
      for number in 0..<UInt64(Self.count) { tracker.track(Checkout.started(cart: number)) }
      let to = Date().timeIntervalSince1970
      let times = try tracker.events().map(\.time.nanosecondsSince1970)
      return (times, Int64(from * 1e9), Int64(to * 1e9))
    }
  }

  @Test(arguments: Tracker.ClockSource.allCases)
  func `times are those of the captures`(_ clock: Tracker.ClockSource) throws {
    guard let (times, from, to) = try times(clock) else { return }
    #expect(times.count == Self.count)
    // A minute: not how exact the clock is, but that it is one of this day, in nanoseconds.
    let allowed = from - 60_000_000_000...to + 60_000_000_000
    #expect(times.allSatisfy { allowed ~= $0 })
  }

  /// Blocks carry calibrations of their own, which must not differ by what the coarse clock is behind.
  @Test func `coarse times do not go back by the clock's resolution`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.clock = .coarse })
      for number in 0..<400 as Range<UInt64> {
        tracker.track(Checkout.started(cart: number))
        try tracker.drain()
        usleep(300)
      }
      let times = try tracker.events().map(\.time.nanosecondsSince1970)
      let back = zip(times, times.dropFirst()).map { $0 - $1 }.max() ?? 0
      #expect(times.count == 400, "back by \(back) ns")
      #expect(back < 500_000, "back by \(back) ns")
    }
  }

  @Test func `clocks differ in how fine they are`() throws {
    let monotonic = try #require(try times(.monotonic)).times
    #expect(Set(monotonic).count > monotonic.count / 2)
    // However long the captures take, the coarse clock shows no more times than it ticks.
    var resolution = timespec()
    clock_getres(CLOCK_MONOTONIC_COARSE, &resolution)
    let coarse = try #require(try times(.coarse))
    let ticks = Int((coarse.to - coarse.from) / Int64(resolution.tv_nsec)) + 2
    #expect(Set(coarse.times).count <= ticks + Self.count / 20, "\(ticks) ticks")
  }

  /// While the drainer sleeps, events have times of their own, so each round begins with a pass that moves an event.
  /// The captures go on until most follow one pass; where none ever do, the time limit ends the test.
  @Test func `events that follow the same pass of the drainer share a tick`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.clock = .tick })
      var times: [Int64] = []
      repeat {
        tracker.track(Checkout.started(cart: 0))
        try tracker.drain()
        for number in 0..<100 as Range<UInt64> { tracker.track(Checkout.started(cart: number)) }
        times = try tracker.events().map(\.time.nanosecondsSince1970)
      } while Set(times.suffix(100)).count > 50
    }
  }

  @Test func `the counter is the default where it can be trusted`() {
    #expect(Tracker.Configuration().clock == .automatic)
  }
}

// TimeTracker: every order of calls, held against a count of ticks.

import TestSupport
import Testing
import Weir
import WeirScopes

struct TimeTrackerTests {
  private func seconds(_ count: Int) -> Duration { .seconds(count) }

  @Test func `the times are those of its documentation`() {
    var time = TimeTracker(at: .seconds(10))
    time.suspend(at: .seconds(12))
    #expect(time.isSuspended)
    #expect(time.elapsed(at: .seconds(15)) == .seconds(2))
    #expect(time.suspended(at: .seconds(15)) == .seconds(3))
    time.resume(at: .seconds(20))
    #expect(time.elapsed(at: .seconds(21)) == .seconds(3))
    #expect(time.suspended(at: .seconds(21)) == .seconds(8))
    time.end(at: .seconds(22))
    #expect(time.elapsed(at: .seconds(90)) == .seconds(4))
    #expect(time.suspended(at: .seconds(90)) == .seconds(8))
  }

  @Test func `a change that changes nothing says so`() {
    var time = TimeTracker(at: .zero)
    var answers = [time.resume(at: .seconds(1)), time.suspend(at: .seconds(1)), time.suspend(at: .seconds(2))]
    #expect(answers == [false, true, false])
    #expect(time.elapsed(at: .seconds(9)) == .seconds(1))
    answers = [time.end(at: .seconds(3)), time.end(at: .seconds(4))]
    answers += [time.resume(at: .seconds(5)), time.suspend(at: .seconds(5))]
    #expect(answers == [true, false, false, false])
    #expect(time.isEnded)
    time.leaveOut(.seconds(1), before: .seconds(9))
    #expect(time.elapsed(at: .seconds(9)) == .seconds(1))
    #expect(time.suspended(at: .seconds(9)) == .seconds(2))
  }

  @Test func `nothing changes after the end`() {
    var time = TimeTracker(at: .zero)
    time.end(at: .seconds(3))
    let answers = [time.suspend(at: .seconds(4)), time.resume(at: .seconds(5)), time.end(at: .seconds(6))]
    time.leaveOut(.seconds(1), before: .seconds(7))
    #expect(answers == [false, false, false])
    #expect(time.isEnded)
    #expect(!time.isSuspended)
    #expect(time.elapsed(at: .seconds(9)) == .seconds(3))
    #expect(time.suspended(at: .seconds(9)) == .zero)
  }

  /// A time left out counts from where it ran, and no further back than that.
  @Test(arguments: [(3, 20, 3), (10, 20, 10), (15, 20, 10), (5, 12, 2), (5, 10, 0), (5, 8, 0), (-3, 20, 0), (0, 20, 0)])
  func `a time left out counts from where it ran`(length: Int, end: Int, cut: Int) {
    var time = TimeTracker(at: .seconds(10))
    time.leaveOut(.seconds(length), before: .seconds(end))
    #expect(time.elapsed(at: .seconds(20)) == .seconds(10 - cut))
    #expect(time.suspended(at: .seconds(20)) == .seconds(cut))
    time.suspend(at: .seconds(20))
    time.leaveOut(.seconds(5), before: .seconds(25))
    #expect(time.elapsed(at: .seconds(30)) == .seconds(10 - cut))
    #expect(time.suspended(at: .seconds(30)) == .seconds(cut + 10))
  }

  @Test func `no clock makes a time go back`() {
    var time = TimeTracker(at: .seconds(10))
    #expect(time.elapsed(at: .seconds(3)) == .zero)
    #expect(time.suspended(at: .seconds(3)) == .zero)
    time.suspend(at: .seconds(5))
    time.resume(at: .seconds(1))
    #expect(time.elapsed(at: .seconds(11)) == .seconds(1))
    #expect(time.suspended(at: .seconds(11)) == .zero)
    time.end(at: .seconds(2))
    #expect(time.elapsed(at: .seconds(20)) == .zero)
    var extreme = TimeTracker(at: .seconds(Int64.min))
    extreme.leaveOut(.seconds(Int64.max), before: .seconds(Int64.max))
    extreme.end(at: .seconds(Int64.max))
    #expect(extreme.elapsed(at: .zero) > .zero)
  }

  /// One tick at a time, in which it runs, is suspended, or stands still with the process.
  @Test func `any order of calls agrees with a model`() {
    let seed = testSeed()
    var random = Seeded(seed: seed)
    for round in 0..<2_000 {
      var time = TimeTracker(at: .zero)
      var (now, ran, stood, isSuspended) = (0, 0, 0, false)
      for _ in 0..<Int.random(in: 0..<12, using: &random) {
        let ticks = Int.random(in: 0..<5, using: &random)
        now += ticks
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
          if isSuspended { stood += ticks } else { ran += ticks }
          let isChanged = time.suspend(at: seconds(now))
          #expect(isChanged == !isSuspended, "WEIR_SEED=\(seed), round \(round)")
          isSuspended = true
        case 1:
          if isSuspended { stood += ticks } else { ran += ticks }
          let isChanged = time.resume(at: seconds(now))
          #expect(isChanged == isSuspended, "WEIR_SEED=\(seed), round \(round)")
          isSuspended = false
        case 2:
          // The process stood still all this time.
          stood += ticks
          time.leaveOut(seconds(ticks), before: seconds(now))
        default:
          if isSuspended { stood += ticks } else { ran += ticks }
        }
        let found = (time.elapsed(at: seconds(now)), time.suspended(at: seconds(now)))
        #expect(found == (seconds(ran), seconds(stood)), "WEIR_SEED=\(seed), round \(round)")
      }
    }
  }
}

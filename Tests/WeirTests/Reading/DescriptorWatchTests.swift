// A watch rings its alarm once, when something can be read, also if the descriptor is closed by then.

import Foundation
import TestSupport
import Testing

@testable import Weir

struct DescriptorWatchTests {
  private static let clock = DeliveryClock(ContinuousClock())

  private func pipes() throws -> (from: Int32, to: Int32) {
    var pair: [Int32] = [0, 0]
    try #require(pipe(&pair) == 0)
    return (pair[0], pair[1])
  }

  @Test func `what becomes readable rings once`() async throws {
    let (from, to) = try pipes()
    let alarm = Alarm()
    let watch = try #require(DescriptorWatch(from, rings: alarm))
    // Another descriptor keeps the pipe open.
    let other = dup(from)
    close(from)
    #expect(!watch.hasRung)
    #expect(write(to, "x", 1) == 1)
    await alarm.wait(until: nil, Self.clock)
    #expect(watch.hasRung)
    #expect(write(to, "x", 1) == 1)
    // Nobody rings: the wait ends by its time.
    await alarm.wait(until: Self.clock.now + .milliseconds(20), Self.clock)
    close(other)
    close(to)
  }

  @Test func `a watch that was released before rings nobody`() async throws {
    let (from, to) = try pipes()
    let alarm = Alarm()
    var watch = DescriptorWatch(from, rings: alarm)
    #expect(watch != nil)
    watch = nil
    #expect(write(to, "x", 1) == 1)
    let waiting = Task { await alarm.wait(until: nil, Self.clock) }
    #expect(await eventually { alarm.current != nil })
    alarm.ring()
    await waiting.value
    close(from)
    close(to)
  }

  @Test func `a descriptor that is none can't be watched`() {
    #expect(DescriptorWatch(-1, rings: Alarm()) == nil)
  }
}

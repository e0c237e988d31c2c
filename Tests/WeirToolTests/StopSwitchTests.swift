// The stop switch rings the alarms of those who sleep.

#if Tool
  import TestSupport
  import Testing

  @testable import Weir
  @testable import WeirTool

  struct StopSwitchTests {
    private static let clock = DeliveryClock(ContinuousClock())

    @Test func `a switch rings who came before it was thrown, and who comes after`() async throws {
      let stop = try StopSwitch()
      let (early, late) = (Alarm(), Alarm())
      stop.ring(early)
      let waiting = Task { await early.wait(until: nil, Self.clock) }
      #expect(await eventually { early.current != nil })
      stop.stop(.storage)
      await waiting.value
      stop.ring(late)
      await late.wait(until: nil, Self.clock)
      #expect(stop.cause == .storage)
    }
  }
#endif

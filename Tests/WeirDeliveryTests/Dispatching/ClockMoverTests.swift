// What the tests of delivery move their clock with.

import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct ClockMoverTests {
  @Test(.timeLimit(.minutes(15))) func `a sleeper that goes to sleep while the clock is moved is woken`() async {
    for _ in 0..<3000 {
      let clock = VirtualClock()
      let deadline = VirtualClock.Instant(.seconds(1))
      let sleeper = Task { try? await clock.sleep(until: deadline) }
      let mover = Task { clock.advance(to: deadline) }
      await mover.value
      await sleeper.value
    }
  }

  @Test func `a wait is told from the moment on at which it begins, until it is ended`() async {
    let clock = VirtualClock()
    let delivery = DeliveryClock(clock)
    let alarm = Alarm()
    #expect(alarm.current == nil)
    for number in 1...3 as ClosedRange<UInt64> {
      let waiting = Task { await alarm.wait(until: .seconds(100), delivery) }
      #expect(await eventually { alarm.current == Alarm.Wait(number: number, until: .seconds(100)) })
      alarm.ring()
      #expect(alarm.current == nil)
      await waiting.value
    }
    clock.advance(by: .seconds(100))
    await alarm.wait(until: .seconds(100), delivery)
    #expect(alarm.current == nil)
  }
}

// Which of two endpoints gets a request, after every order of failures.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  @Suite struct HostChoiceTests {
    private static func choice(_ failures: Int = 2, _ time: Duration = .seconds(10)) -> HostChoice {
      var failover = HTTPConfiguration.Failover("http://second")
      failover.failures = failures
      failover.retryAfter = time
      return HostChoice(failover)
    }

    @Test func `one endpoint gets everything`() {
      var choice = HostChoice(nil)
      for _ in 0..<100 { #expect(choice.note(0, isDown: true, at: .zero) == 0) }
      #expect(choice.next(at: .zero) == 0)
    }

    @Test func `the second takes over after failures in a row, and the first comes back`() {
      var choice = Self.choice()
      #expect(choice.note(0, isDown: true, at: .zero) == 0)
      #expect(choice.note(0, isDown: false, at: .zero) == 0)
      #expect(choice.note(0, isDown: true, at: .zero) == 0)
      #expect(choice.note(0, isDown: true, at: .zero) == 1)
      #expect(choice.next(at: .seconds(9)) == 1)
      #expect(choice.note(1, isDown: false, at: .seconds(9)) == 1)
      #expect(choice.next(at: .seconds(10)) == 0)
      #expect(choice.note(0, isDown: false, at: .seconds(10)) == 0)
      // The count begins again.
      #expect(choice.note(0, isDown: true, at: .seconds(11)) == 0)
    }

    @Test func `each further failure of the first doubles the time`() {
      var choice = Self.choice()
      _ = choice.note(0, isDown: true, at: .zero)
      _ = choice.note(0, isDown: true, at: .zero)
      var now = Duration.zero
      for wait in [10, 20, 40, 80, 160, 300, 300] {
        #expect(choice.next(at: now + .seconds(wait - 1)) == 1)
        now += .seconds(wait)
        #expect(choice.next(at: now) == 0)
        #expect(choice.note(0, isDown: true, at: now) == 1)
      }
    }

    @Test func `if both fail, the one that may be tried sooner is tried`() {
      var choice = Self.choice(1)
      #expect(choice.note(0, isDown: true, at: .zero) == 1)
      #expect(choice.note(1, isDown: true, at: .seconds(1)) == 0)
      #expect(choice.next(at: .seconds(5)) == 0)
      #expect(choice.note(0, isDown: false, at: .seconds(5)) == 0)
    }

    /// Whatever happens: after a success an endpoint is kept, and no call is left without an endpoint.
    @Test func `every order of failures leaves an endpoint`() {
      for pattern in 0..<1 << 12 {
        var choice = Self.choice(2, .seconds(3))
        var host = choice.next(at: .zero)
        for step in 0..<12 {
          let isDown = pattern >> step & 1 == 1
          let next = choice.note(host, isDown: isDown, at: .seconds(step))
          #expect((0...1).contains(next))
          if !isDown { #expect(next == host || next == 0) }
          host = next
        }
      }
    }
  }
#endif

// What a tracking makes of the calls of pages: showings, and advice inside of them.

import Dispatch
import Synchronization
import TestSupport
import Testing
import Weir
import WeirAspects
import WeirScopes
import WeirTesting

@Suite struct PageTrackingTests {
  private func tracking(_ page: ListenedPage, _ spy: SpyTracker) -> PageTracking<ListenedPage> {
    let tracking = PageTracking("cart", of: .instance(page), tracker: spy.tracker)
    tracking.enters(on: ListenedPage.opened)
    tracking.exits(on: ListenedPage.closed)
    return tracking
  }

  // MARK: Showings

  @Test func `a showing of a page is a scope`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    let tracking = tracking(page, spy)
    page.open()
    let scope = try #require(tracking[page])
    page.close()
    #expect(tracking[page] == nil)
    #expect(spy.showings == ["entered cart", "exited cart by back"])
    #expect(spy.recorded(of: ScopeEvent.self).map(\.context.view?.id) == [scope.id, scope.id])
  }

  @Test func `each showing has an id of its own`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    let tracking = tracking(page, spy)
    for _ in 0..<2 {
      page.open()
      page.close()
    }
    #expect(Set(spy.recorded(of: ScopeEvent.self).map(\.context.view?.id)).count == 2)
    withExtendedLifetime(tracking) {}
  }

  @Test func `a page is tracked by itself`() throws {
    let (spy, page, other) = (try SpyTracker(), ListenedPage(), ListenedPage("other"))
    let tracking = tracking(page, spy)
    other.open()
    page.open()
    other.close()
    #expect(spy.showings == ["entered cart"])
    withExtendedLifetime(tracking) {}
  }

  @Test func `entering twice is entering once`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    let tracking = tracking(page, spy)
    page.close()
    page.open()
    page.open()
    page.close()
    page.close()
    #expect(spy.showings == ["entered cart", "exited cart by back"])
    withExtendedLifetime(tracking) {}
  }

  @Test func `an exit says what it was by`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    let tracking = PageTracking("cart", of: .instance(page), tracker: spy.tracker)
    tracking.enters(on: ListenedPage.opened)
    tracking.exits(on: ListenedPage.bought, interaction: "buy")
    page.open()
    _ = page.buy(count: 1)
    #expect(spy.showings == ["entered cart", "exited cart by buy"])
  }

  @Test func `a join point may suspend and resume a page`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    let tracking = PageTracking("cart", of: .instance(page), tracker: spy.tracker)
    tracking.enters(on: ListenedPage.bought)
    tracking.suspends(on: ListenedPage.closed)
    tracking.resumes(on: ListenedPage.opened)
    page.close()
    _ = page.buy(count: 1)
    page.close()
    page.close()
    page.open()
    page.open()
    #expect(spy.showings == ["entered cart", "suspended cart", "resumed cart"])
    withExtendedLifetime(tracking) {}
  }

  @Test func `the process suspends, resumes and ends what is entered`() throws {
    let (spy, page, idle) = (try SpyTracker(), ListenedPage(), ListenedPage("idle"))
    let lifeCycle = try LifeCycle(spy.tracker)
    let trackings = [tracking(page, spy), tracking(idle, spy)]
    page.open()
    lifeCycle.note(.suspend)
    lifeCycle.note(.resume)
    lifeCycle.note(.shutdown)
    page.close()
    #expect(spy.showings == ["entered cart", "suspended cart", "resumed cart", "exited cart by shutdown"])
    withExtendedLifetime(trackings) {}
  }

  @Test func `a page whose scope has ended is entered anew`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    let tracking = tracking(page, spy)
    page.open()
    tracking[page]?.end(interaction: "timeout")
    #expect(tracking[page] == nil)
    page.open()
    #expect(spy.showings == ["entered cart", "exited cart by timeout", "entered cart"])
  }

  // MARK: Advice

  @Test func `advice gets the page, the call and the outcome`() throws {
    let (spy, page, heard) = (try SpyTracker(), ListenedPage(), Heard())
    let tracking = tracking(page, spy)
    tracking.before(ListenedPage.bought) { page, call in heard.say("buying \(call.count) from \(page.title)") }
    tracking.after(ListenedPage.bought, timed: true) { _, call, outcome in
      heard.say("bought \(call.count): \(outcome.words) \(outcome.elapsed != nil)")
    }
    tracking.after(ListenedPage.bought) { _, _, outcome in heard.say("\(outcome.elapsed == nil)") }
    _ = page.buy(count: 3)
    #expect(heard.all == ["buying 3 from cart", "bought 3: 6 true", "true"])
  }

  @Test func `advice runs inside of the page's scope`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    let tracker = spy.tracker
    let tracking = tracking(page, spy)
    tracking.before(ListenedPage.opened) { _, _ in tracker.track(PageView(page: "opened")) }
    tracking.after(ListenedPage.bought) { _, _, _ in tracker.track(PageView(page: "bought")) }
    _ = page.buy(count: 1)
    page.open()
    let scope = try #require(tracking[page])
    _ = page.buy(count: 1)
    #expect(spy.recorded(of: PageView.self).map(\.context.view?.id) == [nil, scope.id, scope.id])
  }

  @Test func `advice may end the showing by the outcome`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    let tracking = tracking(page, spy)
    tracking.after(ListenedPage.bought) { _, _, outcome in
      if outcome.returned ?? 0 > 2 { Scope.current?.end(interaction: "bought") }
    }
    page.open()
    _ = page.buy(count: 1)
    #expect(spy.showings == ["entered cart"])
    _ = page.buy(count: 2)
    page.close()
    #expect(spy.showings == ["entered cart", "exited cart by bought"])
  }

  @Test func `events are for whom the page was called`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    let tracker = spy.tracker
    let tracking = tracking(page, spy)
    tracking.after(ListenedPage.bought) { _, _, _ in tracker.track(PageView(page: "bought")) }
    Bindings.with(user: "ada") { page.open() }
    Bindings.with(user: "bob") {
      _ = page.buy(count: 1)
      page.close()
      page.open()
    }
    #expect(spy.recorded(of: PageView.self).map(\.context.user?.id) == ["bob"])
    // The scope's own events are of those who began it.
    #expect(spy.recorded(of: ScopeEvent.self).map(\.context.user?.id) == ["ada", "ada", "bob"])
    withExtendedLifetime(tracking) {}
  }

  @Test func `a page may be an actor`() async throws {
    let (spy, cart, heard) = (try SpyTracker(), ListenedCart(), Heard())
    let tracking = PageTracking("cart", of: .instance(cart), tracker: spy.tracker)
    tracking.enters(on: ListenedCart.opened)
    tracking.after(ListenedCart.added) { cart, _, _ in cart.assumeIsolated { heard.say("\($0.count)") } }
    await cart.open()
    await cart.add(3)
    #expect(heard.all == ["3"])
    #expect(spy.showings == ["entered cart"])
    withExtendedLifetime(tracking) {}
  }

  // MARK: Ends

  @Test func `the tracking's end leaves what is entered, and hears nothing more`() throws {
    let (spy, page, heard) = (try SpyTracker(), ListenedPage(), Heard())
    var tracking: PageTracking? = tracking(page, spy)
    tracking?.before(ListenedPage.opened) { _, _ in heard.say("opened") }
    weak let gone = tracking
    page.open()
    let scope = tracking?[page]
    tracking = nil
    #expect(gone == nil)
    #expect(scope?.isEnded == true)
    page.close()
    page.open()
    #expect(heard.all == ["opened"])
    #expect(spy.showings == ["entered cart", "exited cart by released"])
  }

  @Test func `the tracking's end says nothing of a page that is not entered`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    var tracking: PageTracking? = tracking(page, spy)
    page.open()
    page.close()
    tracking = nil
    #expect(tracking == nil)
    #expect(spy.showings == ["entered cart", "exited cart by back"])
  }

  @Test func `the tracking's end does not wait for advice`() throws {
    let (spy, page, other, heard) = (try SpyTracker(), ListenedPage(), ListenedPage("other"), Heard())
    let (running, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    // Advice may take a lock under which somebody lets go of a tracking.
    let hook = ListenedPage.bought.before(.instance(other)) { _, _ in
      running.signal()
      heard.say(ended.wait(timeout: .now() + 900) == .success ? "went" : "waited")
    }
    let buyer = DispatchGroup()
    nonisolated(unsafe) let shared = other
    DispatchQueue.global().async(group: buyer) { _ = shared.buy(count: 1) }
    running.wait()
    var tracking: PageTracking? = tracking(page, spy)
    page.open()
    tracking = nil
    #expect(tracking == nil)
    #expect(spy.showings == ["entered cart", "exited cart by released"])
    ended.signal()
    buyer.wait()
    #expect(heard.all == ["went"])
    withExtendedLifetime(hook) {}
  }

  @Test func `the page is not kept`() throws {
    let spy = try SpyTracker()
    var page: ListenedPage? = ListenedPage()
    weak let gone = page
    let tracking = tracking(page!, spy)
    page!.open()
    page = nil
    #expect(gone == nil)
    // Nothing to listen to: that is no reason to end the program.
    tracking.enters(on: ListenedPage.opened)
  }

  @Test func `a join point of another class traps`() async {
    await #expect(processExitsWith: .failure) {
      let tracking = PageTracking("cart", of: .exactly(ListenedCart.self), tracker: try SpyTracker().tracker)
      tracking.enters(on: ListenedPage.opened)
    }
  }

  // MARK: Threads

  /// One thread stands still in the midst of beginning; another one begins meanwhile.
  @Test func `of threads that enter a page at once one begins its showing`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    let clock = HeldClock()
    var configuration = LifeCycle.Configuration()
    configuration.clock = clock
    let lifeCycle = try LifeCycle(spy.tracker, configuration: configuration)
    let tracking = tracking(page, spy)
    nonisolated(unsafe) let shared = page
    onThreads(2) { index in
      if index == 1 { clock.isHeld.wait() }
      HeldClock.$holds.withValue(index == 0) { shared.open() }
      if index == 1 { clock.goesOn.signal() }
    }
    #expect(tracking[page]?.entered.isAccepted == true)
    page.close()
    // Captured on two threads, so in any order in the log.
    #expect(spy.showings.sorted() == ["entered cart", "exited cart by back"])
    withExtendedLifetime(lifeCycle) {}
  }

  /// A clock that holds a thread, once, when it asks for the time.
  private final class HeldClock: Clock {
    typealias Instant = VirtualClock.Instant
    @TaskLocal static var holds = false
    let isHeld = DispatchSemaphore(value: 0)
    let goesOn = DispatchSemaphore(value: 0)
    private let wasHeld = Atomic<Bool>(false)
    private let time = VirtualClock()

    var now: Instant {
      if Self.holds, !wasHeld.exchange(true, ordering: .relaxed) {
        isHeld.signal()
        goesOn.wait()
      }
      return time.now
    }
    var minimumResolution: Duration { time.minimumResolution }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      try await time.sleep(until: deadline, tolerance: tolerance)
    }
  }

  @Test func `of many threads each showing is entered once and left once`() throws {
    let (spy, page) = (try SpyTracker(), ListenedPage())
    let tracking = tracking(page, spy)
    nonisolated(unsafe) let shared = page
    onThreads(4) { _ in
      for _ in 0..<500 {
        shared.open()
        shared.close()
      }
    }
    let events = spy.recorded(of: ScopeEvent.self)
    let showings = Dictionary(grouping: events) { $0.context.view?.id }
    #expect(showings.values.allSatisfy { $0.count == 2 })
    #expect(tracking[page] == nil)
  }
}

import Dispatch
import Synchronization
import TestSupport
import Testing
import Weir
import WeirAspects
import WeirScopes
import WeirTesting

@Suite struct TrackingHandlerTests {
  private typealias Handler = TrackingHandler<ListenedPage, String, Notes>

  private func listening(to page: ListenedPage, _ notes: Notes, _ lifeCycle: LifeCycle? = nil) -> Handler {
    let handler = Handler(page, delegate: notes, lifeCycle: lifeCycle) { $0.title }
    handler.enters(on: ListenedPage.opened)
    handler.exits(on: ListenedPage.closed)
    return handler
  }

  @Test func `a handler tells of entering and leaving`() {
    let (page, notes) = (ListenedPage(), Notes())
    let handler = listening(to: page, notes)
    page.open()
    page.title = "emptied cart"
    page.close()
    #expect(notes.all == ["entered cart", "exited emptied cart by back"])
    withExtendedLifetime(handler) {}
  }

  @Test func `a handler listens to its own page alone`() {
    let (page, other, notes) = (ListenedPage(), ListenedPage("other"), Notes())
    let handler = listening(to: page, notes)
    other.open()
    page.open()
    other.close()
    #expect(notes.all == ["entered cart"])
    withExtendedLifetime(handler) {}
  }

  @Test func `a handler listens to a page of a subclass`() {
    let (page, notes) = (SpecialPage("special"), Notes())
    let handler = TrackingHandler<SpecialPage, String, Notes>(page, delegate: notes) { $0.title }
    handler.enters(on: ListenedPage.opened)
    page.open()
    #expect(notes.all == ["entered special"])
  }

  @Test func `entering twice is entering once`() {
    let (page, notes) = (ListenedPage(), Notes())
    let handler = listening(to: page, notes)
    page.close()
    page.open()
    page.open()
    page.close()
    page.close()
    #expect(notes.all == ["entered cart", "exited cart by back"])
    withExtendedLifetime(handler) {}
  }

  @Test func `a handler suspends and resumes what is entered`() {
    let (page, notes) = (ListenedPage(), Notes())
    let handler = listening(to: page, notes)
    handler.suspend()
    handler.resume()
    page.open()
    handler.resume()
    handler.suspend()
    handler.suspend()
    handler.resume()
    handler.suspend()
    page.close()
    handler.resume()
    #expect(
      notes.all == ["entered cart", "suspended cart", "resumed cart", "suspended cart", "exited cart by back"])
  }

  @Test func `a join point may suspend and resume a page`() {
    let (page, notes) = (ListenedPage(), Notes())
    let handler = Handler(page, delegate: notes) { $0.title }
    handler.enters(on: ListenedPage.bought)
    handler.suspends(on: ListenedPage.closed)
    handler.resumes(on: ListenedPage.opened)
    _ = page.buy(count: 1)
    page.close()
    page.open()
    #expect(notes.all == ["entered cart", "suspended cart", "resumed cart"])
  }

  @Test func `advice gets the handler, the page and the call`() {
    let (page, notes) = (ListenedPage(), Notes())
    let handler = Handler(page, delegate: notes) { $0.title }
    handler.before(ListenedPage.bought) { handler, page, call in
      handler.delegate.note("buying \(call.count) from \(handler.info(of: page))")
    }
    handler.after(ListenedPage.bought) { handler, _, call, outcome in
      handler.delegate.note("bought \(call.count): \((try? outcome.get()) ?? 0)")
    }
    _ = page.buy(count: 3)
    #expect(notes.all == ["buying 3 from cart", "bought 3: 6"])
  }

  @Test func `a handler's end detaches, and leaves an entered page`() {
    let (page, notes) = (ListenedPage(), Notes())
    var handler: Handler? = listening(to: page, notes)
    weak let gone = handler
    page.open()
    handler = nil
    #expect(gone == nil)
    page.close()
    page.open()
    #expect(notes.all == ["entered cart", "exited cart by released"])
  }

  @Test func `a handler's end says nothing of a page that is not entered`() {
    let (page, notes) = (ListenedPage(), Notes())
    var handler: Handler? = listening(to: page, notes)
    page.open()
    page.close()
    handler = nil
    #expect(handler == nil)
    #expect(notes.all == ["entered cart", "exited cart by back"])
  }

  @Test func `the page is not kept`() {
    let notes = Notes()
    var page: ListenedPage? = ListenedPage()
    let handler = listening(to: page!, notes)
    page!.open()
    page = nil
    #expect(handler.owner == nil)
    // Nothing to listen to: that is no reason to end the program.
    handler.enters(on: ListenedPage.opened)
  }

  @Test func `the process suspends, resumes and ends the page`() async throws {
    let spy = try SpyTracker()
    let lifeCycle = try LifeCycle(spy.tracker)
    let (page, idle, notes) = (ListenedPage(), ListenedPage("idle"), Notes())
    let handlers = [listening(to: page, notes, lifeCycle), listening(to: idle, notes, lifeCycle)]
    page.open()
    lifeCycle.note(.suspend)
    lifeCycle.note(.resume)
    lifeCycle.note(.shutdown)
    page.close()
    #expect(notes.all == ["entered cart", "suspended cart", "resumed cart", "exited cart by shutdown"])
    withExtendedLifetime(handlers) {}
  }

  @Test func `a page suspended by itself stays so when the process goes on`() {
    let (page, notes) = (ListenedPage(), Notes())
    let handler = listening(to: page, notes)
    page.open()
    handler.suspend()
    handler.processChanged(to: .suspend)
    handler.processChanged(to: .resume)
    #expect(notes.all == ["entered cart", "suspended cart"])
    handler.processChanged(to: .suspend)
    handler.resume()
    #expect(notes.all == ["entered cart", "suspended cart"])
    handler.processChanged(to: .resume)
    #expect(notes.all == ["entered cart", "suspended cart", "resumed cart"])
    handler.suspend()
    page.close()
    page.open()
    handler.resume()
    #expect(notes.all.suffix(3) == ["suspended cart", "exited cart by back", "entered cart"])
  }

  @Test func `a page may be an actor`() async {
    let (cart, notes) = (ListenedCart(), Notes())
    let handler = TrackingHandler<ListenedCart, String, Notes>(cart, delegate: notes) { cart in
      cart.assumeIsolated { "cart of \($0.count)" }
    }
    handler.enters(on: ListenedCart.opened)
    handler.exits(on: ListenedCart.added)
    await cart.open()
    await cart.add(3)
    #expect(notes.all == ["entered cart of 0", "exited cart of 3 by back"])
    withExtendedLifetime(handler) {}
  }

  @Test func `a handler's end does not wait for advice`() {
    let (page, other, notes) = (ListenedPage(), ListenedPage("other"), Notes())
    let (running, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    // Advice may take a lock under which somebody lets go of a handler.
    let hook = ListenedPage.bought.before(on: other) { _, _ in
      running.signal()
      notes.note(ended.wait(timeout: .now() + 900) == .success ? "went" : "waited")
    }
    let buyer = DispatchGroup()
    nonisolated(unsafe) let shared = other
    DispatchQueue.global().async(group: buyer) { _ = shared.buy(count: 1) }
    running.wait()
    var handler: Handler? = listening(to: page, notes)
    page.open()
    handler = nil
    #expect(handler == nil)
    ended.signal()
    buyer.wait()
    #expect(notes.all == ["entered cart", "exited cart by released", "went"])
    withExtendedLifetime(hook) {}
  }

  @Test func `a delegate may call the handler`() {
    final class Echo: TrackingDelegate {
      typealias Info = String
      let handler = Mutex<Handle?>(nil)
      let notes = Notes()
      struct Handle: Sendable { weak let handler: TrackingHandler<ListenedPage, String, Echo>? }
      func entered(_ info: String) {
        notes.entered(info)
        handler.withLock { $0 }?.handler?.suspend()
        notes.note("told")
      }
      func suspended(_ info: String) { notes.suspended(info) }
    }
    let (page, echo) = (ListenedPage(), Echo())
    let handler = TrackingHandler<ListenedPage, String, Echo>(page, delegate: echo) { $0.title }
    echo.handler.withLock { $0 = Echo.Handle(handler: handler) }
    handler.enters(on: ListenedPage.opened)
    page.open()
    #expect(echo.notes.all == ["entered cart", "told", "suspended cart"])
  }

  @Test func `many threads are told in order`() async {
    let (page, notes) = (ListenedPage(), Notes())
    let handler = listening(to: page, notes)
    nonisolated(unsafe) let shared = page
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<500 {
            shared.open()
            shared.close()
          }
        }
      }
    }
    handler.exit(page, interaction: "end")
    let lines = notes.all
    #expect(lines.count.isMultiple(of: 2))
    for (index, line) in lines.enumerated() {
      #expect(line.hasPrefix(index.isMultiple(of: 2) ? "entered" : "exited"), "line \(index)")
    }
  }

  // MARK: For whom

  /// Two requests use one page: while one of them is telling, the other one's news are told on its thread.
  @Test(arguments: ["bob", nil])
  func `an event that another thread tells is of the request in which it happened`(second: String?) throws {
    let spy = try SpyTracker()
    let page = ListenedPage()
    let coordinator = HeldCoordinator(spy.tracker)
    let handler = TrackingHandler<ListenedPage, Void, HeldCoordinator>(page, delegate: coordinator) { _ in }
    handler.enters(on: ListenedPage.opened)
    handler.exits(on: ListenedPage.closed)
    Bindings.with(user: "ada") { page.open() }
    // Events of two threads come into the log in any order, but for those that are there already.
    try spy.tracker.drain()
    nonisolated(unsafe) let shared = page
    onThreads(2) { index in
      guard index == 1 else { return Bindings.with(user: "ada") { shared.close() } }
      // The other one is telling that the page is left.
      coordinator.isTelling.wait()
      if let second { Bindings.with(user: second) { shared.open() } } else { shared.open() }
      coordinator.goesOn.signal()
    }
    let users = spy.recorded(of: PageView.self).map { [$0.event.page, $0.context.user?.id ?? "nobody"] }
    #expect(users == [["entered", "ada"], ["exited", "ada"], ["entered", second ?? "nobody"]])
    // The scope's own events are of those who began it.
    #expect(spy.recorded(of: ScopeEvent.self).map(\.context.user?.id) == ["ada", "ada", second])
    withExtendedLifetime(handler) {}
  }

  /// Captures events of its own, and holds the first exit until it may go on.
  private final class HeldCoordinator: ScopeCoordinator {
    typealias Info = Void
    let page: ScopeSlot
    let isTelling = DispatchSemaphore(value: 0)
    let goesOn = DispatchSemaphore(value: 0)
    private let wasHeld = Atomic<Bool>(false)

    init(_ tracker: Tracker) { page = ScopeSlot("cart", tracker: tracker) }

    func entered(_ info: Void) {
      page.track(PageView(page: "entered"))
      page.begin()
    }

    func exited(_ info: Void, interaction: String) {
      if !wasHeld.exchange(true, ordering: .relaxed) {
        isTelling.signal()
        goesOn.wait()
      }
      page.track(PageView(page: "exited"))
      page.end(interaction: interaction)
    }
  }

  // MARK: A plain page

  @Test func `a plain page takes three lines`() throws {
    let spy = try SpyTracker()
    let page = ListenedPage()
    let tracking = TrackingHandler(page, delegate: PageCoordinator("checkout", tracker: spy.tracker))
    tracking.enters(on: ListenedPage.opened)
    tracking.exits(on: ListenedPage.closed)
    page.open()
    page.close()
    let events = spy.recorded(of: ScopeEvent.self)
    #expect(events.map(\.event.name) == ["checkout", "checkout"])
    #expect(spy.names == ["scope.entered", "scope.exited"])
    let views = events.map(\.context.view)
    #expect(views[0]?.name == "checkout")
    #expect(views[0] == views[1])
  }

  @Test func `each showing has an id of its own`() throws {
    let spy = try SpyTracker()
    let slot = ScopeSlot("checkout", tracker: spy.tracker)
    #expect(slot.scope == nil)
    #expect(slot.elapsed == nil)
    let first = slot.begin()
    #expect(slot.begin() === first)
    slot.end(interaction: "back")
    #expect(slot.scope == nil)
    #expect(slot.begin().id != first.id)
    slot.end(interaction: "back")
    slot.end(interaction: "back")
    #expect(spy.names.filter { $0 == "scope.exited" }.count == 2)
  }

  /// One thread stands still in the midst of beginning; another one begins meanwhile.
  @Test func `a thread that is overtaken in beginning begins nothing`() throws {
    let spy = try SpyTracker()
    let clock = HeldClock()
    var configuration = LifeCycle.Configuration()
    configuration.clock = clock
    let lifeCycle = try LifeCycle(spy.tracker, configuration: configuration)
    let slot = ScopeSlot("checkout", tracker: spy.tracker)
    let scopes = Mutex<[Scope]>([])
    onThreads(2) { index in
      if index == 1 { clock.isHeld.wait() }
      let scope = HeldClock.$holds.withValue(index == 0) { slot.begin() }
      scopes.withLock { $0.append(scope) }
      if index == 1 { clock.goesOn.signal() }
    }
    let begun = scopes.withLock { $0 }
    try #require(begun.count == 2)
    #expect(begun[0] === begun[1])
    #expect(slot.scope === begun[0])
    #expect(begun[0].entered.isAccepted)
    slot.end(interaction: "back")
    // Captured on two threads, so in any order in the log.
    #expect(spy.names.filter { $0.hasPrefix("scope.") }.sorted() == ["scope.entered", "scope.exited"])
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

  @Test func `events of a slot are inside of its scope`() throws {
    let spy = try SpyTracker()
    let slot = ScopeSlot("checkout", tracker: spy.tracker)
    slot.track(PageView(page: "before"))
    let scope = slot.begin()
    slot.track(PageView(page: "inside"))
    slot.end(interaction: "back")
    let views = spy.recorded(of: PageView.self).map(\.context.view?.id)
    #expect(views == [nil, scope.id])
  }
}

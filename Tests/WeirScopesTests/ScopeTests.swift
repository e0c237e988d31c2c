// Scope: its events, what is captured inside, its time, and whatever a program may do to it.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirScopes

/// A log, and what scopes wrote into it.
struct ScopeLog {
  let tracker: Tracker

  static func with<Result>(_ body: (ScopeLog) throws -> Result) throws -> Result {
    try withDirectory { directory in
      try body(ScopeLog(tracker: Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })))
    }
  }

  static func withAsync<Result>(_ body: (ScopeLog) async throws -> Result) async throws -> Result {
    try await withDirectoryAsync { directory in
      try await body(ScopeLog(tracker: Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })))
    }
  }

  /// All events by their time: offsets say nothing about the order of what different threads captured.
  func events() throws -> [StoredEvent] {
    try tracker.events().sorted { ($0.time, $0.offset) < ($1.time, $1.offset) }
  }

  /// All events: the name, of scopes' own with the scope's and the interaction.
  func lines() throws -> [String] {
    try events().map { event in
      switch try ScopeEvent(event) {
      case .exited(let name, let interaction, _, _): "exited \(name) \(interaction)"
      case let own?: "\(event.name.dropFirst("scope.".count)) \(own.name)"
      case nil: event.name
      }
    }
  }
}

struct ScopeTests {
  struct Failed: Error, Equatable {}

  @Test func `a scope is entered and exited around what is captured`() throws {
    try ScopeLog.with { log throws in
      let id = log.tracker.withScope("checkout") { scope in
        #expect(Scope.current === scope)
        #expect(Bindings.current.view == EventView(id: scope.id, name: "checkout"))
        log.tracker.track("inside")
        return scope.id
      }
      #expect(Scope.current == nil)
      #expect(Bindings.current.view == nil)
      log.tracker.track("outside")
      #expect(try log.lines() == ["entered checkout", "inside", "exited checkout end", "outside"])
      let views = try log.events().map(\.context.view)
      #expect(views == [EventView(id: id, name: "checkout")] + [views[0], views[0], nil])
      let found = try log.tracker.events(of: ScopeEvent.self).map(\.event)
      guard case .exited(_, _, let seconds, let suspended)? = found.last else { throw Failed() }
      #expect(seconds >= 0)
      #expect(suspended == 0)
    }
  }

  @Test func `a scope has the view around it for its parent`() throws {
    try ScopeLog.with { log throws in
      let tracker = log.tracker
      Bindings.with(view: "page") {
        let page = Bindings.current.view?.id
        tracker.withScope("outer") { outer in
          #expect(outer.parent == page)
          Bindings.with(view: "dialog") {
            #expect(Bindings.current.view?.parent == outer.id)
            #expect(Scope.current === outer)
            tracker.withScope("inner") { inner in
              #expect(inner.parent == Bindings.current.view?.parent)
              #expect(inner.parent != outer.id)
              tracker.track("x")
            }
          }
          #expect(tracker.beginScope("given", parent: "elsewhere").parent == "elsewhere")
          #expect(tracker.beginScope("child").parent == outer.id)
        }
        #expect(Bindings.current.view?.id == page)
        #expect(Scope.current == nil)
      }
      #expect(tracker.beginScope("alone").parent == nil)
      let event = try #require(try tracker.events().first { $0.name == "x" })
      let entered = try #require(try tracker.events().first { $0.fields["name"] == "inner" })
      #expect(event.context.view == entered.context.view)
      #expect(event.context.view?.name == "inner")
    }
  }

  @Test func `an exit tells the interaction that ended the scope`() async throws {
    try await ScopeLog.withAsync { log async throws in
      let tracker = log.tracker
      #expect(throws: Failed()) { try tracker.withScope("1") { _ throws(Failed) in throw Failed() } }
      #expect(throws: CancellationError.self) { try tracker.withScope("2") { _ in throw CancellationError() } }
      tracker.withScope("3") { #expect($0.end(interaction: "submit")?.isAccepted == true) }
      await #expect(throws: Failed()) {
        try await tracker.withScope("4") { _ async throws(Failed) in
          await Task.yield()
          throw Failed()
        }
      }
      let task = Task { try await tracker.withScope("5") { _ in try await Task.sleep(for: .seconds(3600)) } }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      let answer = await tracker.withScope("6") { scope in
        await Task.yield()
        return scope.name
      }
      #expect(answer == "6")
      let ends = try log.lines().filter { $0.hasPrefix("exited") }
      #expect(
        ends == [
          "exited 1 error", "exited 2 cancelled", "exited 3 submit", "exited 4 error", "exited 5 cancelled",
          "exited 6 end",
        ])
    }
  }

  /// A function with typed throws keeps its type, and one that can't throw needs no `try`.
  @Test func `an error keeps its type`() throws {
    try ScopeLog.with { log throws in
      func fails() throws(Failed) {
        let scope = log.tracker.beginScope("typed")
        try scope.run { () throws(Failed) in try log.tracker.withScope("x") { _ throws(Failed) in throw Failed() } }
      }
      #expect(throws: Failed()) { try fails() }
      #expect(log.tracker.withScope("y") { _ in 42 } == 42)
    }
  }

  @Test func `a scope that ended does nothing more`() throws {
    try ScopeLog.with { log throws in
      let scope = log.tracker.beginScope("job")
      #expect(scope.entered.isAccepted)
      #expect(!scope.isEnded)
      #expect(!scope.isSuspended)
      #expect(scope.resume() == nil)
      #expect(scope.suspend()?.isAccepted == true)
      #expect(scope.isSuspended)
      #expect(scope.suspend() == nil)
      #expect(scope.resume()?.isAccepted == true)
      #expect(!scope.isSuspended)
      scope.suspend()
      #expect(scope.end(interaction: "first")?.isAccepted == true)
      #expect(scope.isEnded)
      #expect(!scope.isSuspended)
      #expect(scope.end() == nil)
      #expect(scope.suspend() == nil)
      #expect(scope.resume() == nil)
      #expect(scope.track(Checkout.started(cart: 1)).isAccepted)
      scope.run { _ = log.tracker.track("late") }
      #expect(
        try log.lines() == [
          "entered job", "suspended job", "resumed job", "suspended job", "exited job first", "checkout.started",
          "late",
        ])
      #expect(try log.events().allSatisfy { $0.context.view?.id == scope.id })
      let elapsed = scope.elapsed
      #expect(scope.elapsed == elapsed)
    }
  }

  @Test func `a scope released without an end is exited`() throws {
    try ScopeLog.with { log throws in
      var scope: Scope? = log.tracker.beginScope("lost")
      scope?.run { #expect(Scope.current != nil) }
      scope = nil
      #expect(try log.lines() == ["entered lost", "exited lost released"])
      #expect(log.tracker.scopes.open.isEmpty)
    }
  }

  /// A task that was made inside of a scope does not keep it; its events carry the id still.
  @Test func `a task does not keep a scope`() async throws {
    try await ScopeLog.withAsync { log async throws in
      let (gate, opener) = AsyncStream.makeStream(of: Void.self)
      var scope: Scope? = log.tracker.beginScope("parent")
      let id = scope?.id
      let task = scope?.run {
        Task { () -> Bool in
          for await _ in gate { break }
          log.tracker.track("late")
          return Scope.current == nil
        }
      }
      scope = nil
      #expect(try log.lines().last == "exited parent released")
      opener.yield()
      #expect(await task?.value == true)
      #expect(try log.events().last?.context.view?.id == id)
    }
  }

  @Test func `a scope may end inside of its own run, and by another`() async throws {
    try await ScopeLog.withAsync { log async throws in
      let scope = log.tracker.beginScope("a")
      await scope.run {
        log.tracker.track("before")
        await Task.detached { _ = scope.end(interaction: "elsewhere") }.value
        log.tracker.track("after")
        #expect(Scope.current === scope)
      }
      #expect(try log.lines() == ["entered a", "before", "exited a elsewhere", "after"])
      #expect(try log.events().allSatisfy { $0.context.view?.id == scope.id })
    }
  }

  @Test func `a child outlives its parent`() throws {
    try ScopeLog.with { log throws in
      let parent = log.tracker.beginScope("parent")
      let child = parent.run { log.tracker.beginScope("child") }
      parent.end()
      child.track(Checkout.started(cart: 1))
      child.end()
      let event = try #require(try log.events().first { $0.name == "checkout.started" })
      #expect(event.context.view == EventView(id: child.id, name: "child", parent: parent.id))
      #expect(try log.lines().last == "exited child end")
    }
  }

  /// The scope's own events are its beginner's, whoever ends it; what is captured inside is for whom it is captured.
  @Test func `events through a scope have the user and fields that it began with`() throws {
    try ScopeLog.with { log throws in
      let scope = Bindings.with(user: "ada") {
        Bindings.with(fields: ["route": "/cart"]) { log.tracker.beginScope("s") }
      }
      Bindings.with(user: "bob") {
        scope.track(Checkout.started(cart: 1))
        scope.run { _ = log.tracker.track("run") }
        scope.suspend()
        scope.end()
      }
      scope.track(Checkout.started(cart: 2))
      let found = try log.events()
      #expect(found.map(\.context.user?.id) == ["ada", "bob", "bob", "ada", "ada", nil])
      #expect(found.map { $0.context.fields.isEmpty } == [false, true, true, false, false, true])
      #expect(found.allSatisfy { $0.context.view?.id == scope.id })
    }
  }

  @Test func `the close of a tracker ends the open scopes, latest first`() throws {
    try ScopeLog.with { log throws in
      let outer = log.tracker.beginScope("outer")
      let inner = outer.run { log.tracker.beginScope("inner") }
      log.tracker.beginScope("done").end()
      try log.tracker.close()
      #expect(inner.parent == outer.id)
      let events = try EventReader(directory: log.tracker.directory).all().sorted { $0.time < $1.time }
      let ends = try events.compactMap { event -> String? in
        guard case .exited(let name, let interaction, _, _)? = try ScopeEvent(event) else { return nil }
        return "\(name) \(interaction)"
      }
      #expect(ends == ["done end", "inner shutdown", "outer shutdown"])
    }
  }

  @Test func `a scope of a closed tracker captures nothing`() throws {
    try ScopeLog.with { log throws in
      let before = log.tracker.beginScope("before")
      try log.tracker.close()
      #expect(before.isEnded)
      #expect(before.suspend() == nil)
      #expect(before.track(Checkout.started(cart: 1)) == .dropped(.closed))
      #expect(before.end() == nil)
      let after = log.tracker.beginScope("after")
      #expect(after.entered == .dropped(.closed))
      #expect(after.run { Scope.current === after })
      #expect(try EventReader(directory: log.tracker.directory).all().map(\.name) == ["scope.entered", "scope.exited"])
    }
  }

  /// Each task has scopes of its own, begun, suspended and ended on whichever threads.
  @Test func `scopes of many threads keep apart`() async throws {
    try await ScopeLog.withAsync { log async throws in
      await withTaskGroup(of: Void.self) { group in
        for task in 0..<16 {
          group.addTask {
            for round in 0..<25 {
              await log.tracker.withScope("\(task)/\(round)") { scope in
                await withTaskGroup(of: Void.self) { others in
                  others.addTask { scope.suspend() }
                  others.addTask { scope.resume() }
                  others.addTask { _ = log.tracker.track(Single("\(task)/\(round)")) }
                  others.addTask { if round % 5 == 0 { scope.end(interaction: "other") } }
                }
              }
            }
          }
        }
      }
      #expect(log.tracker.scopes.open.isEmpty)
      let events = try log.events()
      let exits = events.filter { $0.name == "scope.exited" }
      #expect(exits.count == 400)
      #expect(Set(exits.compactMap(\.context.view?.id)).count == 400)
      #expect(
        events.allSatisfy { event in
          event.context.view.map { .string($0.name) } == event.fields["name"] ?? event.fields["value"]
        })
    }
  }

  @MainActor
  @Test func `work in a scope stays on its actor`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "weir-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let tracker = try Tracker(directory: directory, configuration: quiet())
    var count = 0
    await tracker.withScope("main") { _ in
      count += 1
      await Task.yield()
      MainActor.assertIsolated()
      count += 1
    }
    #expect(count == 2)
  }

  /// A child of a fork can't capture, and can't hang on a lock that nobody lets go of.
  @Test func `nothing happens to scopes in a child of a fork`() async throws {
    await #expect(processExitsWith: .exitCode(7)) {
      try ScopeLog.with { log throws in
        let scope = log.tracker.beginScope("parent's")
        let lifeCycle = try LifeCycle(log.tracker)
        let parent = getpid()
        let observation = lifeCycle.observe { _ in if getpid() != parent { _exit(3) } }
        let child = forkProcess()
        if child == 0 {
          let isNothing = scope.suspend() == nil && scope.end() == nil && scope.elapsed == .zero
          let inner = log.tracker.beginScope("child's")
          let isRefused = inner.entered == .dropped(.detached) && scope.run { inner.end() } == .dropped(.detached)
          lifeCycle.note(.shutdown)
          _exit(isNothing && isRefused ? 7 : 1)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        guard scope.end()?.isAccepted == true else { _exit(2) }
        withExtendedLifetime(observation) {}
        _exit(status >> 8)
      }
    }
  }
}

@_silgen_name("fork") private func forkProcess() -> pid_t

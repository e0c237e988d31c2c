// Global fields and the default user: stored once, joined when read, in order with the events.

import Foundation
import TestSupport
import Testing

@testable import Weir

struct AssociationTests {
  private func withTracker(
    _ globals: GlobalFields = GlobalFields(), largestEvent: Int? = nil, blocks: Bool = false,
    _ body: (Tracker) throws -> Void
  ) throws {
    let configuration = quiet {
      $0.globals = globals
      if let largestEvent { $0.maximumEventBytes = largestEvent }
      if blocks { $0.whenFull = .block }
    }
    try withDirectory { directory in
      try body(try Tracker(directory: directory, configuration: configuration))
    }
  }

  @Test func `global fields are in the context of each event of the opening`() throws {
    let globals = GlobalFields(
      app: "shop", version: "1.2", environment: "test", consent: "all", fields: ["region": "eu", "app": "other"],
      sensitive: ["region"])
    try withTracker(globals) { tracker in
      #expect(tracker.globals == globals)
      tracker.track(Checkout.started(cart: 1))
      tracker.track("dynamic")
      let expected = EventContext(
        globals: ["app": "shop", "version": "1.2", "environment": "test", "consent": "all", "region": "eu"],
        sensitive: ["region"])
      let contexts = try tracker.events().map(\.context)
      #expect(contexts == [expected, expected])
      // Nothing of it is in the events, and it is there once.
      #expect(tracker.counters.contexts == 1)
    }
  }

  @Test func `global fields are not copied into the events`() throws {
    try withTracker(GlobalFields(fields: ["large": .string(String(repeating: "x", count: 10_000))])) { tracker in
      for number in 0..<1_000 as Range<UInt64> { tracker.track(Checkout.started(cart: number)) }
      try tracker.sync()
      #expect(try LogDirectory(tracker.directory).statistics().events == 1_000)
      #expect(try tracker.events().allSatisfy { $0.context.globals.count == 1 })
      try tracker.close()
      let bytes = try LogDirectory(tracker.directory).statistics().segmentBytes
      #expect(bytes < 200_000, "\(bytes) bytes for a thousand events of 40 bytes")
    }
  }

  @Test func `a change of the global fields holds from then on`() throws {
    try withTracker { tracker in
      tracker.track("0")
      try tracker.setGlobals(GlobalFields(app: "a"))
      tracker.track("1")
      try tracker.updateGlobals { $0.version = "2" }
      tracker.track("2")
      try tracker.setGlobals(GlobalFields(app: "a"))
      tracker.track("3")
      try tracker.setGlobals(GlobalFields())
      tracker.track("4")
      let found = try tracker.events().map(\.context.globals)
      #expect(found == [[:], ["app": "a"], ["app": "a", "version": "2"], ["app": "a"], [:]])
      #expect(tracker.counters.contexts == 2)
    }
  }

  @Test func `updates from many threads all hold`() throws {
    try withTracker { tracker in
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        for number in 0..<5 {
          #expect(throws: Never.self) {
            let field = FieldObject([("\(thread)/\(number)", 1)])
            try tracker.updateGlobals { $0.fields = $0.fields.overlaid(with: field) }
          }
        }
      }
      #expect(tracker.globals.fields.count == 40)
      tracker.track("last")
      let last = try tracker.events().last
      #expect(last?.context.globals.count == 40)
    }
  }

  @Test func `an update that was overtaken by another is made again`() throws {
    try withTracker { tracker in
      var calls = 0
      try tracker.updateGlobals { globals in
        calls += 1
        if calls == 1 { try? tracker.setGlobals(GlobalFields(app: "meanwhile")) }
        globals.version = "2"
      }
      #expect(calls == 2)
      #expect(tracker.globals == GlobalFields(app: "meanwhile", version: "2"))
    }
  }

  @Test func `the standard global fields are those of the process`() {
    let globals = GlobalFields.standard()
    #expect(globals.app?.isEmpty == false)
    #expect(globals.host?.isEmpty == false)
    #expect(globals.session?.count == 36)
    #expect(globals.version == nil)
    #expect(GlobalFields().host == nil)
    #expect(GlobalFields.standard().session != globals.session)
  }

  @Test func `an association holds until the next one`() throws {
    try withTracker(GlobalFields(app: "shop")) { tracker in
      tracker.track("before")
      try tracker.associate("ada", traits: ["plan": "paid", "email": "a@b"], sensitive: ["email"])
      #expect(tracker.user == EventUser(id: "ada", traits: ["plan": "paid", "email": "a@b"]))
      tracker.track("with")
      try tracker.associate("bob")
      tracker.track("with another")
      try tracker.disassociate()
      #expect(tracker.user == nil)
      tracker.track("after")
      try tracker.disassociate()

      let events = try tracker.events()
      #expect(
        events.map(\.name) == [
          "before", "weir.associated", "with", "weir.associated", "with another", "weir.disassociated", "after",
          "weir.disassociated",
        ])
      let ada = EventUser(id: "ada", traits: ["plan": "paid", "email": "a@b"])
      let bob = EventUser(id: "bob")
      #expect(events.map(\.context.user) == [nil, ada, ada, bob, bob, nil, nil, nil])
      #expect(
        events.map(\.association) == [
          nil, .associated(ada), nil, .associated(bob), nil, .disassociated, nil, .disassociated,
        ])
      #expect(events[2].context.sensitive == ["email"])
      #expect(events[4].context.sensitive.isEmpty)
      #expect(events.allSatisfy { !$0.isNotice && $0.context.globals == ["app": "shop"] })
      #expect(events[5].fields == ["user": "bob"])
      #expect(events[7].fields.isEmpty)
    }
  }

  @Test func `an association belongs to its opening`() throws {
    try withDirectory { directory in
      let first = try Tracker(directory: directory, configuration: quiet { $0.globals.app = "first" })
      try first.associate("ada")
      first.track("1")
      try first.close()
      let second = try Tracker(directory: directory, configuration: quiet())
      #expect(second.user == nil)
      #expect(second.globals == GlobalFields())
      second.track("2")
      let contexts = try second.events().filter { $0.association == nil }.map(\.context)
      #expect(contexts == [EventContext(globals: ["app": "first"], user: EventUser(id: "ada")), EventContext()])
    }
  }

  @Test func `a change that is too large changes nothing`() throws {
    try withTracker(GlobalFields(app: "shop")) { tracker in
      try tracker.associate("ada")
      let large = FieldValue.string(String(repeating: "x", count: 17_000))
      for call in [
        { try tracker.setGlobals(GlobalFields(fields: ["large": large])) },
        { try tracker.updateGlobals { $0.fields = ["large": large] } },
      ] as [() throws -> Void] {
        let error = #expect(throws: WeirError.self) { try call() }
        #expect(error?.code == .limit)
      }
      #expect(tracker.user == EventUser(id: "ada"))
      #expect(tracker.globals == GlobalFields(app: "shop"))
      tracker.track("after")
      let events = try tracker.events()
      #expect(events.map(\.name) == ["weir.associated", "after"])
      #expect(events[1].context == EventContext(globals: ["app": "shop"], user: EventUser(id: "ada")))
    }
  }

  /// Who comes next is not known to the log: that it is not the one before must be.
  @Test func `a user who is too large leaves nobody`() throws {
    try withTracker(GlobalFields(app: "shop")) { tracker in
      try tracker.associate("ada")
      let large = FieldValue.string(String(repeating: "x", count: 17_000))
      let error = #expect(throws: WeirError.self) { try tracker.associate("bob", traits: ["large": large]) }
      #expect(error?.code == .limit)
      #expect(tracker.user == nil)
      #expect(tracker.globals == GlobalFields(app: "shop"))
      tracker.track("after")
      let events = try tracker.events()
      #expect(events.map(\.name) == ["weir.associated", "weir.disassociated", "after"])
      #expect(events[2].context == EventContext(globals: ["app": "shop"]))
    }
  }

  @Test func `global fields that are too large fail the opening`() throws {
    try withDirectory { directory in
      let large = quiet { $0.globals.fields = ["large": .string(String(repeating: "x", count: 17_000))] }
      let error = #expect(throws: WeirError.self) { try Tracker(directory: directory, configuration: large) }
      #expect(error?.code == .limit)
      // Nothing holds the log.
      let tracker = try Tracker(directory: directory, configuration: quiet())
      #expect(tracker.track("after").isAccepted)
    }
  }

  /// The room for definitions ends: nobody is the user then, rather than the former one.
  @Test func `nobody is the user once there is no room for more contexts`() throws {
    try withTracker { tracker in
      var last = ""
      var error: WeirError?
      for number in 0..<100 where error == nil {
        let id = "\(number) " + String(repeating: "x", count: 8_000)
        do throws(WeirError) {
          try tracker.associate(id)
          last = id
        } catch let failure {
          error = failure
        }
      }
      #expect(error?.code == .limit)
      #expect(tracker.user == nil)
      #expect(!last.isEmpty)
      tracker.track("after")
      // One that was set before still can be.
      try tracker.disassociate()
      let events = try tracker.events()
      #expect(events.last { $0.name == "after" }?.context.user == .some(nil))
      #expect(events.count { $0.association != nil } == Int(tracker.counters.contexts) + 2)
    }
  }

  @Test func `a change that cannot be captured does not hold`() throws {
    try withTracker(largestEvent: 256) { tracker in
      try tracker.associate("ada")
      let error = #expect(throws: WeirError.self) {
        try tracker.associate("bob", traits: ["t": .string(String(repeating: "x", count: 300))])
      }
      #expect(error?.code == .limit)
      #expect(tracker.user?.id == "ada")
      tracker.track("after")
      #expect(try tracker.events().last { !$0.isNotice }?.context.user?.id == "ada")
    }
  }

  @Test func `an association or a change after closing is refused`() throws {
    try withTracker { tracker in
      try tracker.close()
      for call in [
        { try tracker.associate("ada") }, { try tracker.disassociate() },
        { try tracker.setGlobals(GlobalFields(app: "a")) },
      ] as [() throws -> Void] {
        let error = #expect(throws: WeirError.self) { try call() }
        #expect(error?.code == .closed)
      }
      #expect(tracker.user == nil)
      #expect(tracker.globals == GlobalFields())
    }
  }

  @Test func `the changes and events of one thread keep their order`() throws {
    try withTracker(blocks: true) { tracker in
      DispatchQueue.concurrentPerform(iterations: 3) { thread in
        for number in 0..<200 as Range<UInt64> {
          if thread == 0 {
            #expect(throws: Never.self) { try tracker.associate("user \(number % 5)") }
            tracker.track("own", fields: ["user": .string("user \(number % 5)")])
          } else {
            tracker.track(Checkout.started(cart: number))
          }
        }
      }
      let events = try tracker.events()
      let own = events.filter { $0.name == "own" }
      #expect(own.count == 200)
      #expect(own.allSatisfy { .string($0.context.user?.id ?? "") == $0.fields["user"] })
      #expect(tracker.counters.contexts == 5)
    }
  }
}

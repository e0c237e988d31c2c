// Providers that are added together.

import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct AddingTests {
  private func code(_ body: () throws(WeirError) -> Void) -> WeirError.Code? {
    do throws(WeirError) {
      try body()
      return nil
    } catch {
      return error.code
    }
  }

  @Test func `none of the providers added together begins where one can't`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      _ = try stage.capture(5)
      let first = ScriptedProvider(name: "first")
      let second = ScriptedProvider(name: "second")
      do {
        // Somebody else delivers to the second.
        let lock = try CursorLock("second", of: directory, calls: SystemCalls())
        defer { withExtendedLifetime(lock) {} }
        let refused = code { () throws(WeirError) in try stage.dispatcher.add(contentsOf: [first, second]) }
        #expect(refused == .locked)
      }
      #expect(stage.dispatcher.providers.isEmpty)
      // What both are yet to be given is there, and pinned for the one that has a place.
      #expect(try Pins(directory, calls: SystemCalls()).positions == ["first": 0])
      #expect(first.delivered.isEmpty)
      try stage.dispatcher.add(contentsOf: [first, second])
      #expect(stage.dispatcher.providers == ["first", "second"])
      #expect(await stage.run { stage.entry("first").acknowledged == 5 && stage.entry("second").acknowledged == 5 })
      #expect(stage.entry("second").from == 0)
      await stage.kill()
    }
  }

  @Test func `a name that is there twice or impossible is refused, and nothing is left of it`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      for name in ["one", "a.b"] {
        let pair = [ScriptedProvider(name: "one"), ScriptedProvider(name: name)]
        #expect(code { () throws(WeirError) in try stage.dispatcher.add(contentsOf: pair) } == .invalid)
        #expect(stage.dispatcher.providers.isEmpty)
      }
      #expect(try Pins(directory, calls: SystemCalls()).positions.isEmpty)
      try stage.dispatcher.add(contentsOf: [ScriptedProvider(name: "one")])
      try stage.dispatcher.add(contentsOf: [])
      #expect(stage.dispatcher.providers == ["one"])
      await stage.kill()
    }
  }
}

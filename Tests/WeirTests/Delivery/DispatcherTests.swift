// The dispatcher: what is captured comes to each provider, once it is due, and the ledger accounts for it.

import Foundation
import Testing
import WeirTesting

@testable import Weir

struct DispatcherTests {
  @Test func `what is captured is delivered in order, and accounted for`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try stage.capture(3)
      try stage.dispatcher.add(provider)
      try stage.capture(1200, from: 3)
      #expect(await stage.run { provider.delivered.count == 1203 })
      #expect(provider.numbers == Array(0..<1203))
      #expect(provider.calls.first == .setup)
      #expect(await stage.run { stage.dispatcher.ledger["scripted"]?.acknowledged == 1203 })
      let entry = try #require(stage.tracker.ledger["scripted"])
      #expect(entry.accepted == 1203 && entry.pending == 0 && entry.isBalanced && entry.state == .running)
      #expect(await stage.run { stage.dispatcher.ledger["scripted"]?.offset == 1203 })
      let files = try #require(try LogDirectory(directory).ledger()["scripted"])
      #expect(files.acknowledged == 1203 && files.isBalanced && files.pending == 0)
    }
  }
}

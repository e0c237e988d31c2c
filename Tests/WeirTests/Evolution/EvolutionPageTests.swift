// EvolutionPageTests: the code in Evolution.md is code that is compiled here, word for word.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts

struct EvolutionPageTests {
  /// What the page shows of comparing schemas, and what it says is printed.
  @Test func `the page shows what comparing schemas prints`() {
    var printed: [String] = []
    func print(_ change: SchemaChange) { printed.append("\(change)") }

    let released = Schema(of: OrderV1.eventTypes)
    let next = Schema(of: OrderV5.eventTypes)
    for change in released.changes(to: next) where change.isBreaking {
      print(change)  // breaking: order.shipped: carrier: field made optional: …
    }

    #expect(printed.contains { $0.hasPrefix("breaking: order.shipped: carrier: field made optional: ") })
  }

  @Test func `the code of the page is in the sources`() throws {
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let root = tests.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appending(path: "Sources/Weir/Weir.docc/Guides/Evolution.md"), encoding: .utf8)
    let sources = try ["OrderVersions", "LaterOrderVersions", "EvolutionPageTests"].map { name in
      Self.lines(try String(contentsOf: tests.appending(path: "\(name).swift"), encoding: .utf8))
    }
    let blocks = page.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    #expect(blocks.count == 5)
    for block in blocks {
      let lines = Self.lines(block)
      #expect(sources.contains { Self.contains($0, lines) }, "not in the sources: \(block)")
    }
  }

  /// Without what the place of the code decides: how far it is moved in, and empty lines.
  private static func lines(_ text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  private static func contains(_ all: [String], _ part: [String]) -> Bool {
    guard !part.isEmpty, part.count <= all.count else { return false }
    return (0...all.count - part.count).contains { Array(all[$0..<$0 + part.count]) == part }
  }
}

// README, guides and pages with worked examples show code that is compiled and run: that of the files in this folder,
// or in another folder of tests where this one lacks the module.
//
// A file whose first line is "// page: PATH" belongs to that page. What lies between its lines "// snippet" and "//
// end" is, in order, what the page has in its blocks of Swift, or in those that follow where the line goes on with
// ", from block N". WEIR_UPDATE_PAGES=1 writes the code into the pages' blocks. The page of the wishlist shows whole
// files, for which of them know of which is what it is about.

import Foundation
import Testing

@Suite struct PageTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static let documentation = "Sources/Weir/Weir.docc"

  private static let folder = "\(documentation)/Examples"

  /// Pages whose blocks of Swift are held to code elsewhere, each with the file that does so.
  private static let elsewhere = [
    "\(documentation)/Guides/Evolution.md": "Tests/WeirTests/Evolution/EvolutionPageTests.swift"
  ]

  /// Guides whose blocks of Swift nothing compiles yet.
  private static let uncompiled: Set = ["Providers.md"]

  /// A file with what a page shows.
  private struct Example {
    let file: URL
    let page: String
    /// How many of the page's blocks are before those of the file.
    let skipped: Int
  }

  private static func examples() throws -> [Example] {
    let tests = try FileManager.default.contentsOfDirectory(
      at: root.appending(path: "Tests"), includingPropertiesForKeys: nil)
    let files = try tests.filter(\.hasDirectoryPath).flatMap {
      try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
    }
    return try files.filter { $0.pathExtension == "swift" }.sorted { $0.path < $1.path }.compactMap { file in
      let first = try text(of: file).prefix { $0 != "\n" }
      guard let found = first.wholeMatch(of: /\/\/ page: ([^,]+)(?:, from block ([0-9]+))?/) else { return nil }
      return Example(file: file, page: String(found.1), skipped: (found.2.flatMap { Int($0) } ?? 1) - 1)
    }
  }

  /// The files that the page of the wishlist shows, in its order.
  private static let wishlist = [
    "Pages/Item", "Pages/ItemListPage", "Pages/WishlistPage", "Pages/RecommendationsPage", "Tracking/WishlistEvents",
    "Tracking/WishlistInfo", "Tracking/WishlistHandler", "Tracking/WishlistHooks", "Tracking/WishlistDelegate",
    "Tracking/WishlistCoordinator", "Tracking/ShopTracking", "WishlistTests",
  ]

  @Test func `the page of the wishlist shows whole files`() throws {
    let url = Self.root.appending(path: "\(Self.folder)/Wishlist.md")
    let files = try Self.wishlist.map { name in
      let text = try Self.text(of: Self.root.appending(path: "Tests/ExampleTests/Wishlist/\(name).swift"))
      return try Snippets.inCode(
        "// snippet\n"
          + text.split(separator: "\n", omittingEmptySubsequences: false)
          .filter { $0 != "#if Macros" && $0 != "#endif" }
          .map { $0.hasPrefix("  ") ? $0.dropFirst(2) : $0 }.joined(separator: "\n") + "// end\n"
      )[0]
    }
    var page = try Self.text(of: url)
    if ProcessInfo.processInfo.environment["WEIR_UPDATE_PAGES"] == "1" {
      page = try Snippets.replaced(in: page, by: files)
      try Data(page.utf8).write(to: url)
    }
    let blocks = try Snippets.inPage(page)
    #expect(blocks.count == files.count)
    for (name, pair) in zip(Self.wishlist, zip(blocks, files)) { #expect(pair.0 == pair.1, "\(name)") }
  }

  private static func text(of file: URL) throws -> String {
    String(decoding: try Data(contentsOf: file), as: UTF8.self)
  }

  @Test func `every page shows the code that is run`() throws {
    for example in try Self.examples() {
      let (page, file) = (example.page, example.file.lastPathComponent)
      let snippets = try Snippets.inCode(Self.text(of: example.file))
      let url = Self.root.appending(path: page)
      var pageText = try Self.text(of: url)
      if ProcessInfo.processInfo.environment["WEIR_UPDATE_PAGES"] == "1" {
        pageText = try Snippets.replaced(in: pageText, by: Snippets.inPage(pageText).prefix(example.skipped) + snippets)
        try Data(pageText.utf8).write(to: url)
      }
      let blocks = try Snippets.inPage(pageText).dropFirst(example.skipped)
      #expect(blocks.count == snippets.count, "\(page) and \(file)")
      for (number, pair) in zip(blocks, snippets).enumerated() {
        #expect(pair.0 == pair.1, "block \(example.skipped + number + 1) of \(page) is not what \(file) runs")
      }
    }
  }

  @Test func `every page has its example`() throws {
    let pages = try Self.pages(in: "Examples")
    let shown = try Self.examples().map(\.page) + ["\(Self.folder)/Wishlist.md"]
    #expect(Set(shown).count == shown.count)
    #expect(Set(pages) == Set(shown.filter { $0.hasPrefix(Self.folder) }))
    #expect(pages.count >= 9)
  }

  @Test func `every guide that shows code has its example`() throws {
    let shown = Set(try Self.examples().map(\.page))
    let guides = try Self.pages(in: "Guides")
    #expect(guides.count >= 15)
    for guide in guides where try !Snippets.inPage(Self.text(of: Self.root.appending(path: guide))).isEmpty {
      if Self.uncompiled.contains(where: { guide.hasSuffix("/\($0)") }) {
        #expect(!shown.contains(guide), "\(guide) has an example")
      } else {
        #expect(shown.contains(guide) != (Self.elsewhere[guide] != nil), "nothing compiles what \(guide) shows")
      }
    }
    for (page, test) in Self.elsewhere {
      let name = try #require(page.split(separator: "/").last)
      #expect(try Self.text(of: Self.root.appending(path: test)).contains(name), "\(test) does not hold \(page)")
    }
    #expect(shown.contains("README.md"))
  }

  /// The first two are what Tests/Consumer/quickstart.py builds, runs and looks at.
  @Test func `the README begins with a program and the lines for its package`() throws {
    let readme = try Snippets.inPage(Self.text(of: Self.root.appending(path: "README.md")))
    try #require(readme.count > 2)
    #expect(readme[0].contains("\nlet tracker = try Tracker("))
    #expect(readme[1].hasPrefix(".package("))
    #expect(try Self.examples().filter { $0.page == "README.md" }.map(\.skipped) == [2])
    let landing = try Snippets.inPage(Self.text(of: Self.root.appending(path: "\(Self.documentation)/Weir.md")))
    #expect(landing == [readme[0]], "the landing page shows another program than the README")
  }

  private static func pages(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: root.appending(path: "\(documentation)/\(folder)").path)
      .map { "\(documentation)/\(folder)/\($0)" }
  }

  @Test func `snippets are taken without their indentation`() throws {
    let code = "a\n  // snippet\n  one {\n    two\n\n  }\n\n  // end\n// snippet\nthree\n// end\n"
    #expect(try Snippets.inCode(code) == ["one {\n  two\n\n}\n", "three\n"])
    #expect(throws: Snippets.Unpaired.self) { try Snippets.inCode("// snippet\n// snippet\n// end\n") }
    #expect(throws: Snippets.Unpaired.self) { try Snippets.inCode("// end\n") }
    #expect(throws: Snippets.Unpaired.self) { try Snippets.inCode("// snippet\n") }
  }

  @Test func `only blocks of Swift are snippets`() throws {
    let page = "text\n```swift\none\n```\n```sh\nls\n```\n```swift\ntwo\n\n```\n"
    #expect(try Snippets.inPage(page) == ["one\n", "two\n\n"])
    #expect(
      try Snippets.replaced(in: page, by: ["1\n", "2\n"])
        == "text\n```swift\n1\n```\n```sh\nls\n```\n```swift\n2\n```\n")
    #expect(throws: Snippets.Unpaired.self) { try Snippets.replaced(in: page, by: ["1\n"]) }
    #expect(throws: Snippets.Unpaired.self) { try Snippets.inPage("```swift\n") }
  }
}

/// Finds snippets in code, and their places in pages. Each ends in a line's end.
enum Snippets {
  /// A beginning without an end, an end without a beginning, or a page with another number of blocks.
  struct Unpaired: Error {}

  private static func lines(of text: String) -> [Substring] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// What lies between the markers, moved to the left by the markers' own indentation.
  static func inCode(_ text: String) throws -> [String] {
    var snippets: [String] = []
    var current: (indentation: Substring, lines: [Substring])?
    for line in lines(of: text) {
      let indentation = line.prefix { $0 == " " }
      switch (line.dropFirst(indentation.count), current) {
      case ("// snippet", nil):
        current = (indentation, [])
      case ("// end", let (_, lines)?):
        // The formatter puts an empty line before some comments.
        let last = lines.lastIndex { !$0.isEmpty } ?? -1
        snippets.append(lines[...last].map { $0 + "\n" }.joined())
        current = nil
      case ("// snippet", _), ("// end", _):
        throw Unpaired()
      case (_, let (outer, _)?):
        current?.lines.append(line.hasPrefix(outer) ? line.dropFirst(outer.count) : line)
      default: break
      }
    }
    guard current == nil else { throw Unpaired() }
    return snippets
  }

  /// The blocks of Swift in a page.
  static func inPage(_ text: String) throws -> [String] {
    var blocks: [String] = []
    try walk(text) { if let block = $1 { blocks.append(block) } }
    return blocks
  }

  /// The page with other blocks of Swift.
  static func replaced(in text: String, by snippets: [String]) throws -> String {
    guard try inPage(text).count == snippets.count else { throw Unpaired() }
    var result = ""
    var rest = snippets[...]
    try walk(text) { result += $1 == nil ? $0 : rest.removeFirst() }
    return result
  }

  /// Calls `visit` with each line, and with each block of Swift.
  private static func walk(_ text: String, _ visit: (_ line: String, _ block: String?) -> Void) throws {
    var block: String?
    var isInOther = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      if block != nil, line == "```" {
        visit("", block)
        block = nil
        visit("```\n", nil)
      } else if block != nil {
        block? += line + "\n"
      } else {
        if line == "```swift", !isInOther { block = "" } else if line.hasPrefix("```") { isInOther.toggle() }
        visit(line + "\n", nil)
      }
    }
    guard block == nil else { throw Unpaired() }
  }
}

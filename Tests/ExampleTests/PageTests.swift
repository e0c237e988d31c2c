// The pages with worked examples show code that is compiled and run: that of the files in this folder.
//
// A file whose first line is "// page: PATH" belongs to that page. What lies between its lines "// snippet" and "//
// end" is, in order, what the page has in its blocks of Swift. WEIR_UPDATE_PAGES=1 writes the code into the pages'
// blocks. The page of the wishlist shows whole files, for which of them know of which is what it is about.

import Foundation
import Testing

@Suite struct PageTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static let folder = "Sources/Weir/Weir.docc/Examples"

  /// The files with examples, each with the path of its page.
  private static func examples() throws -> [(file: URL, page: String)] {
    let files = try FileManager.default.contentsOfDirectory(
      at: root.appending(path: "Tests/ExampleTests"), includingPropertiesForKeys: nil)
    return try files.filter { $0.pathExtension == "swift" }.sorted { $0.path < $1.path }.compactMap { file in
      let first = try text(of: file).prefix { $0 != "\n" }
      guard first.hasPrefix("// page: ") else { return nil }
      return (file, String(first.dropFirst("// page: ".count)))
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
    for (file, page) in try Self.examples() {
      let snippets = try Snippets.inCode(Self.text(of: file))
      let url = Self.root.appending(path: page)
      var pageText = try Self.text(of: url)
      if ProcessInfo.processInfo.environment["WEIR_UPDATE_PAGES"] == "1" {
        pageText = try Snippets.replaced(in: pageText, by: snippets)
        try Data(pageText.utf8).write(to: url)
      }
      let blocks = try Snippets.inPage(pageText)
      #expect(blocks.count == snippets.count, "\(page) and \(file.lastPathComponent)")
      for (number, pair) in zip(blocks, snippets).enumerated() {
        #expect(pair.0 == pair.1, "block \(number + 1) of \(page) is not what \(file.lastPathComponent) runs")
      }
    }
  }

  @Test func `every page has its example`() throws {
    let pages = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: Self.folder).path)
    let shown = try Self.examples().map(\.page) + ["\(Self.folder)/Wishlist.md"]
    #expect(Set(shown).count == shown.count)
    #expect(Set(pages.map { "\(Self.folder)/\($0)" }) == Set(shown.filter { $0.hasPrefix(Self.folder) }))
    #expect(pages.count >= 9)
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

// PagesAloneTests: that the wishlist's pages know nothing of their tracking.

#if Macros
  import Foundation
  import Testing

  @Suite struct PagesAloneTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    private static func sources(_ name: String) throws -> [URL] {
      try FileManager.default.contentsOfDirectory(
        at: folder.appending(path: name), includingPropertiesForKeys: nil
      ).filter { $0.pathExtension == "swift" }.sorted { $0.path < $1.path }
    }

    @Test func `the pages compile without the tracking`() throws {
      let pages = try Self.sources("Pages")
      #expect(pages.count >= 4)
      #expect(try typecheck(pages) == "")
      // That the compiler says so if something is missing.
      #expect(try typecheck(Self.sources("Tracking")).contains("error: cannot find type 'WishlistPage' in scope"))
    }

    @Test func `the pages have no line of tracking`() throws {
      for page in try Self.sources("Pages") {
        let text = try String(contentsOf: page, encoding: .utf8)
        for word in ["track", "event", "analytics", "hook", "provider", "coordinator", "scope", "JoinPoint"] {
          #expect(!text.lowercased().contains(word.lowercased()), "\(page.lastPathComponent) says \(word)")
        }
      }
    }
  }
#endif

// NewFilesTests: files are written all, or none, and what is there is not touched.

import Foundation
import Testing

@testable import WeirScaffold

struct NewFilesTests {
  private let folder: ScaffoldFolder

  init() throws { folder = try ScaffoldFolder() }

  private func files(_ names: String...) -> NewFiles {
    NewFiles(files: names.map { NewFiles.File(path: "\(folder.path)/\($0)", text: "new \($0)\n") })
  }

  @Test func `files are written with their folders`() throws {
    try files("a.swift", "deep/er/b.swift", "deep/c.swift").write(replacing: false)
    #expect(
      folder.contents == [
        "a.swift": "new a.swift\n", "deep/er/b.swift": "new deep/er/b.swift\n",
        "deep/c.swift": "new deep/c.swift\n",
      ])
  }

  @Test func `a file that is there is named, and not touched`() throws {
    try folder.write("b.swift", "old")
    try FileManager.default.createSymbolicLink(atPath: "\(folder.path)/c.swift", withDestinationPath: "nowhere")
    let error = #expect(throws: ScaffoldError.self) {
      try files("a.swift", "b.swift", "c.swift").write(replacing: false)
    }
    #expect(error?.message.contains("/b.swift, ") == true)
    #expect(error?.message.contains("/c.swift are there already") == true)
    #expect(folder.names == ["b.swift", "c.swift"])
    #expect(folder.contents["b.swift"] == "old")
  }

  @Test func `a file that is there is replaced if that is wanted`() throws {
    try folder.write("b.swift", "old")
    try files("a.swift", "b.swift").write(replacing: true)
    #expect(folder.contents == ["a.swift": "new a.swift\n", "b.swift": "new b.swift\n"])
  }

  /// A folder or a link by the name of a file is left as it is, also where files are to be replaced.
  @Test(arguments: [true, false]) func `only plain files are replaced`(isLink: Bool) throws {
    let path = "\(folder.path)/b.swift"
    if isLink {
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "a.swift")
    } else {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }
    let error = #expect(throws: ScaffoldError.self) { try files("a.swift", "b.swift").write(replacing: true) }
    #expect(error?.message.contains("is not a plain file") == true)
    #expect(folder.names == ["b.swift"])
  }

  /// A failure half way takes back what was written, the folders that were made, and gives the replaced files their
  /// names back. Here the last file's folder can't be made, for a file has the name that the first one is to take.
  @Test(arguments: [true, false]) func `a failure half way takes everything back`(replacing: Bool) throws {
    try folder.write("kept.swift", "old")
    if replacing { try folder.write("b.swift", "old") }
    let before = folder.contents
    let error = #expect(throws: ScaffoldError.self) {
      try files("x/y/a.swift", "b.swift", "x/y/a.swift/c.swift").write(replacing: replacing)
    }
    #expect(error?.message.contains("nothing was written") == true)
    #expect(folder.contents == before)
    #expect(folder.names == before.keys.sorted())
  }

  @Test func `a path that can't be one is refused, and nothing is written`() throws {
    try folder.write("a", "old")
    let error = #expect(throws: ScaffoldError.self) { try files("a/b.swift").write(replacing: false) }
    #expect(error?.message.hasSuffix("nothing was written") == true)
    #expect(throws: ScaffoldError.self) {
      try files(String(repeating: "n", count: 300)).write(replacing: false)
    }
    #expect(folder.names == ["a"])
  }
}

/// A folder of a test's own.
final class ScaffoldFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/weir-scaffold-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ name: String, _ text: String) throws {
    let file = URL(filePath: "\(path)/\(name)")
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  /// All that is in it, folders too.
  var names: [String] { (FileManager.default.enumerator(atPath: path)?.allObjects as? [String] ?? []).sorted() }

  /// The text of the files in it.
  var contents: [String: String] {
    var contents: [String: String] = [:]
    for name in names { contents[name] = try? String(contentsOfFile: "\(path)/\(name)", encoding: .utf8) }
    return contents
  }
}

// ScratchDirectory: a directory for files that nobody needs afterwards.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A new directory, for this user alone.
struct ScratchDirectory {
  private let path: String
  private let calls = SystemCalls()

  /// Makes the directory in another one: that of TMPDIR, or `/tmp`, if `nil`. Throws what making a directory throws.
  init(in parent: String?) throws(WeirError) {
    let parent = parent ?? ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    let name = "weir-\(UUID().uuidString)"
    path = "\(parent)/\(name)"
    do throws(WeirError) {
      try calls.makeDirectory(name, in: try calls.openDirectory(parent))
    } catch {
      throw WeirError(
        error.code, "no directory for scratch files can be made in \(parent): \(error.message); name another directory",
        path: parent, systemError: error.systemError)
    }
  }

  /// Makes a directory in this one.
  func directory(_ name: String) throws(WeirError) -> Descriptor {
    let parent = try calls.openDirectory(path)
    try calls.makeDirectory(name, in: parent)
    return try calls.openDirectory(name, in: parent)
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}

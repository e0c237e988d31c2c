// ScratchDirectory: a directory for files that nobody needs afterwards.

#if Tool
  import Foundation
  import Glibc

  /// A new directory, for this user alone.
  final class ScratchDirectory {
    let path: String

    /// Makes the directory in another one: that of TMPDIR if `nil`.
    init(in parent: String?) throws {
      let parent = parent ?? FileManager.default.temporaryDirectory.path
      var template = Array("\(parent)/weir-XXXXXX".utf8CString)
      guard mkdtemp(&template) != nil else {
        throw ToolError(
          "no directory for scratch files can be made in \(parent): \(String(cString: strerror(errno))); name another "
            + "one with --scratch")
      }
      path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
  }
#endif

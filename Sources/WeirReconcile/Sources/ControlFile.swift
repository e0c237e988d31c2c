// ControlFile: a control's file, read from any place.

import Weir

/// A plain file that is open for reading. Its size is that of the beginning: what is appended later is not read.
struct ControlFile: Sendable {
  let path: String
  let byteCount: Int
  private let file: Descriptor
  private let calls = SystemCalls()

  /// Throws `missing` without such a file, and `unsafe` for what is no plain file.
  init(_ path: String) throws(WeirError) {
    self.path = path
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    guard let file = try calls.open(name, in: calls.openDirectory(folder), forWriting: false) else {
      throw WeirError(.missing, "there is no file \(path); name the control's file", path: path)
    }
    self.file = file
    byteCount = try calls.byteCount(of: file)
  }

  /// Reads bytes at a position; fewer only at the end.
  func bytes(_ count: Int, at position: Int) throws(WeirError) -> [UInt8] {
    try calls.read(file, min(count, max(0, byteCount - position)), at: position)
  }
}

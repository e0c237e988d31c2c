// ControlFile: a control's file, read from any place.

import Weir

/// A plain file that is open for reading. Its size is that at the opening: what is appended later is not read.
struct ControlFile: Sendable {
  let path: String
  private(set) var byteCount: Int
  /// Whether another program may be writing the file.
  let isWritten: Bool
  private let file: Descriptor
  private let calls = SystemCalls()

  /// How packed files begin, and what unpacks them.
  private static let packings: [(start: [UInt8], name: String, remedy: String)] = [
    ([0x1F, 0x8B], "gzip", "unpack it with gunzip"),
    ([0x50, 0x4B, 0x03, 0x04], "zip", "unpack it with unzip, and what is in it with gunzip if its name ends in .gz"),
    ([0x28, 0xB5, 0x2F, 0xFD], "zstd", "unpack it with unzstd"),
    ([0x50, 0x41, 0x52, 0x31], "Parquet", "export JSON Lines or CSV instead"),
  ]

  /// With `isWritten`, the file ends with its last whole line.
  ///
  /// Throws `missing` without such a file, `unsafe` for what is no plain file, and `invalid` for a packed one.
  init(_ path: String, isWritten: Bool = false) throws(WeirError) {
    self.path = path
    self.isWritten = isWritten
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    let opened: Descriptor?
    do throws(WeirError) {
      opened = try calls.open(name, in: calls.openDirectory(folder + "/."), forWriting: false)
    } catch {
      guard error.code == .unsafe else { throw error }
      throw WeirError(.unsafe, "\(path) is no plain file; write what it has into one, and name that", path: path)
    }
    guard let file = opened else {
      throw WeirError(.missing, "there is no file \(path); name the control's file", path: path)
    }
    self.file = file
    byteCount = try calls.byteCount(of: file)
    let start = try bytes(4, at: 0)
    for packing in Self.packings where start.starts(with: packing.start) {
      throw WeirError(.invalid, "\(path) is a \(packing.name) file; \(packing.remedy)", path: path)
    }
    if isWritten { try endAtLine() }
  }

  private mutating func endAtLine() throws(WeirError) {
    while byteCount > 0 {
      let start = max(0, byteCount - (64 << 10))
      let end = try bytes(byteCount - start, at: start).lastIndex(of: UInt8(ascii: "\n"))
      byteCount = end.map { start + $0 + 1 } ?? start
      if end != nil { return }
    }
  }

  /// A text that is another one for another file of the same path. A new file may get the number of one that was
  /// removed, but hardly begins alike.
  func identity() throws(WeirError) -> String { "\(try calls.identity(of: file)) \(try bytes(64, at: 0))" }

  /// A text that is another one for another file, and once the file was changed.
  func state() throws(WeirError) -> String { "\(path) \(byteCount) \(try calls.state(of: file))" }

  /// Reads bytes at a position; fewer only at the end.
  func bytes(_ count: Int, at position: Int) throws(WeirError) -> [UInt8] {
    try calls.read(file, min(count, max(0, byteCount - position)), at: position)
  }
}

// ScratchFolder: a directory for an example's log, which goes with its owner.

import Foundation

final class ScratchFolder {
  let path = FileManager.default.temporaryDirectory.appending(path: "weir-guide-\(UUID().uuidString)").path

  init() throws {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

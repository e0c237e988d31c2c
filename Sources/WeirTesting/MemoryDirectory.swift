// MemoryDirectory: a directory of a test's own, in memory where the machine has such a place, gone with its owner.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A new, empty directory that only this user may enter, removed with the last reference to it.
///
/// What a test run leaves that was killed is removed by a later one: memory that nobody gives back would be missed.
final class MemoryDirectory: Sendable {
  let path: String

  /// Where directories in memory go on Linux.
  static let memory = "/dev/shm"

  /// Where they go if there is no room, or no such place: the temporary directory, which is a disk as a rule.
  static var disk: String { FileManager.default.temporaryDirectory.path }

  private static let prefix = "weir-test-kit-"

  /// Makes a directory in `parent`.
  init(in parent: String) throws(TestKitError) {
    _ = Self.leftoversRemoved
    var template = Array("\(parent)/\(Self.prefix)XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw TestKitError("no directory can be made in \(parent): \(String(cString: strerror(errno)))")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    remove()
  }

  /// Removes it with all that is in it. A second call does nothing.
  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Done once a process, at the first directory.
  private static let leftoversRemoved: Void = {
    removeLeftovers(in: memory)
    removeLeftovers(in: disk)
  }()

  /// Removes directories of earlier runs that nobody has a log open in and nothing has happened in for an hour. Another
  /// process's test may still want to read a log that it closed, though not for so long.
  static func removeLeftovers(in parent: String, olderThan age: TimeInterval = 3600) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
    for name in names where name.hasPrefix(prefix) {
      let path = "\(parent)/\(name)"
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
        Double(time(nil) - status.st_mtim.tv_sec) >= age,
        (try? EventReader(directory: path, includeLanes: false).isLive) != true
      else { continue }
      try? FileManager.default.removeItem(atPath: path)
    }
  }
}

/// Why something of the test kit could not be made.
public struct TestKitError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, and what to do.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}

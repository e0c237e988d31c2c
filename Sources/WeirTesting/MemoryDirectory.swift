// MemoryDirectory: a directory for one test, in memory if possible, removed with its owner.

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

/// A new, empty directory that only this user may enter. Removed with the last reference.
///
/// Directories of test runs that were killed are removed by later runs, because their memory would never be freed
/// otherwise.
final class MemoryDirectory: Sendable {
  let path: String

  /// The place for directories in memory on Linux.
  static let memory = "/dev/shm"

  /// The place for directories if memory has no room or does not exist: the temporary directory, usually on a disk.
  static var disk: String { FileManager.default.temporaryDirectory.path }

  private static let prefix = "weir-test-kit-"

  /// Creates a directory in `parent`.
  init(in parent: String) throws(TestKitError) {
    _ = Self.leftoversRemoved
    var template = Array("\(parent)/\(Self.prefix)XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw TestKitError("a directory can't be created in \(parent): \(String(cString: strerror(errno)))")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    remove()
  }

  /// Removes the directory with its contents. A second call does nothing.
  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Runs once in a process, for the first directory.
  private static let leftoversRemoved: Void = {
    removeLeftovers(in: memory)
    removeLeftovers(in: disk)
  }()

  /// Removes directories of earlier runs if no process has a log open in them and they were unused for an hour. Another
  /// process's test may still want to read a log that it closed, though not for that long.
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

/// The error of a part of the test kit that could not be created.
public struct TestKitError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The problem, and what to do.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}

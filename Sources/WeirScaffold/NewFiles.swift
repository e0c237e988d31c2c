// NewFiles: files that are written all, or none.

import Foundation
import Glibc

/// Writes files that are not there yet: all of them, or none. Whatever fails half way is undone.
///
/// What it keeps true: a file that was there is never changed in place. To be replaced it is renamed, and gets its name
/// back if something fails. So a kill leaves it under its own name or beside it, whole.
struct NewFiles {
  struct File: Equatable {
    var path: String
    var text: String
  }

  let files: [File]

  /// The files that are there already.
  func existing() throws(ScaffoldError) -> [String] {
    var found: [String] = []
    for file in files {
      var status = stat()
      if lstat(file.path, &status) == 0 {
        found.append(file.path)
      } else if errno != ENOENT {
        throw ScaffoldError(file.path, "looked for", errno: errno)
      }
    }
    return found
  }

  /// Throws if one has the name of another file of its module, which the compiler refuses; or of one but for capitals,
  /// which some file systems take for the same.
  private func checkModules() throws(ScaffoldError) {
    for file in files {
      let own = URL(filePath: file.path).standardizedFileURL
      let module = TargetPlace.moduleFolder(of: own.deletingLastPathComponent().path)
      let others = FileManager.default.enumerator(atPath: module)?.allObjects ?? []
      for case let other as String in others where other.hasSuffix(".swift") {
        let found = URL(filePath: "\(module)/\(other)").standardizedFileURL
        guard found.lastPathComponent.lowercased() == own.lastPathComponent.lowercased(), found.path != own.path else {
          continue
        }
        throw ScaffoldError(
          "\(file.path) would have the name of \(found.path), and a module has no two files of one name; nothing was "
            + "written. Give another name")
      }
    }
  }

  /// Throws if one is there already, unless it is to be replaced.
  func check(replacing: Bool) throws(ScaffoldError) {
    try checkModules()
    let existing = try existing()
    guard !existing.isEmpty else { return }
    if replacing {
      for path in existing {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
          throw ScaffoldError("\(path) is not a plain file, and is not replaced; move it away. Nothing was written")
        }
      }
      return
    }
    let isThere = existing.count == 1 ? "is there already" : "are there already"
    throw ScaffoldError(
      "\(existing.joined(separator: ", ")) \(isThere); nothing was written. Give another name, or replace with --force")
  }

  /// Writes them, with the folders that they need.
  func write(replacing: Bool) throws(ScaffoldError) {
    try check(replacing: replacing)
    var undoing: [() -> Void] = []
    var replaced: [String] = []
    do throws(ScaffoldError) {
      for file in files {
        try makeFolder(of: file.path, &undoing)
        if replacing, let aside = try moveAside(file.path, &undoing) { replaced.append(aside) }
        try create(file, &undoing)
      }
    } catch {
      for undo in undoing.reversed() { undo() }
      throw error
    }
    for path in replaced { unlink(path) }
  }

  private func makeFolder(of path: String, _ undoing: inout [() -> Void]) throws(ScaffoldError) {
    let folder = folder(of: path)
    guard !folder.isEmpty, mkdir(folder, 0o777) != 0 else {
      if !folder.isEmpty { undoing.append { rmdir(folder) } }
      return
    }
    switch errno {
    case EEXIST: return
    case ENOENT:
      try makeFolder(of: folder, &undoing)
      try makeFolder(of: path, &undoing)
    default: throw ScaffoldError(folder, "made", errno: errno)
    }
  }

  private func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
  }

  /// Renames a file that is there; answers its new name.
  private func moveAside(_ path: String, _ undoing: inout [() -> Void]) throws(ScaffoldError) -> String? {
    let aside = "\(path).\(getpid()).old"
    guard rename(path, aside) == 0 else {
      if errno == ENOENT { return nil }
      throw ScaffoldError(path, "replaced", errno: errno)
    }
    undoing.append { rename(aside, path) }
    return aside
  }

  private func create(_ file: File, _ undoing: inout [() -> Void]) throws(ScaffoldError) {
    let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw ScaffoldError(file.path, "written", errno: errno) }
    undoing.append { unlink(file.path) }
    var problem: Int32 = 0
    var rest = Array(file.text.utf8)[...]
    while !rest.isEmpty, problem == 0 {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        problem = errno
      }
    }
    // A disk may say only at the end that it is full.
    if close(descriptor) != 0, problem == 0 { problem = errno }
    if problem != 0 { throw ScaffoldError(file.path, "written", errno: problem) }
  }
}

// SystemCalls: all system calls for the small files that Swift code writes: cursors and the files beside them. No other
// Swift code opens, writes or syncs a file of a log, or reads errno. The core has its own layer of system calls.

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// `F_OFD_SETLK`, which the C library declares only with extensions enabled.
private let lockDescription: Int32 = 37

/// `open` of the C library, which the method `open` would hide.
private func openPath(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }

/// `read` of the C library, which the method `read` would hide.
private func readNext(_ file: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int { read(file, bytes, count) }

/// An open file or directory. Closed when the object is released.
package final class Descriptor: Sendable {
  package let number: Int32
  /// The path, for messages.
  package let path: String

  fileprivate init(_ number: Int32, _ path: String) {
    self.number = number
    self.path = path
  }

  deinit { close(number) }
}

/// The system calls. Each call is repeated after a signal, completes partial work, and throws a ``WeirError`` that says
/// what failed, where, and what to do.
package struct SystemCalls: Sendable {
  /// The calls that a test can make fail.
  package enum Call: String, Sendable, CaseIterable {
    case openDirectory, makeDirectory, open, create, read, write, syncData, syncDirectory, rename, unlink, lock
    case truncate, list
  }

  /// For tests: called before each system call. A returned number makes the call fail with that errno, without being
  /// made.
  package var fault: (@Sendable (Call) -> Int32?)?

  package init(fault: (@Sendable (Call) -> Int32?)? = nil) {
    self.fault = fault
  }

  package func openDirectory(_ path: String) throws(WeirError) -> Descriptor {
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    return Descriptor(try check(.openDirectory, path) { openPath(path, flags) }, path)
  }

  package func openDirectory(_ name: String, in directory: Descriptor) throws(WeirError) -> Descriptor {
    let at = directory.number
    let path = directory.path + (directory.path.hasSuffix("/") ? "" : "/") + name
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    return Descriptor(try check(.openDirectory, path) { openat(at, name, flags) }, path)
  }

  /// Makes a directory with access for its owner only, unless the name exists.
  package func makeDirectory(_ name: String, in directory: Descriptor) throws(WeirError) {
    let at = directory.number
    _ = try check(.makeDirectory, directory.path + "/" + name, besides: EEXIST) { mkdirat(at, name, 0o700) }
  }

  /// Makes a directory and its parents, with access for the owner only, unless they exist. They are on disk when this
  /// returns.
  package func makeDirectories(_ path: String) throws(WeirError) {
    let whole = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    let around = whole.lastIndex(of: "/").map { $0 == whole.startIndex ? "/" : String(whole[..<$0]) } ?? "."
    do throws(WeirError) {
      _ = try check(.makeDirectory, whole, besides: EEXIST) { mkdir(whole, 0o700) }
    } catch {
      guard error.systemError == ENOENT, around != "/", around != "." else { throw error }
      try makeDirectories(around)
      _ = try check(.makeDirectory, whole, besides: EEXIST) { mkdir(whole, 0o700) }
    }
    // Needed even if the directory exists: an earlier process may have died between making the directory and syncing
    // it.
    try syncDirectory(try openDirectory(around + "/"))
  }

  /// Returns the names in a directory, in no particular order. Returns all names, or throws.
  package func names(in directory: Descriptor) throws(WeirError) -> [String] {
    let at = directory.number
    // A separate descriptor, because reading moves its position.
    let number = try check(.list, directory.path) { openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard let stream = fdopendir(number) else {
      let error = errno
      close(number)
      throw WeirError(system: error, "\(Call.list.phrase) \(directory.path)", path: directory.path)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      var entry: UnsafeMutablePointer<dirent>?
      _ = try check(.list, directory.path) {
        // Only errno distinguishes an error from the end.
        errno = 0
        entry = readdir(stream)
        return entry == nil && errno != 0 ? -1 : 0
      }
      guard let entry else { break }
      // Not read as the declared array of 256 bytes: an entry ends with its name.
      names.append(withUnsafePointer(to: &entry.pointee.d_name.0) { String(cString: $0) })
    }
    return names.filter { $0 != "." && $0 != ".." }
  }

  /// Returns the names in a directory within another directory; none if the directory does not exist.
  package func names(in name: String, of directory: Descriptor) throws(WeirError) -> [String] {
    let inner: Descriptor
    do throws(WeirError) {
      inner = try openDirectory(name, in: directory)
    } catch {
      guard error.systemError == ENOENT else { throw error }
      return []
    }
    return try names(in: inner)
  }

  /// Opens a plain file for reading and, by default, for writing. Returns `nil` if the file does not exist.
  package func open(
    _ name: String, in directory: Descriptor, forWriting isWritten: Bool = true
  ) throws(WeirError) -> Descriptor? {
    let at = directory.number
    let path = directory.path + "/" + name
    // Non-blocking, because opening a pipe that someone put there would block.
    let number: Int32
    do throws(WeirError) {
      number = try check(.open, path, besides: ENOENT) {
        openat(at, name, (isWritten ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      }
    } catch {
      guard error.systemError == ELOOP || error.systemError == EISDIR else { throw error }
      let what = error.systemError == ELOOP ? "a symbolic link" : "a directory"
      throw WeirError(
        .unsafe, "\(path) is \(what), and not a plain file; remove it", path: path, systemError: error.systemError)
    }
    guard number >= 0 else { return nil }
    let file = Descriptor(number, path)
    var status = stat()
    guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw WeirError(.unsafe, "\(path) is not a plain file; remove it", path: path)
    }
    return file
  }

  /// Whether a file is this user's, and nobody else may read or write it.
  package func isPrivate(_ file: Descriptor) -> Bool {
    var status = stat()
    return fstat(file.number, &status) == 0 && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
  }

  /// Creates a file that does not exist, with access for its owner only.
  package func create(_ name: String, in directory: Descriptor) throws(WeirError) -> Descriptor {
    let at = directory.number
    let path = directory.path + "/" + name
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    return Descriptor(try check(.create, path) { openat(at, name, flags, 0o600) }, path)
  }

  /// Reads `count` bytes at a position of a file; fewer only at the end of the file.
  package func read(_ file: Descriptor, _ count: Int, at position: Int) throws(WeirError) -> [UInt8] {
    try values(file, count, at: position)
  }

  /// Reads `count` plain values at a position of a file; fewer only at the end of the file.
  package func values<Value: BitwiseCopyable>(
    _ file: Descriptor, _ count: Int, at position: Int
  ) throws(WeirError) -> [Value] {
    let number = file.number
    var failure: WeirError?
    let values = [Value](unsafeUninitializedCapacity: count) { values, filled in
      let bytes = UnsafeMutableRawBufferPointer(values)
      var done = 0
      do throws(WeirError) {
        while done < bytes.count {
          let from = done
          let got = try check(.read, file.path) {
            pread(number, bytes.baseAddress! + from, bytes.count - from, position + from)
          }
          if got == 0 { break }
          done += got
        }
      } catch {
        failure = error
      }
      filled = done / MemoryLayout<Value>.stride
    }
    if let failure { throw failure }
    return values
  }

  /// Reads a file that a user named, which may be a pipe, from front to back. Reads at most `limit` bytes.
  package func contents(of path: String, atMost limit: Int) throws(WeirError) -> [UInt8] {
    let file: Descriptor
    do throws(WeirError) {
      try checkPath(path)
      file = Descriptor(try check(.open, path) { openPath(path, O_RDONLY | O_CLOEXEC) }, path)
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 64 << 10)
      while bytes.count < limit {
        let wanted = min(chunk.count, limit - bytes.count)
        let got = try check(.read, path) {
          chunk.withUnsafeMutableBytes { readNext(file.number, $0.baseAddress!, wanted) }
        }
        if got == 0 { break }
        bytes += chunk[..<got]
      }
      return bytes
    } catch {
      guard error.systemError != 0 else { throw error }
      let reason = String(cString: strerror(error.systemError))
      throw WeirError(
        error.code, "\(path) can't be read: \(reason); give the path of a file that the process may read", path: path,
        systemError: error.systemError)
    }
  }

  /// Writes an array of plain values at a position of a file.
  package func write<Value: BitwiseCopyable>(
    _ file: Descriptor, _ values: [Value], at position: Int
  ) throws(WeirError) {
    let number = file.number
    let count = values.count * MemoryLayout<Value>.stride
    var done = 0
    while done < count {
      let from = done
      done += try check(.write, file.path) {
        values.withUnsafeBytes { pwrite(number, $0.baseAddress! + from, count - from, position + from) }
      }
    }
  }

  package func byteCount(of file: Descriptor) throws(WeirError) -> Int {
    Int(try status(of: file).st_size)
  }

  /// A text that is another one for another file. While the file is open, no other one has the same.
  package func identity(of file: Descriptor) throws(WeirError) -> String {
    let status = try status(of: file)
    return "\(status.st_dev) \(status.st_ino)"
  }

  private func status(of file: Descriptor) throws(WeirError) -> stat {
    let number = file.number
    var status = stat()
    _ = try check(.read, file.path) { fstat(number, &status) }
    return status
  }

  /// A text that is another one once a file is another one, or was changed.
  package func state(of file: Descriptor) throws(WeirError) -> String {
    let status = try status(of: file)
    // As bytes: which module declares their members depends on the build.
    let times = [status.st_mtim, status.st_ctim].map { withUnsafeBytes(of: $0) { Array($0) } }
    return "\(try identity(of: file)) \(status.st_size) \(times)"
  }

  /// Truncates a file to `count` bytes.
  package func truncate(_ file: Descriptor, to count: Int) throws(WeirError) {
    let number = file.number
    _ = try check(.truncate, file.path) { ftruncate(number, count) }
  }

  package func syncData(_ file: Descriptor) throws(WeirError) {
    let number = file.number
    _ = try check(.syncData, file.path) { fdatasync(number) }
  }

  package func syncDirectory(_ directory: Descriptor) throws(WeirError) {
    let number = directory.number
    _ = try check(.syncDirectory, directory.path) { fsync(number) }
  }

  /// Locks a file for this open file description. Returns `false` if another description holds the lock.
  package func lock(_ file: Descriptor) throws(WeirError) -> Bool {
    let number = file.number
    var range = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
    return try check(.lock, file.path, besides: EAGAIN) { fcntl(number, lockDescription, &range) } >= 0
  }

  /// Releases a lock, for all copies of the descriptor.
  package func unlock(_ file: Descriptor) {
    var range = flock(l_type: Int16(F_UNLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
    _ = fcntl(file.number, lockDescription, &range)
  }

  /// Returns whether an open file has this name in a directory.
  package func isNamed(_ file: Descriptor, _ name: String, in directory: Descriptor) throws(WeirError) -> Bool {
    let number = file.number
    let at = directory.number
    var (open, named) = (stat(), stat())
    _ = try check(.open, file.path) { fstat(number, &open) }
    let found = try check(.open, file.path, besides: ENOENT) { fstatat(at, name, &named, AT_SYMLINK_NOFOLLOW) }
    return found >= 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino
  }

  /// Whether a path leads to an open directory or file. While it is open, no other one has its number.
  package func isAt(_ path: String, _ file: Descriptor) -> Bool {
    var own = stat()
    var named = stat()
    return fstat(file.number, &own) == 0 && stat(path, &named) == 0 && own.st_dev == named.st_dev
      && own.st_ino == named.st_ino
  }

  /// Renames a file, replacing any file of that name.
  package func rename(_ from: String, to name: String, in directory: Descriptor) throws(WeirError) {
    let at = directory.number
    _ = try check(.rename, directory.path + "/" + from) { renameat(at, from, at, name) }
  }

  /// Removes a file, if it exists.
  package func unlink(_ name: String, in directory: Descriptor) throws(WeirError) {
    let at = directory.number
    _ = try check(.unlink, directory.path + "/" + name, besides: ENOENT) { unlinkat(at, name, 0) }
  }

  /// Makes a call. Returns its result, or -1 if it failed with `expected`.
  private func check<Number: BinaryInteger>(
    _ call: Call, _ path: String, besides expected: Int32 = 0, _ body: () -> Number
  ) throws(WeirError) -> Number {
    while true {
      var error: Int32 = 0
      var result: Number = 0
      if let fault = fault?(call) {
        error = fault
      } else {
        result = body()
        if result >= 0 { return result }
        error = errno
      }
      if error == expected { return 0 - 1 }
      if error != EINTR { throw WeirError(system: error, "\(call.phrase) \(path)", path: path) }
    }
  }
}

extension SystemCalls.Call {
  fileprivate var phrase: String {
    switch self {
    case .openDirectory, .open: "opening"
    case .makeDirectory, .create: "making"
    case .read: "reading"
    case .write: "writing"
    case .syncData, .syncDirectory: "syncing"
    case .rename: "renaming"
    case .unlink: "removing"
    case .lock: "locking"
    case .truncate: "cutting"
    case .list: "listing"
    }
  }
}

extension WeirError {
  /// Creates the error of a system call: what was being done, why it failed, and what to do.
  package init(system error: Int32, _ doing: String, path: String) {
    let (code, remedy): (Code, String) =
      switch error {
      case ENOSPC, EDQUOT, EFBIG: (.noSpace, "free space on the disk")
      case EACCES, EPERM, EROFS: (.access, "give the process write access")
      case ENOENT: (.missing, "keep the directory in place while the log is used")
      case ENOTDIR, ELOOP: (.directory, "a directory of the log was replaced by something else; remove that")
      case EEXIST: (.unsafe, "another program writes there; give the log a directory of its own")
      case ENOMEM, EMFILE, ENFILE: (.memory, "raise the limit on memory or open files")
      default: (.io, "check the disk")
      }
    self.init(code, "\(doing) failed: \(String(cString: strerror(error))); \(remedy)", path: path, systemError: error)
  }
}

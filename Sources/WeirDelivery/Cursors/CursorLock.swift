// CursorLock: allows one process at a time to deliver under one name.

import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// The lock `cursors/NAME.lock`, or another file with the same purpose. Held from `init` to `deinit`, or until the
/// process dies.
///
/// This is an open-file-description lock on a separate file. Unlike the cursor's file, this file is never renamed or
/// written. A forked child closes its copy of the descriptor; otherwise the child would hold the lock for as long as it
/// lives.
package final class CursorLock: Sendable {
  private let file: Descriptor
  private let process = getpid()

  /// Takes the lock of the cursor `name`. Throws `locked` if another process, or another dispatcher of this process,
  /// holds the lock.
  convenience init(_ name: String, of logDirectory: String, calls: SystemCalls) throws(WeirError) {
    let log = try calls.openDirectory(logDirectory)
    try calls.makeDirectory(Cursor.directoryName, in: log)
    let directory = try calls.openDirectory(Cursor.directoryName, in: log)
    try self.init(
      file: name + ".lock", in: directory, calls,
      heldBy: "another process, or another dispatcher, delivers to \(name); wait until it has ended")
  }

  /// Takes the lock on a file, which is created if it is missing. `heldBy` is the error text if the lock is held.
  init(
    file fileName: String, in directory: Descriptor, _ calls: SystemCalls, heldBy holder: String
  ) throws(WeirError) {
    // A process that was just killed may still hold its descriptors for a moment, and so may a program that it was
    // starting. So this waits for a short time.
    for _ in 0..<50 {
      let file = try Self.opened(fileName, in: directory, calls)
      ForkedDescriptors.add(file.number)
      do throws(WeirError) {
        // If the file was removed meanwhile, together with its cursor, the lock on the file is meaningless.
        if try calls.lock(file), try calls.isNamed(file, fileName, in: directory) {
          self.file = file
          return
        }
      } catch {
        ForkedDescriptors.remove(file.number)
        throw error
      }
      ForkedDescriptors.remove(file.number)
      usleep(2_000)
    }
    let path = "\(directory.path)/\(fileName)"
    throw WeirError(.locked, "\(path) is locked: \(holder)", path: path)
  }

  deinit {
    if getpid() == process {
      // A program that another thread is just starting has a copy of the descriptor until it runs. So the lock is
      // released explicitly; closing the descriptor is not enough.
      SystemCalls().unlock(file)
      ForkedDescriptors.remove(file.number)
    } else {
      // In a forked child, the descriptor is already closed, and its number may belong to another file.
      _ = Unmanaged.passRetained(file)
    }
  }

  private static func opened(
    _ name: String, in directory: Descriptor, _ calls: SystemCalls
  ) throws(WeirError) -> Descriptor {
    // Two processes may both find the file missing. Only one of them creates it.
    for _ in 0..<10 {
      if let file = try calls.open(name, in: directory) { return file }
      do throws(WeirError) {
        return try calls.create(name, in: directory)
      } catch {
        guard error.systemError == EEXIST else { throw error }
      }
    }
    throw WeirError(
      .unsafe, "\(directory.path)/\(name) appears and disappears: somebody else writes in the directory",
      path: directory.path)
  }
}

/// Descriptors that a forked child closes immediately.
private enum ForkedDescriptors {
  private static let lock = {
    let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
    // Held during the fork. So in the child, the numbers are consistent, and no missing thread holds the lock.
    pthread_atfork(
      { ForkedDescriptors.holdForFork() }, { ForkedDescriptors.letGoAfterFork() },
      { ForkedDescriptors.closeInChild() })
    return SharedPointer(lock)
  }()
  /// Used only with the lock held.
  nonisolated(unsafe) private static var numbers: [Int32] = []

  /// A pointer that is never freed.
  private struct SharedPointer: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<pthread_mutex_t>
    init(_ pointer: UnsafeMutablePointer<pthread_mutex_t>) { self.pointer = pointer }
  }

  static func add(_ number: Int32) {
    pthread_mutex_lock(lock.pointer)
    numbers.append(number)
    pthread_mutex_unlock(lock.pointer)
  }

  static func remove(_ number: Int32) {
    pthread_mutex_lock(lock.pointer)
    numbers.removeAll { $0 == number }
    pthread_mutex_unlock(lock.pointer)
  }

  private static func holdForFork() { pthread_mutex_lock(lock.pointer) }
  private static func letGoAfterFork() { pthread_mutex_unlock(lock.pointer) }
  private static func closeInChild() {
    for number in numbers { close(number) }
    // From now on, the numbers belong to other files. The child's copies of the owners must not use them.
    numbers.removeAll()
    pthread_mutex_unlock(lock.pointer)
  }
}

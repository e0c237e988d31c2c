// CursorLock: one process at a time delivers under one name.

import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// The lock `cursors/NAME.lock`, or another file that is there for the same, held from `init` to `deinit`, or to the
/// death of the process.
///
/// An open-file-description lock on a file of its own, which is never renamed or written, unlike the cursor's. A child
/// of a fork closes its copy of the descriptor, or it would hold the lock for as long as it lives.
package final class CursorLock: Sendable {
  private let file: Descriptor
  private let process = getpid()

  /// Takes the lock of the cursor `name`. Throws `locked` if another process, or another dispatcher of this one, has
  /// it.
  convenience init(_ name: String, of logDirectory: String, calls: SystemCalls) throws(WeirError) {
    let log = try calls.openDirectory(logDirectory)
    try calls.makeDirectory(Cursor.directoryName, in: log)
    let directory = try calls.openDirectory(Cursor.directoryName, in: log)
    try self.init(
      file: name + ".lock", in: directory, calls,
      heldBy: "another process, or another dispatcher, delivers to \(name); wait for its end")
  }

  /// Takes the lock on a file, which is made if it is not there. `heldBy` is what to say if another has it.
  init(
    file fileName: String, in directory: Descriptor, _ calls: SystemCalls, heldBy holder: String
  ) throws(WeirError) {
    // A process that was killed just now may not have let go of its descriptors yet, nor a program that it was
    // starting: such a one is waited for.
    for _ in 0..<50 {
      let file = try Self.opened(fileName, in: directory, calls)
      ForkedDescriptors.add(file.number)
      do throws(WeirError) {
        // Of a file that was removed meanwhile, with its cursor, the lock says nothing.
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
      // A program that another thread is just starting has a copy of the descriptor until it runs, and with it the
      // lock, unless that is given up by name.
      SystemCalls().unlock(file)
      ForkedDescriptors.remove(file.number)
    } else {
      // In a child of a fork it is closed already, and its number may be another file's.
      _ = Unmanaged.passRetained(file)
    }
  }

  private static func opened(
    _ name: String, in directory: Descriptor, _ calls: SystemCalls
  ) throws(WeirError) -> Descriptor {
    // Two processes may both find it missing: one of them makes it.
    for _ in 0..<10 {
      if let file = try calls.open(name, in: directory) { return file }
      do throws(WeirError) {
        return try calls.create(name, in: directory)
      } catch {
        guard error.systemError == EEXIST else { throw error }
      }
    }
    throw WeirError(
      .unsafe, "\(directory.path)/\(name) comes and goes: somebody else writes there", path: directory.path)
  }
}

/// Descriptors that the child of a fork closes at once.
private enum ForkedDescriptors {
  private static let lock = {
    let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
    // Held over the fork, so that the child finds the numbers whole and the lock not held by a thread that it lacks.
    pthread_atfork(
      { ForkedDescriptors.holdForFork() }, { ForkedDescriptors.letGoAfterFork() },
      { ForkedDescriptors.closeInChild() })
    return SharedPointer(lock)
  }()
  /// Only touched with the lock held.
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
    // The numbers are others' from now on, and what the child's copies of the owners do with them is nothing.
    numbers.removeAll()
    pthread_mutex_unlock(lock.pointer)
  }
}

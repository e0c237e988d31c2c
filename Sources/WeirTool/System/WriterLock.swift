// WriterLock: keeps a log from being opened while its directory is removed.

#if Tool
  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// The lock that a log's writer holds, from `init` to `deinit`.
  final class WriterLock {
    /// `F_OFD_SETLK`, which the C library's headers declare only as an extension.
    private static let setLock: Int32 = 37
    static let fileName = "lock"

    private let descriptor: Int32

    /// Takes the lock of the log in `directory`. Returns `nil` if a writer has the lock, or if locking fails.
    init?(of directory: String) {
      descriptor = open("\(directory)/\(Self.fileName)", O_RDWR | O_NOFOLLOW | O_CLOEXEC)
      guard descriptor >= 0 else { return nil }
      var range = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
      guard fcntl(descriptor, Self.setLock, &range) == 0 else {
        close(descriptor)
        return nil
      }
    }

    deinit { close(descriptor) }
  }
#endif

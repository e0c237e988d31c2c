// OutputTarget: the destination of an export: standard output, or a file that gets its name when it is complete.

#if Tool
  import ArgumentParser
  import Foundation

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// Writes bytes. A file is written under a temporary name in the same directory, synced, and renamed. The file is
  /// therefore complete when it has its name, and an earlier file of that name stays until then. An abandoned export
  /// leaves no file behind.
  final class OutputTarget {
    private let path: String?
    private let descriptor: Int32
    private var isFinished = false

    /// Standard output for `nil`; otherwise a plain file that need not exist yet. By default, only the user may read
    /// the file: exports hold events.
    init(_ path: String?, permissions: mode_t = 0o600) throws(ToolError) {
      self.path = path
      guard let path else {
        descriptor = STDOUT_FILENO
        return
      }
      var status = stat()
      if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
        throw ToolError("\(path) is not a plain file; name another file")
      }
      descriptor = open(Self.partial(path), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, permissions)
      if descriptor < 0 { throw Self.failure(path, errno) }
    }

    deinit {
      guard let path else { return }
      close(descriptor)
      if !isFinished { unlink(Self.partial(path)) }
    }

    /// Whether the output is a terminal, which could take control characters for commands.
    var isTerminal: Bool { path == nil && isatty(descriptor) == 1 }

    /// Writes the bytes.
    func write(_ bytes: [UInt8]) throws(ToolError) {
      do throws(WriteFailure) {
        try writeAll(bytes, to: descriptor)
      } catch {
        guard let path else { throw ToolError(writing: error) }
        throw switch error {
        case .closedByReader: Self.failure(path, EPIPE)
        case .system(let number): Self.failure(path, number)
        }
      }
    }

    /// Gives the file its name after everything was written.
    func finish() throws(ToolError) {
      guard let path else { return }
      guard fsync(descriptor) == 0, rename(Self.partial(path), path) == 0 else { throw Self.failure(path, errno) }
      isFinished = true
      // Syncing the directory protects the name only against a power cut in the next seconds: a failure is no error.
      let folder = open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard folder >= 0 else { return }
      fsync(folder)
      close(folder)
    }

    /// Returns the temporary name, which contains the process id, so that two processes have two names.
    private static func partial(_ path: String) -> String { "\(path).\(getpid()).part" }

    private static func failure(_ path: String, _ error: Int32) -> ToolError {
      ToolError(
        "\(path) can't be written: \(systemMessage(error)); make room, or write to another place",
        code: error == ENOSPC || error == EDQUOT || error == EFBIG ? .diskFull : .cannotRun)
    }
  }
#endif

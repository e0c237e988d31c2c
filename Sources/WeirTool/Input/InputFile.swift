// InputFile: the input of `weir record`, a file or standard input. The input is read once, from front to back. Bytes
// are passed on as soon as they are available, so that a slow stream is recorded line by line.

#if Tool
  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  final class InputFile {
    /// The maximum number of bytes of one read.
    static let readBytes = 256 << 10

    private let descriptor: Int32
    private let isOwned: Bool
    /// The name of the input in errors.
    let name: String
    /// The size of the input, if the input is a plain file; otherwise `nil`.
    let expectedBytes: UInt64?
    private(set) var bytesRead: UInt64 = 0

    /// Opens the file. `nil` and "-" stand for standard input.
    init(path: String?) throws(ToolError) {
      if let path, path != "-" {
        name = path
        isOwned = true
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
          throw ToolError("\(path) can't be read: \(systemMessage(errno)); check the path and its permissions")
        }
      } else {
        name = "standard input"
        isOwned = false
        descriptor = STDIN_FILENO
      }
      var status = stat()
      guard fstat(descriptor, &status) == 0 else {
        let problem = systemMessage(errno)
        throw ToolError("\(name) can't be read: \(problem); give a file, or a pipe on standard input")
      }
      if status.st_mode & S_IFMT == S_IFDIR {
        if isOwned { close(descriptor) }
        throw ToolError("\(name) is a directory; give a file of lines")
      }
      expectedBytes = status.st_mode & S_IFMT == S_IFREG ? UInt64(status.st_size) : nil
    }

    deinit {
      if isOwned { close(descriptor) }
    }

    /// Waits for bytes, and returns at least one. Returns `nil` at the end, or when the switch is thrown.
    func read(unless stop: StopSwitch) throws(ToolError) -> [UInt8]? {
      while true {
        if stop.isThrown { return nil }
        if expectedBytes == nil {
          var waiting = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stop.wakeDescriptor, events: Int16(POLLIN), revents: 0),
          ]
          guard poll(&waiting, 2, -1) > 0, waiting[0].revents != 0 else { continue }
        }
        var problem: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.readBytes) { buffer, count in
          let got = systemRead(descriptor, buffer)
          problem = got < 0 ? errno : 0
          count = max(got, 0)
        }
        if problem == EINTR || problem == EAGAIN { continue }
        guard problem == 0 else {
          throw ToolError("\(name) can't be read further: \(systemMessage(problem)); what was read so far is recorded")
        }
        bytesRead += UInt64(bytes.count)
        return bytes.isEmpty ? nil : bytes
      }
    }
  }
#endif

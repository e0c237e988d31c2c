// StandardStreams: the tool's reads and writes of descriptors. They are unbuffered, and retry after EINTR and
// short transfers, so that written bytes have left the process when the call returns.

#if Tool
  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// A failed write.
  enum WriteFailure: Error, Equatable {
    /// The reader of the pipe is gone.
    case closedByReader
    case system(errno: Int32)
  }

  /// Writes all the bytes to a descriptor. Up to PIPE_BUF (4,096) bytes are written in one system call, and are
  /// therefore not mixed with the bytes of other threads.
  func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(WriteFailure) {
    var rest = bytes
    while !rest.isEmpty {
      let count = write(descriptor, rest.baseAddress, rest.count)
      if count >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      } else if errno == EAGAIN {
        // Another process made the pipe non-blocking: wait until the pipe accepts more bytes.
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wanted, 1, -1)
      } else if errno == EPIPE {
        throw .closedByReader
      } else if errno != EINTR {
        throw .system(errno: errno)
      }
    }
  }

  /// Writes all the bytes of an array to a descriptor.
  func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(WriteFailure) {
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(WriteFailure) in try writeAll(buffer, to: descriptor) }
    }
    try result.get()
  }

  /// Writes one line to standard error, on a terminal in place of the progress line. A failure is ignored, because
  /// there is nowhere to report the failure.
  func writeDiagnostic(_ line: String) {
    let clearing = isatty(STDERR_FILENO) == 1 ? "\r\u{1B}[K" : ""
    try? writeAll(Array("\(clearing)weir: \(line)\n".utf8), to: STDERR_FILENO)
  }

  /// Writes text to standard output. A failure ends the command, with exit code 0 if the reader has gone (`| head`).
  func writeOutput(_ text: String) throws {
    do {
      try writeAll(Array(text.utf8), to: STDOUT_FILENO)
    } catch {
      throw ToolError(writing: error)
    }
  }

  /// Writes text to standard output, for commands that do other work than printing: a reader that has gone neither ends
  /// the work nor makes the command report success.
  func writeReport(_ text: String) throws {
    do throws(WriteFailure) {
      try writeAll(Array(text.utf8), to: STDOUT_FILENO)
    } catch {
      guard error != .closedByReader else { return }
      throw ToolError(writing: error)
    }
  }

  /// Returns the system's text for an error number.
  func systemMessage(_ error: Int32) -> String { String(cString: strerror(error)) }

  /// The C library's `read`, for types with a method of that name: the library's module is Glibc or Musl.
  func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
  }

  /// The C library's `kill`, for types with a method of that name.
  func systemKill(_ process: pid_t, _ signal: Int32) -> Int32 { kill(process, signal) }

  /// Creates a pipe whose ends no child process inherits.
  func makePipe() throws(ToolError) -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw ToolError("can't create a pipe: \(systemMessage(errno)); raise the limit of open files (ulimit -n)")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
#endif

// StandardStreams.swift: the tool's door to the operating system's reads and writes. Unbuffered, with EINTR and short
// transfers retried, so that what a caller has written is out of the process when the call returns.

#if Tool
  import Glibc

  /// A write that could not be done.
  enum WriteFailure: Error, Equatable {
    /// Whoever read the other end of the pipe is gone.
    case closedByReader
    case system(errno: Int32)
  }

  /// Writes all the bytes to a descriptor. Bytes up to PIPE_BUF (4,096) go out in one system call and therefore whole,
  /// whichever threads write beside this one.
  func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(WriteFailure) {
    var rest = bytes
    while !rest.isEmpty {
      let count = write(descriptor, rest.baseAddress, rest.count)
      if count >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      } else if errno == EAGAIN {
        // Someone made the pipe non-blocking: wait until it takes more.
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

  /// Writes one line to standard error, on a terminal in place of the progress line. There is nowhere to report that
  /// this failed, so a failure is passed over.
  func writeDiagnostic(_ line: String) {
    let clearing = isatty(STDERR_FILENO) == 1 ? "\r\u{1B}[K" : ""
    try? writeAll(Array("\(clearing)weir: \(line)\n".utf8), to: STDERR_FILENO)
  }

  /// Writes text to standard output, or ends the command: with 0 where the reader has what it wanted (`| head`).
  func writeOutput(_ text: String) throws {
    do {
      try writeAll(Array(text.utf8), to: STDOUT_FILENO)
    } catch {
      throw ToolError(writing: error)
    }
  }

  /// Writes text to standard output, for commands whose work is not what they print: a reader that has gone ends
  /// neither the work nor has it answer that all is well.
  func writeReport(_ text: String) throws {
    do throws(WriteFailure) {
      try writeAll(Array(text.utf8), to: STDOUT_FILENO)
    } catch {
      guard error != .closedByReader else { return }
      throw ToolError(writing: error)
    }
  }

  /// The system's words for an errno.
  func systemMessage(_ error: Int32) -> String { String(cString: strerror(error)) }

  /// A pipe whose ends no child process inherits.
  func makePipe() throws(ToolError) -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw ToolError("no pipe could be made: \(systemMessage(errno)); raise the limit of open files (ulimit -n)")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
#endif

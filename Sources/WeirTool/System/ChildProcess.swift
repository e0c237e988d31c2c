// ChildProcess: a child process with a pipe from its standard output, for the demo, which kills the child.

#if Tool
  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  struct ChildProcess {
    let identifier: pid_t
    /// The reading end of the child's standard output. Owned by the caller that started the child.
    let output: Int32

    /// Starts a program. The program's standard error goes to a file, which is replaced.
    init(_ executable: String, _ arguments: [String], errorsTo errorFile: String) throws {
      let (reader, writer) = try makePipe()
      defer { close(writer) }

      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_adddup2(&actions, writer, STDOUT_FILENO)
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errorFile, O_WRONLY | O_CREAT | O_TRUNC, 0o600)

      // The demo has blocked the signals for which it waits. The child must not inherit the blocked signals.
      var attributes = posix_spawnattr_t()
      posix_spawnattr_init(&attributes)
      defer { posix_spawnattr_destroy(&attributes) }
      var none = sigset_t()
      sigemptyset(&none)
      posix_spawnattr_setsigmask(&attributes, &none)
      posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

      var words: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) } + [nil]
      defer { for word in words { free(word) } }
      var started: pid_t = 0
      let problem = posix_spawn(&started, executable, &actions, &attributes, &words, environ)
      guard problem == 0 else {
        close(reader)
        throw ToolError("\(executable) can't be started: \(systemMessage(problem))")
      }
      identifier = started
      output = reader
    }

    /// Kills the child with SIGKILL.
    func kill() { _ = systemKill(identifier, SIGKILL) }

    /// Waits for the child's end. Returns the signal that ended the child, or `nil` if the child exited by itself.
    func waitForEnd() -> Int32? {
      var status: Int32 = 0
      while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
      let signal = status & 0x7F
      return signal == 0 ? nil : signal
    }
  }
#endif

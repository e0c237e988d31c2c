// ToolError: the tool's errors and exit codes. The exit codes are part of the tool's interface and are documented in
// `weir --help`.

#if Tool
  import ArgumentParser
  import Weir

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  extension ExitCode {
    /// The log is damaged: something in it can't be read.
    static let damaged = ExitCode(1)
    /// There are breaking changes (`weir schema diff`, `weir contract diff`).
    static let breaking = ExitCode(1)
    /// Nobody approved a change (`weir contract diff --approvals`, `weir contract approve`).
    static let unapproved = ExitCode(1)
    /// Events violate a contract.
    static let violated = ExitCode(1)
    /// The command could not run: bad arguments, no permission, no log, locked.
    static let cannotRun = ExitCode(2)
    /// The disk, a quota or a file size limit is full.
    static let diskFull = ExitCode(3)
    /// The log refused events of the input, for example an oversized event, or a provider rejected events.
    static let eventsRefused = ExitCode(4)

    /// Events are pending (`weir deliver`).
    static let pending = ExitCode(5)
    /// A provider takes no events, or a broker gives none, until somebody repairs something: a key, an address
    /// (`weir deliver`, `weir collect --until-end`).
    static let deliveryStopped = ExitCode(6)

    /// The exit code of a command that a signal ended, as shells report it.
    static func signal(_ number: Int32) -> ExitCode { ExitCode(128 + number) }
  }

  /// An error of the tool itself. Errors of the log are `WeirError`s.
  struct ToolError: Error, Equatable {
    /// One line: what, where, what to do.
    var message: String
    var code: ExitCode

    init(_ message: String, code: ExitCode = .cannotRun) {
      self.message = message
      self.code = code
    }

    /// Creates the error of a failed write to standard output. A reader that closed the pipe is no error.
    init(writing failure: WriteFailure) {
      switch failure {
      case .closedByReader:
        self.init("", code: .success)
      case .system(let error):
        self.init(
          "standard output can't be written: \(systemMessage(error)); make room, or write to another place",
          code: error == ENOSPC || error == EDQUOT ? .diskFull : .cannotRun)
      }
    }
  }

  extension WeirError {
    var exitCode: ExitCode { code == .noSpace ? .diskFull : .cannotRun }

    /// Returns the error, with the command's option names in place of the library's names.
    func named(_ names: [String: String]) -> ToolError {
      var text = message
      for (library, command) in names {
        if text.hasPrefix("\(library) is ") { text = command + text.dropFirst(library.count) }
        text = text.replacing("byte limit (\(library))", with: "byte limit (\(command))", maxReplacements: 1)
      }
      return ToolError(text, code: exitCode)
    }
  }
#endif

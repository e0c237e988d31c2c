// WeirError: the errors of a log, each with a remedy.

import CWeir

/// An error of the log. The message says what went wrong, where, and what to do.
public struct WeirError: Error, Hashable, Sendable {
  /// The category of an error.
  public enum Code: String, CaseIterable, Hashable, Sendable {
    /// An argument, option or declaration is out of range.
    case invalid
    /// The directory does not exist, or holds no log.
    case missing
    /// The path is not a directory, or is a symbolic link.
    case directory
    /// The process has no permission, or the file system is read-only.
    case access
    /// Other users may write to the directory, or a file in the directory is a link or not a plain file.
    case unsafe
    /// Another writer has the log open.
    case locked
    /// A newer version of the library wrote the file, or the file uses an unknown feature.
    case version
    /// The disk is full, or a quota or a file size limit is reached.
    case noSpace
    /// The disk reported an error, or a system call failed unexpectedly.
    case io
    /// The system has no more memory, mappings, descriptors or threads.
    case memory
    /// The log is closed, or belongs to the process that this process was forked from.
    case closed
    /// The processor or the kernel lacks a required feature.
    case platform
    /// A documented limit is reached (types, names, nesting).
    case limit
    /// The timeout of the call has passed.
    case timeout
    /// The event was accepted and then lost: overwritten, or damaged in memory.
    case lost
  }

  /// The category of the error.
  public let code: Code

  /// One line that says what went wrong, where, and what to do.
  public let message: String

  /// The path that the error is about, or an empty text.
  public let path: String

  /// The system's errno, or 0.
  public let systemError: Int32

  package init(_ code: Code, _ message: String, path: String = "", systemError: Int32 = 0) {
    self.code = code
    self.message = message
    self.path = path
    self.systemError = systemError
  }
}

extension WeirError: CustomStringConvertible {
  public var description: String { message }
}

extension WeirError {
  /// Calls a function of the core, and throws the error that the function reports.
  static func check(_ call: (UnsafeMutablePointer<weir_error>) -> weir_status) throws(WeirError) {
    var error = weir_error()
    let status = call(&error)
    if Int(status) != WEIR_OK { throw WeirError(status, error) }
  }

  init(_ status: weir_status, _ error: weir_error) {
    let code = Code(status)
    let path = text(ofCArray: error.path)
    var message = OptionName.inSwift(text(ofCArray: error.message))
    if message.isEmpty { message = "the log failed with status \(status)" }
    if code == .missing { message += Self.hint(about: path) }
    self.init(code ?? .io, message, path: path, systemError: error.system_error)
  }

  /// Returns a remedy for a path that does not exist.
  private static func hint(about path: String) -> String {
    if path.hasPrefix("~") { return "; only shells expand ~, write the home directory's path" }
    if path.hasPrefix("file:") || path.contains("://") { return "; this is a URL, give its path" }
    return ""
  }
}

extension WeirError.Code {
  init?(_ status: weir_status) {
    switch Int(status) {
    case WEIR_ERROR_INVALID: self = .invalid
    case WEIR_ERROR_MISSING: self = .missing
    case WEIR_ERROR_DIRECTORY: self = .directory
    case WEIR_ERROR_ACCESS: self = .access
    case WEIR_ERROR_UNSAFE: self = .unsafe
    case WEIR_ERROR_LOCKED: self = .locked
    case WEIR_ERROR_VERSION: self = .version
    case WEIR_ERROR_NO_SPACE: self = .noSpace
    case WEIR_ERROR_IO: self = .io
    case WEIR_ERROR_MEMORY: self = .memory
    case WEIR_ERROR_CLOSED: self = .closed
    case WEIR_ERROR_PLATFORM: self = .platform
    case WEIR_ERROR_LIMIT: self = .limit
    case WEIR_ERROR_TIMEOUT: self = .timeout
    case WEIR_ERROR_LOST: self = .lost
    default: return nil
    }
  }
}

/// Returns the text in a C array of characters, up to the first zero. Swift imports such an array as a tuple.
package func text<CArray>(ofCArray array: CArray) -> String {
  withUnsafeBytes(of: array) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

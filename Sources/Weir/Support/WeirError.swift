// WeirError: what can go wrong with a log, and what to do about it.

import CWeir

/// An error of the log: what went wrong, where, and what to do.
public struct WeirError: Error, Hashable, Sendable {
  /// What kind of error.
  public enum Code: String, CaseIterable, Hashable, Sendable {
    /// An argument, option or declaration is out of range.
    case invalid
    /// The directory is not there, or holds no log.
    case missing
    /// The path is not a directory, or is a symbolic link.
    case directory
    /// No permission, or a read-only file system.
    case access
    /// Others may write to the directory, or a file in it is a link or no plain file.
    case unsafe
    /// Another writer has the log open.
    case locked
    /// Written by a newer version, or with a feature that this one does not know.
    case version
    /// The disk, a quota or a file size limit is reached.
    case noSpace
    /// The disk reported an error, or a system call failed unexpectedly.
    case io
    /// Out of memory, mappings, descriptors or threads.
    case memory
    /// The log is closed, or belongs to the process that this one was forked from.
    case closed
    /// The processor or the kernel lacks what is needed.
    case platform
    /// A documented limit is reached (types, names, nesting).
    case limit
    /// The time given to the call has passed.
    case timeout
    /// The event was accepted, and lost since: overwritten, or damaged in memory.
    case lost
  }

  /// What kind of error.
  public let code: Code

  /// One line: what, where, what to do.
  public let message: String

  /// The path that it is about, or empty.
  public let path: String

  /// The system's error number, or 0.
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
  /// Makes a call of the core that fills in an error when it fails; throws that.
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

  /// What may be wrong with a path that leads nowhere.
  private static func hint(about path: String) -> String {
    if path.hasPrefix("~") { return "; only shells expand ~, write the home directory's path" }
    if path.hasPrefix("file:") || path.contains("://") { return "; it is a URL, give its path" }
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

/// The text in a C array of characters, up to the first zero. Swift sees such an array as a tuple.
package func text<CArray>(ofCArray array: CArray) -> String {
  withUnsafeBytes(of: array) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

// ScaffoldError: why nothing was written.

import Foundation

/// What is wrong, where, and what to do, in one line. Whenever it is thrown, nothing has been written or replaced.
package struct ScaffoldError: Error, Equatable, CustomStringConvertible {
  package var message: String
  /// The disk, a quota or a file size limit is full.
  package var isDiskFull = false

  init(_ message: String) {
    self.message = message
  }

  /// A call of the system failed for this path.
  init(_ path: String, _ what: String, errno code: Int32) {
    message = "\(path) can't be \(what): \(String(cString: strerror(code))); nothing was written"
    isDiskFull = code == ENOSPC || code == EDQUOT || code == EFBIG
  }

  package var description: String { message }
}

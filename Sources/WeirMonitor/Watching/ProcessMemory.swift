// ProcessMemory: what this process takes in memory, as the kernel counts it.

import Foundation

enum ProcessMemory {
  /// The resident memory of this process, in bytes; `nil` without `/proc`.
  static var bytes: UInt64? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
      let pages = text.split(separator: " ").dropFirst().first.flatMap({ UInt64($0) })
    else { return nil }
    return pages * UInt64(sysconf(Int32(_SC_PAGESIZE)))
  }
}

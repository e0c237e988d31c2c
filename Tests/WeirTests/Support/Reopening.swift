// Opening a log anew that this process had open, while other tests start processes.

import Glibc

@testable import Weir

/// Opens a log that was closed just now.
///
/// A process that another test is starting has all that is open in this one until it runs its own program, and so the
/// lock of a log that was open here. For that moment the log is locked still.
func reopen(_ directory: String, configuration: Tracker.Configuration = quiet()) throws -> Tracker {
  for _ in 0..<500 {
    do throws(WeirError) {
      return try Tracker(directory: directory, configuration: configuration)
    } catch {
      guard error.code == .locked else { throw error }
      usleep(10_000)
    }
  }
  return try Tracker(directory: directory, configuration: configuration)
}

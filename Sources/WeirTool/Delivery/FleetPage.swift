// FleetPage: the page of a monitor on a collecting log: what `weir fleet` shows.

#if Tool && Monitor
  import Foundation
  import Weir
  import WeirFleet
  import WeirMonitor
  import WeirReconcile

  /// Shows how each log is doing that a collector reads, for as long as the collector's file is there.
  struct FleetPage: Sendable {
    /// Of more logs, those with the most events pending are shown.
    private static let mostRows = 1_000

    private let directory: String

    init(_ directory: String) { self.directory = directory }

    var linked: LinkedPage {
      LinkedPage(
        "fleet", if: { FileManager.default.fileExists(atPath: directory + "/" + FleetStatus.fileName) },
        html: { HTMLPage.text("Fleet", body(at: Timestamp.now.nanosecondsSince1970), isReloaded: true) })
    }

    private func body(at now: Int64) -> String {
      guard var status = FleetStatus.read(in: directory) else { return "<p>fleet.json can't be read</p>\n" }
      let sums = FleetTable.sums(status, at: now).map { "<p>\(HTMLPage.escaped($0))</p>\n" }
      if status.rows.count > Self.mostRows { status.rows.sort { $0.pending > $1.pending } }
      return sums.joined()
        + HTMLPage.table("Logs", FleetTable.head, FleetTable.lines(status, at: now), mostRows: Self.mostRows)
    }
  }
#endif

// page: Sources/Weir/Weir.docc/Guides/Reconciliation.md

import Foundation
import Logging
import Testing
import Weir
import WeirReconcile
import WeirTesting

@Suite struct ReconciliationGuide {
  private struct Answer {
    var isOK = true
  }

  /// Stands for the SDK that is to be replaced.
  private struct OldSDK {
    func track(_ name: String, _ fields: FieldObject, _ done: (Answer) -> Void) { done(Answer()) }
  }

  @Test func `a control records what another SDK is given`() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "weir-control-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let spy = try SpyTracker()
    let tracker = spy.tracker
    let oldSDK = OldSDK()
    let fields: FieldObject = ["order": 41]
    // snippet
    let control = try Control(directory: directory)
    let receipt = tracker.track("checkout.completed", fields: fields)
    oldSDK.track("checkout.completed", fields) { answer in
      control.record("checkout.completed", fields: fields, id: receipt, outcome: answer.isOK ? nil : "400")
    }
    // end
    try control.close()
    #expect(try EventReader(directory: directory).next()?.fields["order"] == .int(41))
  }

  @Test func `a program compares while both are written`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "weir-running-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let control = try Control(directory: directory + "/control")
    try Control(directory: directory + "/events").close()
    let logger = Logger(label: "shop")
    // snippet
    let comparing = Task {
      try await Reconciliation.run(
        log: directory + "/events", against: directory + "/control", every: .seconds(60), delay: .seconds(120)
      ) { report in
        if !report.passes { logger.warning("\(report.text)") }
      }
    }
    // end
    comparing.cancel()
    await #expect(throws: CancellationError.self) { try await comparing.value }
    try control.close()
  }
}

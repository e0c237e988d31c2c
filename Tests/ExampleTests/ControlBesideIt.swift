// page: Sources/Weir/Weir.docc/Examples/ControlBesideIt.md

import Foundation
import Testing
import Weir
import WeirReconcile

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Stands for the SDK that is to be replaced: refuses some events, shortens texts, and samples.
private struct OldSDK {
  /// The order at which the process dies.
  var last: Int64?

  func send(_ name: String, _ fields: FieldObject) -> (sent: FieldObject, refusal: String?) {
    if let last, fields["order"] == .int(last) { kill(getpid(), SIGKILL) }
    if name == "page.viewed" {
      guard case .int(let page)? = fields["page"], page % 40 == 0 else { return (fields, "sampled") }
      return (fields, nil)
    }
    if fields["total"] == .int(0) { return (fields, "400") }
    let sent = fields.map { member in
      guard member.name == "note", case .string(let text) = member.value else { return member }
      return FieldObject.Member(name: "note", value: .string(String(text.prefix(20))))
    }
    return (FieldObject(sent), nil)
  }
}

private struct ShopWithTwo {
  let tracker: Tracker
  let control: Control
  var oldSDK = OldSDK()

  init(_ directory: String) throws {
    var configuration = Tracker.Configuration()
    configuration.logger = nil
    tracker = try Tracker(directory: directory + "/events", configuration: configuration)
    control = try Control(directory: directory + "/control", configuration: configuration)
  }

  // snippet
  func track(_ name: String, _ fields: FieldObject) {
    let receipt = tracker.track(name, fields: fields)
    let answer = oldSDK.send(name, fields)
    control.record(name, fields: answer.sent, id: receipt, outcome: answer.refusal)
  }
  // end

  func serve(_ numbers: ClosedRange<Int>) {
    for number in numbers {
      if number % 4 == 0 {
        track("page.viewed", ["page": .int(Int64(number))])
      } else {
        let note = number % 10 == 3 ? "leave the parcel with the neighbours" : "none"
        let total = number % 25 == 0 ? 0 : number
        track("checkout.completed", ["order": .int(Int64(number)), "total": .int(Int64(total)), "note": .string(note)])
      }
    }
  }
}

@Suite struct ControlBesideIt {
  @Test func `what an SDK does to events has names and numbers, also after a kill`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "weir-beside-\(UUID())").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    await #expect(processExitsWith: .signal(SIGKILL)) { [directory = directory as String] in
      var shop = try ShopWithTwo(directory)
      shop.oldSDK.last = 701
      shop.serve(1...1_000)
    }
    let shop = try ShopWithTwo(directory)
    shop.serve(702...1_000)
    try shop.tracker.close()
    try shop.control.close()

    // snippet
    let report = try Reconciliation(log: directory + "/events", against: directory + "/control").run()
    print(report.text)
    // end
    #expect(report.here == 1_000)
    #expect(report.all[.identical] == 644)
    #expect(report.all[.differing] == 100)
    #expect(report.all[.onlyHere] == 256)
    #expect(report.all[.unknown] == 1)
    #expect(report.all[.onlyThere] == 0)
    let reasons = Dictionary(report.reasons.map { ($0.reason, $0.count) }) { $0 + $1 }
    #expect(
      reasons == [
        "the control did not pass it on: sampled": 225, "the control did not pass it on: 400": 30, "unknown": 1,
      ])
    #expect(report.fields.map(\.path) == ["note"] && report.fields.map(\.kind) == [.truncated])
    #expect(report.outside == ["checkout.completed"])
  }
}

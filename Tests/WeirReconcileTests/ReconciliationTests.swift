// Reconciliation: a log held against a file, with the reasons that the log knows.

import Foundation
import TestSupport
import Testing
import WeirDelivery
import WeirTesting

@testable import Weir
@testable import WeirReconcile

@Suite struct ReconciliationTests {
  private struct Login: Codable, Event {
    var password: String
    var n: Int

    static let eventName = "login"
    static let eventTypes = [EventType(codable: "login", sensitive: ["password"])]
  }

  private func reconcile(
    _ log: String, _ control: [String], as name: String = "control.jsonl",
    _ change: (inout Reconciliation.Options) -> Void = { _ in }
  ) throws -> ReconciliationReport {
    try withDirectory { directory in
      let file = directory + "/" + name
      try Data(control.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: file))
      let scratch = directory + "/scratch"
      try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: false)
      var options = Reconciliation.Options()
      options.scratch = scratch
      change(&options)
      let report = try Reconciliation(log: log, against: file, options: options).run()
      #expect(try FileManager.default.contentsOfDirectory(atPath: scratch).isEmpty)
      return report
    }
  }

  private func reasons(_ report: ReconciliationReport) -> [String: UInt64] {
    Dictionary(report.reasons.map { ($0.reason, $0.count) }, uniquingKeysWith: +)
  }

  private func line(_ event: StoredEvent) -> String {
    var bytes: [UInt8] = []
    EventJSON().append(event, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func events(_ directory: String) throws -> [StoredEvent] {
    var events: [StoredEvent] = []
    let reader = try EventReader(directory: directory)
    while let event = try reader.next() { if !event.isNotice { events.append(event) } }
    return events
  }

  @Test func `what was refused here is put down to the refusals, to the event`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track("e", fields: ["n": 0])
      for _ in 0..<3 { tracker.track("", fields: [:]) }
      tracker.track("e", fields: ["n": 1])
      try tracker.close()
      let kept = try events(directory)
      let time = Timestamp(nanosecondsSince1970: kept[0].time.nanosecondsSince1970 + 1)
      let others = (0..<5).map { #"{"event":"lost","time":"\#(time)","n":\#($0)}"# }
      let report = try reconcile(directory, kept.map(line) + others)
      #expect(report.all[.identical] == 2)
      #expect(report.all[.onlyThere] == 5)
      #expect(reasons(report) == ["refused: invalid": 3, "unknown": 2])
      #expect(report.all[.unknown] == 2)
    }
  }

  @Test func `what a provider has not got is put down to the provider's accounts`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for number in 0..<6 { tracker.track(number == 2 ? "bad" : "e", fields: ["n": .int(Int64(number))]) }
      try tracker.drain()
      let dispatcher = try Dispatcher(tracker)
      try dispatcher.add(
        ScriptedProvider(name: "shop", finally: .each { $0.name == "bad" ? .rejected("no") : .accepted }))
      let delivery = Task { try await dispatcher.run() }
      #expect(await eventually { dispatcher.ledger["shop"]?.offset == 6 })
      delivery.cancel()
      _ = try await delivery.value
      try tracker.close()
      _ = try LogDirectory(directory).rewind("shop", to: .offset(5))
      let all = try events(directory)
      let arrived = all.filter { $0.name == "e" && $0.fields["n"] != .int(4) && $0.fields["n"] != .int(5) }
      let report = try reconcile(directory, arrived.map(line)) { $0.provider = "shop" }
      #expect(report.here == 6)
      #expect(report.all[.onlyHere] == 3)
      #expect(
        reasons(report) == ["rejected by shop: in its dead letters": 1, "not delivered yet to shop": 1, "unknown": 1])
      #expect(throws: WeirError.self) { try reconcile(directory, []) { $0.provider = "nobody" } }
    }
  }

  @Test func `a control records what a provider was sent, and what was rejected`() async throws {
    try await withDirectoryAsync { parent in
      let log = parent + "/events"
      let tracker = try Tracker(directory: log, configuration: quiet())
      let control = try Control(directory: parent + "/control", configuration: quiet())
      for number in 0..<6 {
        Bindings.with(user: "u\(number % 2)") {
          _ = tracker.track(number == 2 ? "bad" : "e", fields: ["itemCount": .int(Int64(number))])
        }
      }
      try tracker.drain()
      let mapper = EventMapper.snakeCase()
      let dispatcher = try Dispatcher(tracker)
      try dispatcher.add(
        ScriptedProvider(
          name: "shop", answers: [.fail("away")], finally: .each { $0.name == "bad" ? .rejected("400") : .accepted }
        ).recorded(by: control).mapped(by: mapper))
      let delivery = Task { try await dispatcher.run() }
      #expect(await eventually { dispatcher.ledger["shop"]?.offset == 6 })
      delivery.cancel()
      _ = try await delivery.value
      try control.close()
      var options = Reconciliation.Options()
      options.entry = DeliveryPlan.Entry("shop", mapper: mapper)
      let report = try Reconciliation(log: log, against: parent + "/control", options: options).run()
      #expect(report.all[.identical] == 5)
      #expect(reasons(report) == ["the control did not pass it on: 400": 1])
      #expect(report.passes)
    }
  }

  @Test func `sensitive values are replaced in the examples of both sides`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(Login(password: "s3cret", n: 1))
      try tracker.close()
      let control = [
        #"{"event":"login","weir_id":"x","time":"2001-01-01T00:00:00Z","fields":{"password":"s3cret-there","n":2}}"#,
        line(try events(directory)[0]).replacing("\"n\":1", with: "\"n\":3"),
      ]
      let report = try reconcile(directory, control)
      #expect(report.all[.differing] == 1)
      #expect(report.all[.onlyThere] == 1)
      #expect(report.samples.count >= 2)
      #expect(!"\(report.samples)".contains("s3cret"))
      let shown = try reconcile(directory, control) { $0.showsSensitive = true }
      #expect("\(shown.samples)".contains("s3cret-there"))
    }
  }

  @Test func `a control beside the log matches it by id, or by content, and says what it dropped`() throws {
    try withDirectory { parent in
      let tracker = try Tracker(directory: "\(parent)/events", configuration: quiet())
      let control = try Control(directory: "\(parent)/control", configuration: quiet())
      for number in 0..<40 {
        let fields: FieldObject = ["n": .int(Int64(number)), "text": "a text that is long"]
        let receipt = tracker.track("e", fields: fields)
        switch number {
        case 0..<10: control.record("e", fields: fields, id: receipt)
        case 10..<20: control.record("e", fields: fields)
        case 20..<25: control.record("e", fields: ["n": .int(Int64(number)), "text": "a text"], id: receipt)
        case 25..<30: control.record("e", fields: fields, id: receipt, outcome: "400")
        case 30..<33: control.record("e", fields: fields, id: receipt, outcome: "sampled")
        default: break
        }
      }
      try tracker.close()
      try control.close()
      var options = Reconciliation.Options()
      options.rules.keyFields = ["n"]
      let report = try Reconciliation(log: "\(parent)/events", against: "\(parent)/control", options: options)
        .run()
      #expect(report.all[.identical] == 20)
      #expect(report.all[.differing] == 5)
      #expect(report.fields.map(\.kind) == [.truncated])
      #expect(report.all[.onlyHere] == 15)
      #expect(
        reasons(report) == [
          "the control did not pass it on: 400": 5, "the control did not pass it on: sampled": 3, "unknown": 7,
        ])
      #expect(report.byWay == [.id: 23, .content: 10])
    }
  }

  @Test func `a log is identical to its copy`() throws {
    try withDirectory { parent in
      let tracker = try Tracker(directory: "\(parent)/events", configuration: quiet())
      for number in 0..<100 { tracker.track("e", fields: ["n": .int(Int64(number % 10))]) }
      try tracker.close()
      try FileManager.default.copyItem(atPath: "\(parent)/events", toPath: "\(parent)/copy")
      let report = try Reconciliation(log: "\(parent)/events", against: "\(parent)/copy", options: .init())
        .run()
      #expect(report.all.byVerdict == [.identical: 100])
      #expect(report.byWay == [.id: 100])
    }
  }

  @Test func `a table matches what its cells say, whatever their types`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track("e", fields: ["n": 1, "text": "a \"b\", c\nd", "is": true, "none": .null, "list": [1, "x"]])
      tracker.track("e", fields: ["n": 2, "text": "", "ratio": 0.5, "inner": ["x": 3]])
      tracker.track("e", fields: ["n": 3, "text": "41"])
      try tracker.close()
      let kept = try events(directory)
      let cell = "\"a \"\"b\"\", c\nd\""
      let list = "\"[1,\"\"x\"\"]\""
      let rows = [
        "\u{FEFF}id,time,event,n,text,is,ratio,inner.x,list,kind",
        "\(kept[0].id),\(kept[0].time),e,1,\(cell),true,,,\(list),",
        "\(kept[1].id),\(kept[1].time),e,2,\"\",,0.50,3,,", "",
        "\(kept[2].id),\(kept[2].time),e,3,41,,,,,",
      ]
      for lineEnd in ["\n", "\r\n"] {
        let report = try reconcile(directory, rows.map { $0 + lineEnd.dropLast() }, as: "control.csv")
        #expect(report.fields.isEmpty)
        #expect(report.all[.identical] == 3)
        #expect(report.unreadable == 0)
      }
      let broken = try reconcile(directory, rows + ["1,2"], as: "control.csv")
      #expect(broken.unreadable == 1)
      #expect(throws: WeirError.self) { try reconcile(directory, ["a,b", "1,2"], as: "control.csv") }
      #expect(throws: WeirError.self) { try reconcile(directory, ["event", "\"open"], as: "control.csv") }
    }
  }

  @Test func `an export of the log as a table is identical to the log`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for number in 0..<50 {
        tracker.track(
          "e\(number % 3)",
          fields: ["n": .int(Int64(number)), "ratio": .double(Double(number) / 7), "text": .string("x,\"\(number)")])
      }
      try tracker.close()
      var columns = CSVColumns()
      let all = try events(directory)
      for event in all { try columns.add(event) }
      let table = CSVTable(columns.names)
      var bytes = table.header()
      for event in all { table.append(event, to: &bytes) }
      let report = try reconcile(
        directory, String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init), as: "export.csv")
      #expect(report.all[.identical] == 50)
    }
  }

  @Test func `what the plan withholds is a reason`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for number in 0..<6 { tracker.track(number < 2 ? "debug" : "e", fields: ["n": .int(Int64(number))]) }
      try tracker.close()
      let lines = try events(directory).map(line)
      let plan = DeliveryPlan.Entry("shop", mapper: .only { $0.name == "e" })
      let report = try reconcile(directory, lines) { $0.entry = plan }
      #expect(report.here == 4 && report.there == 6)
      #expect(report.all[.identical] == 4)
      #expect(reasons(report) == ["withheld by the plan": 2])
      let alike = try reconcile(directory, Array(lines.dropFirst(2))) { $0.entry = plan }
      #expect(alike.passes && alike.all[.identical] == 4)
      // An event that is withheld is the partner of none that is not.
      let byContent = lines.dropFirst(2).map { $0.replacing(#/"id":"[^"]*"/#, with: #""n2":0"#) }
      #expect(try reconcile(directory, byContent) { $0.entry = plan }.all[.onlyThere] == 0)
    }
  }

  @Test func `a field is not blamed for what the control differs in itself`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for number in 0..<400 {
        tracker.track("e", fields: ["n": .int(Int64(number)), "sent": .int(0), "total": .int(9)])
      }
      try tracker.close()
      let all = try events(directory)
      // Each control has a number of its own in half of the events. Both have another total than the log in ten.
      func control(_ first: Int, _ wrong: Int) -> [String] {
        all.enumerated().map { index, event in
          var text = line(event)
          if index % 2 == first { text = text.replacing(#""sent":0"#, with: #""sent":\#(first + 1)"#) }
          if index % 40 == 5, wrong > 0 { text = text.replacing(#""total":9"#, with: #""total":8"#) }
          return text
        }
      }
      let again = directory + "/again.jsonl"
      try Data(control(1, 10).map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: again))
      let alone = try reconcile(directory, control(0, 10))
      #expect(alone.all[.differing] == 210)
      let report = try reconcile(directory, control(0, 10)) { $0.again = again }
      #expect(report.all[.differing] == 10)
      #expect(report.all[.noise] == 200)
      #expect(report.all[.identical] == 190)
      let blamed = Dictionary(report.fields.map { ($0.path, $0.noise?.isBlamed) }) { first, _ in first }
      #expect(blamed == ["sent": false, "total": true])
      #expect(report.firstDivergence == all[5].time)
      #expect(report.samples.allSatisfy { $0.difference?.path == "total" })
      #expect(!report.passes)
      let silent = try reconcile(directory, control(0, 0)) { $0.again = again }
      #expect(silent.passes && silent.firstDivergence == nil)
    }
  }

  @Test(arguments: [false, true]) func `equal segments are not read`(_ areBatches: Bool) throws {
    try withDirectory { parent in
      let log = parent + "/log"
      let tracker = try Tracker(directory: log, configuration: quiet())
      let text = String(repeating: "0123456789", count: 20)
      for number in 0..<20_000 {
        tracker.track("e\(number % 2)", fields: ["n": .int(Int64(number)), "t": .string(text)])
      }
      try tracker.close()
      if areBatches { _ = try LogDirectory(log).batch() }
      let copy = parent + "/copy"
      try FileManager.default.copyItem(atPath: log, toPath: copy)
      let found = try EqualSegments(log, copy, threads: 2)
      #expect(found.offsets.count > 3)
      #expect(found.events == 20_000)
      let report = try Reconciliation(log: log, against: copy).run()
      #expect(report.passes && report.all[.identical] == 20_000 && report.here == 20_000 && report.there == 20_000)
      #expect(report.byName.isEmpty)
      // A byte of an event in the middle: the segment is read, and the event is found.
      let name = try FileManager.default.contentsOfDirectory(atPath: copy).filter { $0.contains(".weir") }.sorted()[2]
      var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(copy)/\(name)"))
      bytes[bytes.count / 2] ^= 1
      try bytes.write(to: URL(fileURLWithPath: "\(copy)/\(name)"))
      #expect(try LogDirectory(copy).verify().findings > 0)
    }
  }

  @Test func `a copy that lacks the end of a log differs in the end`() throws {
    try withDirectory { parent in
      let (log, copy) = (parent + "/log", parent + "/copy")
      let tracker = try Tracker(directory: log, configuration: quiet())
      for number in 0..<9 { tracker.track("e\(number % 2)", fields: ["n": .int(Int64(number))]) }
      try tracker.close()
      try FileManager.default.copyItem(atPath: log, toPath: copy)
      let again = try Tracker(directory: log, configuration: quiet())
      again.track("e1", fields: ["n": 9])
      try again.close()
      let report = try Reconciliation(log: log, against: copy).run()
      #expect(report.here == 10 && report.there == 9)
      #expect(report.all[.identical] == 9 && report.all[.onlyHere] == 1)
      #expect(report.byName["e0"]?[.identical] == 5 && report.byName["e1"]?[.identical] == 4)
      #expect(reasons(report) == ["after the control's last event": 1] || reasons(report) == ["unknown": 1])
    }
  }

  @Test func `what the control was given and did not pass on has the control's reason`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for number in 0..<4 { tracker.track("e", fields: ["n": .int(Int64(number))]) }
      try tracker.close()
      let lines = try events(directory).map(line)
      let dropped = lines.prefix(2).map { String($0.dropLast()) + #","outcome":"400"}"# }
      let report = try reconcile(directory, dropped + lines.dropFirst(2))
      #expect(report.all[.identical] == 2)
      #expect(report.all[.onlyHere] == 2)
      #expect(reasons(report) == ["the control did not pass it on: 400": 2])
      #expect(report.all[.unknown] == 0)
    }
  }
}

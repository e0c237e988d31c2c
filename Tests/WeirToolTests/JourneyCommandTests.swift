// `weir journey`: how an event is named, and what is printed of its way.

#if Tool
  import ArgumentParser
  import Foundation
  import Testing
  import Weir
  import WeirContracts
  import WeirDelivery
  import WeirTesting

  @testable import WeirTool

  struct JourneyCommandTests {
    @Test func `an event is named by its offset, its id, or its UUID`() {
      let id = EventID(opening: 0x5c1d_e2b7_a09f_4361, sequence: 0x0001_0000_0000_0123)
      #expect(EventArgument(argument: "0") == .offset(0))
      #expect(EventArgument(argument: "18446744073709551615") == .offset(.max))
      #expect(EventArgument(argument: id.description) == .id(id))
      #expect(EventArgument(argument: id.description.uppercased()) == .id(id))
      #expect(EventArgument(argument: id.uuid.uuidString) == .id(id))
      // Thirty-two digits are an id, also without a letter.
      let digits = String(repeating: "1", count: 32)
      #expect(EventArgument(argument: digits) == EventID(digits).map { .id($0) })
      for wrong in ["", "-1", "+1", "x", "18446744073709551616", String(repeating: "1", count: 31)] {
        #expect(EventArgument(argument: wrong) == nil, "\(wrong)")
      }
    }

    /// A log of which one event was tried twice and rejected.
    private func journey(_ spy: SpyTracker) async throws -> Journey {
      var configuration = Dispatcher.Configuration()
      configuration.logger = nil
      let dispatcher = try Dispatcher(spy.tracker, configuration: configuration)
      try dispatcher.start()
      var options = DeliveryOptions()
      options.backoff.least = .milliseconds(1)
      try dispatcher.add(
        ScriptedProvider(name: "shop", answers: [.fail("down"), .reject("no \"such\"\nplace")]), options: options)
      let id = try #require(spy.tracker.track("order", fields: ["total": 7]).id)
      await dispatcher.flush(timeout: .seconds(900))
      await dispatcher.shutdown(budget: .seconds(900))
      return try LogDirectory(spy.tracker.directory).journey(of: id)
    }

    @Test func `a journey is told to people in lines`() async throws {
      let spy = try SpyTracker()
      let text = JourneyReport.text(try await journey(spy))
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      #expect(lines[0].hasPrefix("event  "))
      #expect(lines[0].hasSuffix("order  total=7"))
      #expect(lines[1].hasSuffix("  0"))
      #expect(lines.contains { $0.contains("  captured in lane ") })
      #expect(lines.contains { $0.contains("  drained at offset 0, in the raw segment 0000") })
      #expect(lines.contains { $0.contains("shop: attempt 1 of this event, ") && $0.hasSuffix(": retried: down") })
      #expect(lines.contains { $0.contains("shop: attempt 2 of this event, ") && $0.contains(": rejected: ") })
      #expect(lines.contains { $0.hasPrefix("shop  ") && $0.hasSuffix("  rejected: no \"such\" place") })
    }

    @Test func `a journey is told to programs as JSON`() async throws {
      let spy = try SpyTracker()
      let journey = try await journey(spy)
      let text = JourneyReport.json(journey)
      #expect(text.hasSuffix("}\n"))
      #expect(text.dropLast().allSatisfy { !$0.isNewline })
      let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
      #expect(Set(object.keys) == ["event", "steps", "outcomes", "unread"])
      let event = try #require(object["event"] as? [String: Any])
      #expect(event["id"] as? String == journey.id.description)
      #expect(event["name"] as? String == "order")
      let steps = try #require(object["steps"] as? [[String: Any]])
      #expect(
        steps.map { $0["step"] as? String } == [
          "captured", "drained", "attempted", "attempted", "rejected", "settled",
        ])
      #expect(steps[0]["opening"] as? String == String(journey.id.description.prefix(16)))
      #expect(steps[1]["file"] as? String == "00000000000000000000.weir")
      #expect(steps[1]["batch"] as? Bool == false)
      #expect(steps[2]["result"] as? String == "retried")
      #expect(steps[3]["result"] as? String == "rejected")
      #expect(steps[3]["number"] as? Int == 2)
      #expect(steps[3]["provider"] as? String == "shop")
      let outcomes = try #require(object["outcomes"] as? [[String: String]])
      #expect(outcomes == [["provider": "shop", "fate": "rejected", "reason": "no \"such\" place"]])
    }

    @Test func `kind, violations and flags are told`() throws {
      let violation = try #require(
        try LoggedViolation(
          StoredEvent(
            offset: 0, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: 0),
            name: "violation",
            fields: [
              "offset": .uint(7), "id": "00000000000000010000000000000002", "event": "order", "field": "total",
              "rule": "mandatory", "value": .null, "contract": "shop", "version": "1",
            ])))
      let event = StoredEvent(
        offset: 7, id: EventID(opening: 1, sequence: 2), time: Timestamp(nanosecondsSince1970: 0), name: "order",
        fields: [:], declaration: EventType("order", kind: .pageAction))
      let flags: FieldObject = ["violations": ["total: mandatory"], "defaulted": ["currency", "tax"]]
      let journey = Journey(
        event: event, steps: [Journey.Step(what: .violated(violation))],
        outcomes: [.init(provider: "shop", fate: .acknowledged, flags: flags)])
      let text = JourneyReport.text(journey)
      for line in ["kind", "page_action", "violates shop 1: total: mandatory", "defaulted: currency, tax"] {
        #expect(text.contains(line), "\(line)")
      }
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(JourneyReport.json(journey).utf8)) as? [String: Any])
      #expect((object["event"] as? [String: Any])?["kind"] as? String == "page_action")
      let step = try #require((object["steps"] as? [[String: String]])?.first)
      #expect(
        step == ["step": "violated", "contract": "shop", "version": "1", "field": "total", "rule": "mandatory"])
      let outcome = try #require((object["outcomes"] as? [[String: Any]])?.first)
      #expect((outcome["flags"] as? [String: [String]])?["defaulted"] == ["currency", "tax"])
      let help = JourneyCommand.helpMessage()
      for word in ["violated", "flags", "contract", "rule"] { #expect(help.contains(word), "\(word)") }
    }

    /// Its segment was packed since: the event is at the same offset, in another file.
    @Test func `a journey of an event in a batch segment is told`() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "weir-journey-\(UUID().uuidString)").path
      defer { try? FileManager.default.removeItem(atPath: folder) }
      var configuration = Tracker.Configuration()
      configuration.laneCount = 4
      configuration.laneBytes = 128 << 10
      configuration.segmentBytes = 320 << 10
      configuration.whenFull = .block
      configuration.logger = nil
      let tracker = try Tracker(directory: folder, configuration: configuration)
      let text = FieldValue.string(String(repeating: "x", count: 200))
      let ids = (0..<5_000).compactMap { tracker.track("order", fields: ["n": .int($0), "text": text]).id }
      try tracker.close()
      let log = LogDirectory(folder)
      let raw = JourneyReport.text(try log.journey(of: ids[100]))
      #expect(raw.contains("  drained at offset 100, in the raw segment 00000000000000000000.weir\n"), "\(raw)")
      #expect(try log.batch().batched >= 2)
      for journey in [try log.journey(of: ids[100]), try log.journey(at: 100)] {
        #expect(journey.event.id == ids[100])
        #expect(journey.event.fields["n"] == .int(100))
        #expect(journey.unread.isEmpty)
        let file = "00000000000000000000.weir.lz4"
        #expect(JourneyReport.text(journey).contains("  drained at offset 100, in the batch segment \(file)\n"))
        let object = try JSONSerialization.jsonObject(with: Data(JourneyReport.json(journey).utf8)) as? [String: Any]
        let steps = try #require(object?["steps"] as? [[String: Any]])
        let drained = try #require(steps.first { $0["step"] as? String == "drained" })
        #expect(drained["batch"] as? Bool == true)
        #expect(drained["file"] as? String == file)
        #expect(drained["offset"] as? Int == 100)
      }
      // One in the middle is in a file that is named by another's offset.
      let middle = try log.journey(of: ids[4_000])
      let files = middle.steps.compactMap { step -> String? in
        if case .drained(_, let file, let isBatch) = step.what { isBatch ? file : nil } else { nil }
      }
      try #require(files.count == 1, "\(files)")
      #expect(files[0] > "00000000000000000001", "\(files)")
      #expect(files[0] < "00000000000000004001", "\(files)")
      #expect(middle.event.fields["n"] == .int(4_000))
    }

    @Test func `control characters don't reach the terminal`() {
      let event = StoredEvent(
        offset: 1, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: 0), name: "a\u{1b}[2J",
        fields: ["b\u{7}": "c\u{9b}"])
      let journey = Journey(
        event: event, steps: [.init(provider: "p", what: .rejected(reason: "d\u{1b}e"))],
        outcomes: [.init(provider: "p", fate: .rejected(reason: "f\u{202e}g"))], unread: ["h\u{8}i"])
      for text in [JourneyReport.text(journey), JourneyReport.json(journey)] {
        #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || !Terminal.isControl($0) })
      }
    }
  }
#endif

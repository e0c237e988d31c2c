// RecorderTests: which thread records which line, in what order, and what becomes of lines that the log refuses.

#if Tool
  import ArgumentParser
  import Foundation
  import Testing
  import Weir

  @testable import WeirTool

  /// A directory of its own, removed at the end.
  private final class Folder {
    let path: String

    init() throws {
      path = NSTemporaryDirectory() + "weir-tool-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  struct RecorderTests {
    /// Records the input and answers the tally and what the log holds.
    private func record<Format: LineFormat>(
      _ format: Format.Type, _ input: String, threads: Int = 1, repetitions: UInt64 = 1, stop: StopSwitch? = nil
    ) throws -> (tally: Tally, events: [StoredEvent]) {
      let folder = try Folder()
      let file = "\(folder.path)/input"
      try Data(input.utf8).write(to: URL(fileURLWithPath: file))
      var configuration = Tracker.Configuration()
      configuration.whenFull = .block
      configuration.overflowBytes = 0
      configuration.logger = nil
      let tracker = try Tracker(directory: "\(folder.path)/log", configuration: configuration)
      let recorder = Recorder<Format>(
        input: try InputFile(path: file), tracker: tracker, threads: threads, repetitions: repetitions,
        acknowledges: false, stop: try stop ?? StopSwitch(), progress: nil)
      let result = recorder.run()
      #expect(result.inputError == nil)
      try tracker.close()
      let reader = try EventReader(directory: "\(folder.path)/log")
      var events: [StoredEvent] = []
      while let event = try reader.next() { events.append(event) }
      return (result.tally, events)
    }

    /// More threads than lines, fewer, and as many; rounds that do and do not shift a thread's lines.
    @Test(arguments: [1, 2, 3, 7, 10], [1, 2, 5] as [UInt64])
    func `every thread has its lines in order`(threads: Int, repetitions: UInt64) throws {
      let count = 7
      let input = (0..<count).map { "line \($0)\n" }.joined()
      let (tally, events) = try record(PlainLines.self, input, threads: threads, repetitions: repetitions)
      let total = count * Int(repetitions)
      #expect(tally.accepted == UInt64(total))
      var lanes: [UInt64: [String]] = [:]
      for event in events { lanes[event.id.sequence >> 48, default: []].append(try event["text"]) }
      let expected = (0..<threads).map { thread in
        stride(from: thread, to: total, by: threads).map { "line \($0 % count)" }
      }
      #expect(Set(lanes.values) == Set(expected.filter { !$0.isEmpty }))
    }

    @Test func `many lines on several threads are all recorded, each thread's in order`() throws {
      let input = (0..<50_000).map { "\($0) \(String(repeating: "x", count: $0 % 90))\n" }.joined()
      let (tally, events) = try record(PlainLines.self, input, threads: 4)
      #expect(tally.accepted == 50_000)
      #expect(tally.refused.isEmpty)
      var lanes: [UInt64: [String]] = [:]
      for event in events { lanes[event.id.sequence >> 48, default: []].append(try event["text"]) }
      let lines = input.split(separator: "\n").map(String.init)
      let expected = (0..<4).map { thread in stride(from: thread, to: lines.count, by: 4).map { lines[$0] } }
      #expect(Set(lanes.values) == Set(expected))
    }

    @Test func `each format records what it parses`() throws {
      let json = #"{"event":"sold","fields":{"n":1,"deep":{"list":[true,null]}}}"# + "\nno json\n"
      let stored = try record(JSONLines.self, json).events
      #expect(stored.map(\.name) == ["sold", "malformed"])
      #expect(stored[0].fields == ["n": .int(1), "deep": .object(["list": .array([.bool(true), .null])])])
      #expect(stored[1].fields == ["text": .string("no json")])

      let requests = try record(AccessLog.self, "no request\n").events
      #expect(requests.map(\.name) == ["malformed"])
    }

    @Test func `a line over the limit is refused, and counted`() throws {
      let largest = String(repeating: "k", count: RecordLimits.eventBytes - 4)
      let (tally, events) = try record(PlainLines.self, "a\n\(largest)\n\(largest)k\nb\n")
      #expect(tally.accepted == 3)
      #expect(tally.refused == [.tooLarge: 1])
      let lines = try events.filter { !$0.isNotice }.map { try $0["text"] as String }
      #expect(lines == ["a", largest, "b"])
      #expect(events.filter(\.isNotice).map(\.name) == ["weir.gap"])
    }

    @Test func `a thrown switch stops before the first line`() throws {
      let stop = try StopSwitch()
      stop.stop(.signal(2))
      stop.stop(.output)
      #expect(stop.cause == .signal(2), "only the first cause counts")
      let (tally, events) = try record(PlainLines.self, "a\nb\n", stop: stop)
      #expect(tally.accepted == 0)
      #expect(events.isEmpty)
    }

    @Test func `the limit is the log's own`() {
      #expect(RecordLimits.eventBytes == 69_632)  // as the help text says
    }

    @Test func `an input that can't be read is an error`() throws {
      let folder = try Folder()
      for path in ["\(folder.path)/missing", folder.path] {
        #expect(throws: ToolError.self) { try InputFile(path: path) }
      }
    }
  }

  struct ReportTests {
    @Test func `damage is told in one line`() {
      func line(_ bytes: UInt64, _ count: UInt64) -> String {
        Damage.describe(file: "0.weir", problem: "bad", position: 4_096, bytes: bytes, firstOffset: 17, count: count)
      }
      #expect(line(0, 0) == "0.weir: bad")
      #expect(line(1_000, 0) == "0.weir: bad: 1,000 bytes at 4,096")
      #expect(line(0, 1) == "0.weir: bad; event 17 is missing")
      #expect(line(8, 24) == "0.weir: bad: 8 bytes at 4,096; events 17 to 40 are missing")
    }

    @Test func `a table is aligned`() {
      #expect(Table.text([("a", "1"), ("long", "2")]) == "a     1\nlong  2\n")
    }

    @Test func `keys are there without values, too`() throws {
      struct Report: Encodable {
        @Nullable var firstTime: String?
        var tornBytes = 0
      }
      #expect(try Table.json(Report()) == "{\n  \"first_time\" : null,\n  \"torn_bytes\" : 0\n}\n")
    }

    /// Every key of the JSON reports is in the help of its command, and nothing else is promised there.
    @Test func `the help tells all keys`() throws {
      let folder = try Folder()
      try Tracker(directory: folder.path + "/log").close()
      let log = LogDirectory(folder.path + "/log")
      let tracker = try Tracker(directory: log.path)
      let reports: [(String, any Encodable)] = [
        (RecoverCommand.helpMessage(), RecoverReport(tracker.recovery)),
        (StatCommand.helpMessage(), StatReport(try log.statistics())),
        (VerifyCommand.helpMessage(), VerifyReport(try log.verify(), [])),
      ]
      for (help, report) in reports {
        let object = try JSONSerialization.jsonObject(with: Data(try Table.json(report).utf8)) as? [String: Any]
        let keys = try #require(object).keys
        for key in keys { #expect(help.contains(key), "\(key) is not in the help") }
      }
      try tracker.close()
    }
  }
#endif

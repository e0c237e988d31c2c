// weir export: what is written, which events, and what becomes of the output.

#if Tool
  import ArgumentParser
  import Foundation
  import Testing

  @testable import Weir
  @testable import WeirTool
  @testable import WeirDelivery

  @Suite struct ExportTests {
    /// A directory that goes with its owner.
    private final class Scratch {
      let path = FileManager.default.temporaryDirectory.appending(path: "weir-export-\(UUID().uuidString)").path

      init() throws {
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      }

      deinit { try? FileManager.default.removeItem(atPath: path) }

      func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }
    }

    /// A log of these events.
    private func log(_ scratch: Scratch, _ events: [(String, FieldObject)]) throws -> [StoredEvent] {
      var configuration = Tracker.Configuration()
      configuration.logger = nil
      configuration.laneCount = 4
      configuration.segmentBytes = 1 << 20
      let tracker = try Tracker(directory: scratch("log"), configuration: configuration)
      for (name, fields) in events {
        #expect(tracker.track(name, fields: fields).isAccepted)
        try tracker.drain()
      }
      try tracker.close()
      let reader = try EventReader(directory: scratch("log"))
      var stored: [StoredEvent] = []
      while let event = try reader.next() { stored.append(event) }
      return stored
    }

    private func export(_ scratch: Scratch, _ options: String...) throws -> String {
      let command = try #require(
        try ExportCommand.parseAsRoot([scratch("log"), "--output", scratch("out")] + options) as? ExportCommand)
      try command.run()
      return try String(contentsOfFile: scratch("out"), encoding: .utf8)
    }

    /// The rows of RFC 4180.
    private func rows(_ text: String) -> [[String]] {
      var rows: [[String]] = [[]]
      var cell = ""
      var isQuoted = false
      var rest = Substring(text)
      while let mark = rest.popFirst() {
        switch (mark, isQuoted) {
        case ("\"", true) where rest.first == "\"": cell.append(rest.removeFirst())
        case ("\"", _): isQuoted.toggle()
        case (",", false), ("\n", false):
          rows[rows.count - 1].append(cell)
          cell = ""
          if mark == "\n" { rows.append([]) }
        default: cell.append(mark)
        }
      }
      #expect(rows.last == [])
      #expect(cell.isEmpty)
      #expect(!isQuoted)
      return rows.dropLast()
    }

    @Test func `lines are events as providers write them`() throws {
      let scratch = try Scratch()
      let deep: FieldObject = ["y": .uint(.max), "z": ["deep": [1, "é\n"]]]
      let stored = try log(scratch, [("a", ["x": 1]), ("b", deep), ("a", [:])])
      let lines = try export(scratch)
      let expected = stored.map { String(decoding: EventJSON.object(PreparedEvent($0)), as: UTF8.self) + "\n" }
      #expect(lines == expected.joined())
      #expect(try export(scratch, "--event", "b", "--event", "c").split(separator: "\n").count == 1)
      #expect(try export(scratch, "--event", "none").isEmpty)
    }

    @Test func `a table has the columns of its events, and a row for each`() throws {
      let scratch = try Scratch()
      let stored = try log(
        scratch,
        [
          ("first", ["a": 1, "nested": ["b": true, "c": ["d": .double(.nan)]], "none": nil]),
          ("second", ["a": "x,\"y\"\nz", "list": [1, "two"], "empty": "", "bytes": .bytes([0, 255]), "hollow": [:]]),
          ("third", ["id": 9, "a.b": 2, "a": ["b": 3], "context.x": 4, "fields.id": 5, "back\\slash": .uint(.max)]),
        ])
      let rows = rows(try export(scratch, "--format", "csv"))
      let header = [
        "offset", "id", "time", "name", "kind", "a", "nested.b", "nested.c.d", "none", "list", "empty", "bytes",
        "hollow",
        "fields.id", "a\\.b", "a.b", "context\\.x", "fields\\.id", "back\\\\slash",
      ]
      #expect(rows[0] == header)
      for (event, row) in zip(stored, rows.dropFirst()) {
        #expect(Array(row[..<4]) == ["\(event.offset)", "\(event.id)", "\(event.time)", event.name])
      }
      #expect(rows[1][5...] == ["1", "true", "NaN", "", "", "", "", "", "", "", "", "", "", ""])
      #expect(rows[2][5...] == ["x,\"y\"\nz", "", "", "", "[1,\"two\"]", "", "AP8=", "{}", "", "", "", "", "", ""])
      #expect(rows[3][5...] == ["", "", "", "", "", "", "", "", "9", "2", "3", "4", "5", "18446744073709551615"])
      // An empty text is there, a null is not.
      let second = try export(scratch, "--format", "csv", "--columns", "none,empty", "--event", "second")
      #expect(second == "none,empty\n,\"\"\n")
      let chosen = self.rows(try export(scratch, "--format", "csv", "--columns", "a,name,no.such"))
      #expect(chosen[..<2] == [["a", "name", "no.such"], ["1", "first", ""]])
      #expect(chosen[2...] == [["x,\"y\"\nz", "second", ""], ["", "third", ""]])
      // A second one of a name would be left empty, as if there were no such field.
      for columns in ["a,name,a", "", "a,,name", "a,"] {
        #expect(throws: (any Error).self) { try export(scratch, "--format", "csv", "--columns", columns) }
      }
    }

    @Test func `times choose the events`() throws {
      let scratch = try Scratch()
      let stored = try log(scratch, (0..<5).map { ("e", ["n": .int($0)]) })
      let times = stored.map(\.time)
      try #require(times == times.sorted())
      try #require(Set(times).count == 5)
      func count(_ options: String...) throws -> Int {
        let command = try #require(
          try ExportCommand.parseAsRoot([scratch("log"), "--output", scratch("out")] + options) as? ExportCommand)
        try command.run()
        return try String(contentsOfFile: scratch("out"), encoding: .utf8).split(separator: "\n").count
      }
      #expect(try count("--since", "\(times[2])") == 3)
      #expect(try count("--until", "\(times[2])") == 2)
      #expect(try count("--since", "\(times[1])", "--until", "\(times[3])") == 2)
      #expect(try count("--since", "2100-01-01") == 0)
      #expect(throws: (any Error).self) { try count("--since", "\(times[3])", "--until", "\(times[3])") }
      #expect(throws: (any Error).self) { try count("--since", "yesterday") }
      #expect(throws: (any Error).self) { try count("--columns", "a") }
    }

    @Test func `sensitive values are replaced unless asked for`() throws {
      let scratch = try Scratch()
      var configuration = Tracker.Configuration()
      configuration.logger = nil
      configuration.laneCount = 4
      let tracker = try Tracker(directory: scratch("log"), configuration: configuration)
      try tracker.setGlobals(GlobalFields(fields: ["token": "s3cret"], sensitive: ["token"]))
      #expect(tracker.track("e", fields: ["x": 1]).isAccepted)
      try tracker.close()
      for format in ["jsonl", "csv"] {
        let safe = try export(scratch, "--format", format)
        #expect(safe.contains("[redacted]"))
        #expect(!safe.contains("s3cret"))
        #expect(try export(scratch, "--format", format, "--show-sensitive").contains("s3cret"))
      }
      let table = rows(try export(scratch, "--format", "csv"))
      #expect(table[0] == ["offset", "id", "time", "name", "kind", "x", "context.globals.token"])
      #expect(table[1].suffix(2) == ["1", "[redacted]"])
    }

    @Test func `control characters go to a file as they are, and not to a terminal`() throws {
      let id = EventID(opening: 1, sequence: 1)
      let event = StoredEvent(
        offset: 0, id: id, time: Timestamp(nanosecondsSince1970: 0), name: "e",
        fields: ["\u{1b}[2J": "a\u{1b}]0;x\u{7}"])
      for isTerminal in [false, true] {
        var columns = CSVColumns()
        try columns.add(event)
        let table = CSVTable(columns.names) { isTerminal && $0.unicodeScalars.contains(where: Terminal.isControl) }
        var bytes = table.header()
        table.append(event, to: &bytes)
        #expect(bytes.contains(0x1b) == !isTerminal)
      }
    }

    @Test func `the output has its name when it is whole`() throws {
      let scratch = try Scratch()
      _ = try log(scratch, [("e", ["x": 1])])
      try Data("before".utf8).write(to: URL(filePath: scratch("out")))
      do {
        let target = try OutputTarget(scratch("out"))
        try target.write(Array("half".utf8))
        #expect(try String(contentsOfFile: scratch("out"), encoding: .utf8) == "before")
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == ["log", "out"])
      _ = try export(scratch)
      #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == ["log", "out"])
      for bad in [scratch.path, "/dev/null", scratch("no/such/folder/out")] {
        let error = #expect(throws: ToolError.self) { try OutputTarget(bad) }
        #expect(error?.code == .cannotRun)
        #expect(error?.message.contains(bad) == true)
      }
    }
  }
#endif

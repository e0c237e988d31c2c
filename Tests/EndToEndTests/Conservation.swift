// Conservation.swift: what goes in comes out: every event once, in each thread's order, with the fields that an
// independent reading of the input gives. 100,000 events by default, a million with WEIR_LONG=1.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct Conservation {
    static let threads = 3

    @Test func `the sample recorded on three threads comes back whole, in order and with its fields`() throws {
      let scratch = try Scratch()
      let lines = try RequestLine.sampleLines()
      let rounds = (Run.isLong ? 1_000_000 : 100_000) / lines.count
      let started = Moment.now
      let recorded = try Tool.run(
        [
          "record", scratch("log"), RequestLine.samplePath, "--format", "clf", "--threads", "\(Self.threads)",
          "--repeat", "\(rounds)",
        ])
      try Tool.require(recorded, code: 0, "weir record")
      let between = Moment.now
      try Tool.require(
        Tool.run(["cat", scratch("log")], outputFile: scratch("cat")), code: 0, "weir cat")
      Run.say("\(lines.count * rounds) events: record \(between - started) s, cat \(Moment.now - between) s")

      // Interned: comparing a million pairs of long strings would take minutes in a debug build.
      var numbers: [String: Int] = [:]
      let input = try RequestLine.canonical(lines: lines).map { text in
        if let known = numbers[text] { return known }
        numbers[text] = numbers.count
        return numbers.count - 1
      }
      var tally = Tally(input: input, rounds: rounds)
      let output = try Data(contentsOf: URL(fileURLWithPath: scratch("cat")), options: .alwaysMapped)
      var unknown: [String] = []
      try Self.eachLine(of: output) { line in
        let stored = try CatLine(line)
        let text = try RequestLine.canonical(stored: stored)
        if let number = numbers[text] { tally.take(stored, number) } else { unknown.append(text) }
      }
      #expect(unknown.isEmpty, "events that are not in the input: \(unknown.prefix(3))")
      #expect(tally.problems.isEmpty, "\(tally.problems.prefix(5))")
      #expect(tally.wrongCounts.isEmpty, "not there as often as recorded: \(tally.wrongCounts.prefix(5))")
      #expect(
        tally.threadsInOrder(of: Self.threads) == Array(0..<Self.threads), "a lane is not a thread's share in order")
      try Tool.require(Tool.run("verify", scratch("log")), code: 0, "weir verify")
    }

    @Test func `numbered lines come back each once, ascending in every lane`() throws {
      let scratch = try Scratch()
      let count = Run.isLong ? 300_000 : 30_000
      let input = Numbered.lines(1...count)
      // A small segment: the events pass through many.
      try Tool.record(
        scratch("log"), ["--format", "lines", "--threads", "\(Self.threads)", "--segment-bytes", "1M"], sending: input)
      let stored = try Tool.cat(scratch("log"))
      var seen = Set<Int>()
      var last: [UInt64: Int] = [:]
      for (index, line) in stored.enumerated() {
        #expect(line.offset == UInt64(index))
        let number = try #require(line.text.flatMap(Numbered.number(of:)), "line \(line.offset) is not as it went in")
        #expect(seen.insert(number).inserted, "line \(number) is there twice")
        #expect(last[line.lane, default: 0] < number, "lane \(line.lane) went back to line \(number)")
        last[line.lane] = number
      }
      #expect(seen.count == count)
      #expect(last.count == Self.threads)
      #expect(try Files.segments(in: scratch("log")).count > 1)
    }

    @Test func `JSON lines keep names, nesting and every number exactly`() throws {
      let scratch = try Scratch()
      let fields = [
        #"{"a":1}"#, #"{"a":-9223372036854775808,"b":18446744073709551615,"c":9007199254740993}"#,
        #"{"f":0.1,"e":1.5e300,"z":0,"deep":{"list":[1,"two",[3,{"four":null}],true,false]}}"#,
        #"{"text":"Größe \u0000 \ud83d\ude00 \" \\ \n"}"#, #"{}"#,
      ]
      let input = fields.map { #"{"event":"thing","fields":\#($0)}"# }.joined(separator: "\n") + "\n"
      try Tool.record(scratch("log"), ["--format", "jsonl"], sending: Data(input.utf8))
      let stored = try Tool.cat(scratch("log"))
      #expect(stored.map(\.event) == fields.map { _ in "thing" })
      for (line, text) in zip(stored, fields) {
        let wanted = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
        #expect((line.fields as NSDictionary) == wanted, "\(line.fields) is not \(text)")
      }
      let numbers = try #require(stored[safe: 1])
      for digits in ["-9223372036854775808", "18446744073709551615", "9007199254740993"] {
        #expect(String(decoding: numbers.raw, as: UTF8.self).contains(digits))
      }
    }

    private static func eachLine(of output: Data, _ body: (Data) throws -> Void) throws {
      var start = output.startIndex
      while start < output.endIndex {
        let end = output[start...].firstIndex(of: UInt8(ascii: "\n")) ?? output.endIndex
        try body(output[start..<end])
        start = end + 1
      }
    }
  }
}

extension Array {
  subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}

/// Holds a stream of stored events against the input they were recorded from.
private struct Tally {
  let input: [Int]
  let rounds: Int
  private(set) var problems: [String] = []
  private var counts: [Int: Int] = [:]
  private var next: UInt64 = 0
  private var ids = Set<String>()
  /// For each lane, what it holds, in the order of the log.
  private var lanes: [UInt64: [Int]] = [:]

  init(input: [Int], rounds: Int) {
    self.input = input
    self.rounds = rounds
  }

  /// For each lane, the thread whose share of the input it holds in full and in order, ascending; -1 for no thread's.
  func threadsInOrder(of threads: Int) -> [Int] {
    lanes.values.map { held in
      (0..<threads).first { thread in
        held.count == (input.count * rounds - thread + threads - 1) / threads
          && held.indices.allSatisfy { held[$0] == input[(thread + $0 * threads) % input.count] }
      } ?? -1
    }.sorted()
  }

  mutating func take(_ stored: CatLine, _ number: Int) {
    if stored.offset != next { problems.append("offset \(stored.offset) where \(next) was due") }
    next = stored.offset + 1
    if !ids.insert(stored.id).inserted { problems.append("id \(stored.id) is there twice") }
    counts[number, default: 0] += 1
    lanes[stored.lane, default: []].append(number)
  }

  /// Lines whose number of events is not what went in.
  var wrongCounts: [Int: Int] {
    var rest = counts
    for number in input { rest[number, default: 0] -= rounds }
    return rest.filter { $0.value != 0 }
  }
}

// BadText.swift: input that is empty, endless, binary or not what its format says. Every line becomes an event or is
// counted aloud; nothing is repaired, cut or lost in silence.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct BadText {
    /// Records `bytes` and gives the events; the summary must not speak of drops.
    private func roundTrip(_ bytes: Data, _ options: [String]) throws -> [CatLine] {
      let scratch = try Scratch()
      let outcome = try Tool.run(["record", scratch("log")] + options, sending: bytes)
      try Tool.require(outcome, code: 0, "weir record \(options)")
      return try Tool.cat(scratch("log"))
    }

    /// The exact bytes of a stored line: its text, or base64 where it is not UTF-8.
    private func exact(_ line: CatLine) -> Data? {
      if let text = line.text { return Data(text.utf8) }
      return (line.fields["bytes"] as? String).flatMap { Data(base64Encoded: $0) }
    }

    @Test(arguments: ["lines", "clf", "jsonl"])
    func `an empty input is an empty log`(_ format: String) throws {
      #expect(try roundTrip(Data(), ["--format", format]).isEmpty)
    }

    @Test func `lines are kept exactly: empty, unended, with carriage returns, NUL and half characters`() throws {
      let lines: [[UInt8]] = [
        [], Array("a".utf8), [], [], Array("trailing space ".utf8), Array("windows\r".utf8), [0], [0x41, 0, 0x42],
        [0xff, 0xfe], [0xc3], Array("Käse".utf8), [0xed, 0xa0, 0x80], Array("\u{FEFF}mark".utf8),
        [0x1b, 0x5b, 0x33, 0x31],
        Array("\"quoted\" \\ back".utf8), [0x7f, 0x80], Array("\u{2028}\u{85}".utf8), Array("e\u{301} \u{e9}".utf8),
      ]
      for isEnded in [true, false] {
        let wanted = isEnded ? lines : lines + [Array("last".utf8)]
        let input = Data(wanted.joined(separator: [UInt8(ascii: "\n")])) + Data(isEnded ? "\n".utf8 : "".utf8)
        let stored = try roundTrip(input, ["--format", "lines"])
        #expect(stored.map(\.event) == wanted.map { _ in "line" })
        #expect(stored.map(exact) == wanted.map { Data($0) })
        for (line, bytes) in zip(stored, wanted) {
          let isText = String(validating: bytes, as: UTF8.self) != nil
          #expect(line.fields.keys.map { $0 } == [isText ? "text" : "bytes"], "\(bytes): \(line.fields)")
        }
      }
    }

    @Test func `a log line that does not parse becomes a malformed event with its exact text`() throws {
      let good = try #require(try RequestLine.sampleLines().first)
      let bad: [[UInt8]] = [
        [], Array("hello".utf8), Array(good.utf8.dropLast()), Array((good + " more").utf8), [0xff, 0x00, 0x80],
        Array(good.replacingOccurrences(of: " 200 ", with: " 2x0 ").utf8),
        Array(good.replacingOccurrences(of: "May", with: "Mai").utf8),
        Array(good.replacingOccurrences(of: " 203023 ", with: " 99999999999999999999999 ").utf8),
        Array(good.replacingOccurrences(of: "[17/", with: "[77/").utf8),
      ]
      let input = Data(bad.joined(separator: [UInt8(ascii: "\n")])) + Data("\n\(good)\n".utf8)
      let stored = try roundTrip(input, ["--format", "clf"])
      #expect(stored.map(\.event) == bad.map { _ in "malformed" } + ["request"])
      #expect(stored.dropLast().map(exact) == bad.map { Data($0) })
    }

    @Test func `text inside a request that is not UTF-8 is not lost`() throws {
      let good = try #require(try RequestLine.sampleLines().first)
      var bytes = Array(good.utf8)
      bytes[try #require(bytes.firstIndex(of: UInt8(ascii: "p")))] = 0xff
      let stored = try roundTrip(Data(bytes) + Data("\n".utf8), ["--format", "clf"])
      let line = try #require(stored.first)
      #expect(line.event == "malformed", "\(line.fields)")
      #expect(exact(line) == Data(bytes), "\(line.fields)")
    }

    @Test func `JSON that is no event is kept, and said to be malformed`() throws {
      let bad = [
        "", "null", "[]", "7", "{", "{}", #"{"event":7,"fields":{}}"#, #"{"event":"a","fields":[]}"#, "not json",
        #"{"event":"a","fields":{}} {}"#,
      ]
      let input = bad.joined(separator: "\n") + "\n" + #"{"event":"fine","fields":{"a":1}}"# + "\n"
      let stored = try roundTrip(Data(input.utf8), ["--format", "jsonl"])
      #expect(stored.map(\.event) == bad.map { _ in "malformed" } + ["fine"])
      #expect(stored.dropLast().compactMap(\.text) == bad)
      let binary = Data([UInt8(ascii: "{"), 0xff, 0xfe, UInt8(ascii: "\n")])
      let kept = try roundTrip(binary, ["--format", "jsonl"])
      #expect(kept.map(\.event) == ["malformed"])
      #expect(kept.map(exact) == [binary.dropLast()])
      let deep = String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000)
      let nested = try roundTrip(Data(#"{"event":"deep","fields":{"a":\#(deep)}}"#.utf8), ["--format", "jsonl"])
      #expect(nested.map(\.event) == ["malformed"], "nesting beyond the limit is kept as text")
    }

    @Test func `an event of 64 KiB is accepted`() throws {
      for count in [65_535, 65_536, 65_537] {
        let text = String(repeating: "k", count: count)
        let stored = try roundTrip(Data((text + "\n").utf8), ["--format", "lines"])
        #expect(stored.compactMap(\.text) == [text], "\(count) bytes")
      }
    }

    @Test func `an event over the limit is refused aloud, and those around it are kept`() throws {
      let scratch = try Scratch()
      let huge = Data(repeating: UInt8(ascii: "h"), count: 10 << 20)
      let input = Data("before\n".utf8) + huge + Data("\nafter\n".utf8)
      let outcome = try Tool.run(
        ["record", scratch("log"), "--format", "lines", "--acknowledge"], sending: input)
      #expect(outcome.signal == nil, "\(outcome.code ?? -1)")
      #expect(outcome.code != 0, "\(outcome.code ?? -1)")
      #expect(outcome.code == 4, "some events refused: \(outcome.code ?? -1)")
      #expect(outcome.text == "1\n3\n", "only what is accepted is acknowledged")
      #expect(outcome.complaints.contains { $0.contains("2") && $0.hasPrefix("weir: ") }, "\(outcome.errors)")
      let stored = try Tool.cat(scratch("log"))
      #expect(stored.filter { !$0.isNotice }.compactMap(\.text) == ["before", "after"])
      let gaps = stored.filter { $0.event == "weir.gap" }
      #expect(gaps.count == 1, "\(gaps.map(\.fields))")
      #expect((gaps.first?.fields["dropped"] as? Int) == 1, "\(gaps.map(\.fields))")
      #expect((gaps.first?.fields["reason"] as? String) == "too_large")
    }
  }
}

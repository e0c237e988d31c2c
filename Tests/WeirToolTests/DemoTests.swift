// DemoTests: the demo's comparison must see every kind of loss, or its good news would mean nothing.

#if Tool
  import Testing

  @testable import WeirTool

  struct DemoTests {
    /// Seven lines, three threads: uneven, so that the threads' lines shift with each round.
    private let lines = (0..<7).map { AccessEvent.malformed(.text("line \($0)")) }

    /// What thread `thread` captures first to last.
    private func events(_ thread: Int, _ count: Int) -> [AccessEvent] {
      (0..<count).map { lines[($0 * 3 + thread) % 7] }
    }

    private func compare(_ found: [[AccessEvent]], acknowledged: [UInt64]) -> (lost: Int, different: UInt64) {
      var comparison = Comparison(lines: lines, threads: 3)
      for (lane, events) in found.enumerated() {
        for event in events { comparison.take(event, lane: UInt64(lane) + 5) }
      }
      return (comparison.lost(of: acknowledged), comparison.different)
    }

    @Test func `a log with everything lacks nothing`() {
      let result = compare([events(2, 4), events(0, 5), events(1, 4)], acknowledged: Array(1...13))
      #expect(result == (0, 0))
    }

    @Test func `events that were not acknowledged may be there`() {
      #expect(compare([events(0, 9), events(1, 9), events(2, 9)], acknowledged: [1, 2, 3]) == (0, 0))
    }

    @Test func `an event missing at the end is lost`() {
      #expect(compare([events(0, 4), events(1, 4), events(2, 4)], acknowledged: Array(1...13)) == (1, 0))
    }

    @Test func `an event missing in the middle is lost`() {
      var gap = events(0, 5)
      gap.remove(at: 2)
      let result = compare([gap, events(1, 4), events(2, 4)], acknowledged: Array(1...13))
      #expect(result.lost > 0)
      #expect(result.different > 0)
    }

    @Test func `an event that is there twice is a difference`() {
      var twice = events(0, 5)
      twice.insert(twice[2], at: 2)
      #expect(compare([twice, events(1, 4), events(2, 4)], acknowledged: Array(1...13)).different > 0)
    }

    @Test func `a thread that is missing altogether is lost`() {
      #expect(compare([events(0, 5), events(1, 4)], acknowledged: Array(1...13)).lost == 4)
    }

    @Test func `acknowledgements are read however the reads fall`() {
      var acknowledgements = Acknowledgements()
      for part in ["1\n2", "3\n", "", "4", "5", "6\n7"] { acknowledgements.take(Array(part.utf8)) }
      #expect(acknowledgements.numbers == [1, 23, 456])
    }

    @Test func `words are quoted for a shell`() {
      #expect(DemoCommand.quoted("/tmp/a-b_c.d") == "/tmp/a-b_c.d")
      #expect(DemoCommand.quoted("a b") == "'a b'")
      #expect(DemoCommand.quoted("it's") == #"'it'\''s'"#)
      #expect(DemoCommand.quoted("") == "''")
    }
  }
#endif

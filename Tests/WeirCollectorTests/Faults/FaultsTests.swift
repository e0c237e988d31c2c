// FaultsTests: the words for faults, and the chance that picks them, which a seed decides.

#if Collector
  import Testing
  import Weir

  @testable import WeirCollector

  struct FaultsTests {
    @Test func `faults in words are read and written`() throws {
      let words: [(String, Fault)] = [
        ("status=500:0.1", Fault(.status(500), probability: 0.1)), ("cut", Fault(.cut)),
        ("drop-answer:0.05*3", Fault(.dropAnswer, probability: 0.05, times: 3)),
        ("slow=1500ms", Fault(.slow(.milliseconds(1_500)))), ("slow=2s:1", Fault(.slow(.seconds(2)))),
        ("retry-after=1.5s", Fault(.retryAfter(seconds: 2))),
        ("retry-after=1m*1", Fault(.retryAfter(seconds: 60), times: 1)),
        ("redirect", Fault(.redirect)), ("partial", Fault(.partial)), ("garbage", Fault(.garbage)),
        ("stranger", Fault(.stranger)),
      ]
      for (text, fault) in words {
        #expect(try Fault(text) == fault)
        #expect(try Fault(fault.description) == fault)
      }
      #expect(try Faults("").list.isEmpty)
      #expect(try Faults("cut:0.5, garbage:0.5").list.count == 2)
    }

    @Test(arguments: [
      "status", "status=200", "status=600", "status=x", "cut=1", "cut:2", "cut:-0.1", "cut:x", "cut*0", "cut*x", "slow",
      "slow=2", "slow=2h", "slow=61m", "slow=-1s", "retry-after=", "nonsense", "", "cut:", "cut:0.6,garbage:0.6",
    ])
    func `words that are no fault are told apart`(text: String) {
      #expect(throws: CollectorError.self) {
        if text.contains(",") { _ = try Faults(text) } else { _ = try Fault(text) }
      }
    }

    private func draw(_ faults: Faults, _ count: Int) -> [String] {
      let draw = FaultDraw(faults)
      return (0..<count).map { _ in draw.next(asked: nil)?.kind.name ?? "-" }
    }

    @Test func `equal seeds give equal faults`() throws {
      let text = "status=500:0.1,partial:0.1,cut:0.2,drop-answer:0.1"
      let first = draw(try Faults(text, seed: 7), 2_000)
      #expect(first == draw(try Faults(text, seed: 7), 2_000))
      #expect(first != draw(try Faults(text, seed: 8), 2_000))
      for (name, share) in [("status", 0.1), ("partial", 0.1), ("cut", 0.2), ("drop-answer", 0.1), ("-", 0.5)] {
        let count = first.filter { $0 == name }.count
        // Five standard deviations; the seed is always the same.
        #expect(abs(Double(count) - share * 2_000) < 5 * (2_000 * share * (1 - share)).squareRoot())
      }
    }

    /// What other faults there are does not move the ones that come first.
    @Test func `a request's number is its own`() throws {
      let alone = draw(try Faults("cut:0.3", seed: 5), 500)
      let beside = draw(try Faults("cut:0.3,partial:0.4", seed: 5), 500)
      #expect(zip(alone, beside).allSatisfy { ($0 == "cut") == ($1 == "cut") })
      #expect(beside.contains("partial"))
    }

    @Test func `a request that asks for a fault takes nobody's number`() throws {
      let faults = try Faults("status=500:0.5", seed: 3)
      let draw = FaultDraw(faults)
      let mixed = (0..<50).map { _ in
        #expect(draw.next(asked: Fault(.cut))?.kind == .cut)
        return draw.next(asked: nil)?.kind.name ?? "-"
      }
      #expect(mixed == self.draw(faults, 50))
      #expect(draw.counts["cut"] == 50)
    }

    @Test func `a fault that is to happen so many times does not happen any more after them`() throws {
      #expect(draw(try Faults("cut:1*3"), 5) == ["cut", "cut", "cut", "-", "-"])
      #expect(draw(try Faults("cut:0"), 100).allSatisfy { $0 == "-" })
      let draw = FaultDraw(try Faults("cut*1"))
      _ = draw.next(asked: nil)
      draw.set(try Faults("cut*1"))
      #expect(draw.next(asked: nil)?.kind == .cut)
      #expect(draw.counts == ["cut": 2])
    }

    @Test func `ten tenths are not too many`() throws {
      #expect(try Faults(Array(repeating: "cut:0.1", count: 10).joined(separator: ",")).list.count == 10)
    }
  }
#endif

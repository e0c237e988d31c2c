// Comparison: compares the events of a log with the input. The lines of each thread are known in advance (line n
// belongs to thread (n - 1) mod N), so every event must be the next line of one thread, field by field: no event may be
// missing, repeated or different.

#if Tool
  import Weir

  struct Comparison {
    private let lines: [AccessEvent]
    private let threads: Int
    /// By lane: the number of events found, and the threads whose lines have equalled all of these events.
    private var lanes: [UInt64: (found: Int, candidates: [Int])] = [:]
    /// Events found.
    private(set) var found: UInt64 = 0
    /// Events found that are not the next line of any thread.
    private(set) var different: UInt64 = 0

    /// Creates a comparison. `lines` is one round of the input, parsed. The input repeats the round endlessly.
    init(lines: [AccessEvent], threads: Int) {
      self.lines = lines
      self.threads = threads
    }

    /// Compares the next event of a lane.
    mutating func take(_ event: AccessEvent, lane: UInt64) {
      found += 1
      var state = lanes[lane] ?? (0, Array(0..<threads))
      let left = state.candidates.filter { lines[(state.found * threads + $0) % lines.count] == event }
      if left.isEmpty {
        different += 1
      } else {
        state.candidates = left
        state.found += 1
      }
      lanes[lane] = state
    }

    /// Returns the number of acknowledged lines whose events were not found.
    func lost(of acknowledged: [UInt64]) -> Int {
      var found = Array(repeating: 0, count: threads)
      for state in lanes.values {
        guard let thread = state.candidates.first else { continue }
        found[thread] = max(found[thread], state.found)
      }
      return acknowledged.filter { number in
        let index = Int(number - 1)
        return index / threads >= found[index % threads]
      }.count
    }
  }
#endif

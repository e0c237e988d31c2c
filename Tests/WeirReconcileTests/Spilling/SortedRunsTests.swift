// SortedRuns: what was appended in any order comes back in order, from both ends.

import TestSupport
import Testing

@testable import Weir
@testable import WeirReconcile

@Suite struct SortedRunsTests {
  @Test func `records come back in order, from both ends`() throws {
    let seed = testSeed()
    print("SortedRunsTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    for round in 0..<20 {
      try withDirectory { path in
        let directory = try SystemCalls().openDirectory(path)
        let runs = SortedRuns<UInt64>("runs", in: directory, SystemCalls()) { $0 < $1 }
        var all: [UInt64] = []
        for _ in 0..<Int.random(in: 0...40, using: &random) {
          let run = (0..<Int.random(in: 0...300, using: &random)).map { _ in UInt64.random(in: 0..<500, using: &random)
          }
          try runs.append(run)
          all += run
        }
        var found: [UInt64] = []
        try runs.scan { found.append($0) }
        #expect(found == all.sorted(), "round \(round), seed \(seed)")
        found = []
        try runs.scan(isReversed: true) { found.append($0) }
        #expect(found == all.sorted(by: >), "round \(round), seed \(seed)")
      }
    }
  }
}

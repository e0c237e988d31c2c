// ShareDifference: the interval of the difference of two shares.

import TestSupport
import Testing

@testable import WeirReconcile

@Suite struct NoiseTests {
  @Test func `the interval is that of the paper`() {
    // Newcombe 1998, table II, contrast (a), method 10, at 95 of 100.
    let difference = ShareDifference(56, of: 70, 48, of: 80, z: 1.959964)
    #expect(abs(difference.interval.lowerBound - 0.0524) < 0.0001)
    #expect(abs(difference.interval.upperBound - 0.3339) < 0.0001)
    let wider = ShareDifference(56, of: 70, 48, of: 80)
    #expect(wider.interval.lowerBound < difference.interval.lowerBound)
    #expect(wider.interval.upperBound > difference.interval.upperBound)
  }

  @Test func `a field is blamed beyond the noise alone`() {
    #expect(!ShareDifference(100, of: 1_000, 100, of: 1_000).isBlamed)
    #expect(!ShareDifference(110, of: 1_000, 100, of: 1_000).isBlamed)
    #expect(ShareDifference(200, of: 1_000, 100, of: 1_000).isBlamed)
    #expect(ShareDifference(1, of: 1_000, 0, of: 1_000).isBlamed)
    #expect(ShareDifference(1, of: 10, 0, of: 0).isBlamed)
    #expect(!ShareDifference(0, of: 0, 1, of: 1).isBlamed)
  }

  @Test func `equal shares are seldom blamed`() {
    let seed = testSeed()
    print("NoiseTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    func count() -> UInt64 { UInt64((0..<2_000).count { _ in Int.random(in: 0..<20, using: &random) == 0 }) }
    // One of 200 is expected. 12 of 200 come up in less than one of 10^8 runs.
    let blamed = (0..<200).count { _ in ShareDifference(count(), of: 2_000, count(), of: 2_000).isBlamed }
    #expect(blamed < 12, "seed \(seed)")
  }
}

// Seeded: all that is random in a simulation, from one seed.

import Foundation

/// SplitMix64: the same numbers for the same seed on every machine.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }

  /// A number from 0 to below 1.
  mutating func share() -> Double { Double.random(in: 0..<1, using: &self) }

  /// The time until something happens that happens so often, in seconds.
  mutating func time(of rate: Double) -> Double { -log(1 - share()) / rate }

  /// A number with a median of 1, as the loads of hosts are: a few are many times larger than most.
  mutating func load() -> Double {
    let (first, second) = (share(), share())
    return exp((-2 * log(1 - first)).squareRoot() * cos(2 * .pi * second))
  }
}

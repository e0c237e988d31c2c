// EndToEnd.swift: the parent of all suites that run the built `weir` executable as a stranger would. They are
// serialized: each of them times kills or measures its child, and several at once would only disturb each other.
//
// Environment:
//   WEIR_TOOL    the executable to test; otherwise the one beside the test bundle
//   WEIR_SEED    the seed of every random choice, printed by each test that makes any
//   WEIR_KILLS   how often to kill in KillReplay (25)
//   WEIR_LONG_DELIVERY  1: a million events delivered and 50 kills in DeliveryKills, where the default is 20,000 and 8
//   WEIR_LONG    1: a million events, every byte, every system call, where the default takes a sample
import Foundation
import Testing

@Suite(.serialized)
struct EndToEnd {}

/// What the environment asks of this run.
enum Run {
  static let environment = ProcessInfo.processInfo.environment
  static let isLong = environment["WEIR_LONG"] == "1"
  static let isLongDelivery = environment["WEIR_LONG_DELIVERY"] == "1"
  static let kills = environment["WEIR_KILLS"].flatMap { Int($0) } ?? 25
  static let givenSeed = environment["WEIR_SEED"].flatMap { UInt64($0) }

  /// The seed to use: the given one, or a new one.
  static func seed() -> UInt64 {
    givenSeed ?? UInt64.random(in: 1...UInt64(UInt32.max))
  }

  /// Tells the reader of the test's output something that is no failure: a seed, a figure, why a part is skipped.
  static func say(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data("end-to-end: \(text)\n".utf8))
  }
}

/// SplitMix64: the same numbers for the same seed on every machine.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// Spread evenly over the orders of magnitude, so that small numbers are as likely as large ones.
  mutating func logarithmic(upTo limit: Double) -> Double {
    exp(Double.random(in: 0...log(limit), using: &self))
  }
}

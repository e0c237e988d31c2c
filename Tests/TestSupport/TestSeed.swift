// The seed of tests with random choices: WEIR_SEED, or a new one, which the test prints.

import Foundation

package func testSeed() -> UInt64 {
  ProcessInfo.processInfo.environment["WEIR_SEED"].flatMap(UInt64.init) ?? .random(in: 0..<UInt64(UInt32.max))
}

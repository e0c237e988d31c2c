// Lines of swift-log: with the same metadata for all, so that what is counted is the handler's own, and with new metadata
// for each, which swift-log puts into a dictionary.

import Logging
import Weir
import WeirLogging

extension SwiftCounts {
  static func measureLines(_ directory: String) throws {
    let text = String(repeating: "c", count: 20)
    let same: Logger.Metadata = ["order": "4711", "coupon": .string(text), "items": .stringConvertible(3)]
    try measure("swift-log-line", directory) { $0.info("the order was paid", metadata: same) }
    try measure("swift-log-line-disabled", directory) { $0.debug("the order was paid", metadata: same) }
    try measure("swift-log-line-dictionary", directory) {
      $0.info(
        "the order was paid", metadata: ["order": "4711", "coupon": .string(text), "items": .stringConvertible(3)])
    }
  }

  private static func measure(_ name: StaticString, _ directory: String, _ log: (Logger) -> Void) throws {
    var known: Logger?
    // A lane that is half full wakes the drainer, and a line is large.
    try measure(name, directory, burst: 2000) { tracker, order in
      // Made for the first line, which is not counted.
      let logger = known ?? Logger(label: "shop") { WeirLogHandler(label: $0, tracker: tracker) }
      if known == nil { known = logger }
      log(logger)
      return true
    }
  }
}

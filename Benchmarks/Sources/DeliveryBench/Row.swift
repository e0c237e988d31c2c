// Row.swift: what was measured, and how it is shown.
import Foundation

/// One row: how fast, and how fast the machine is with the same bytes.
struct Row {
  var name: String
  /// Events a delivery; 0 where there are none.
  var batch = 0
  /// Seconds a round took.
  var seconds: [Double]
  /// Seconds that the physical limit took, round by round in turns with the others.
  var limit: [Double] = []
  var limitName = ""
  var events: Int
  var bytes: Int

  private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  var eventsPerSecond: Double { Double(events) / Self.median(seconds) }
  var megabytesPerSecond: Double { Double(bytes) / 1e6 / Self.median(seconds) }
  var limitMegabytesPerSecond: Double? { limit.isEmpty ? nil : Double(bytes) / 1e6 / Self.median(limit) }

  /// One line of the results file.
  var line: String {
    let limit = limitMegabytesPerSecond.map { "\(rounded($0))" } ?? "null"
    return """
      {"bench":"delivery","subject":"\(name)","batch":\(batch),"events":\(events),"bytes":\(bytes),\
      "events_per_second":\(rounded(eventsPerSecond)),"mb_per_second":\(rounded(megabytesPerSecond)),\
      "limit":"\(limitName)","limit_mb_per_second":\(limit)}

      """
  }

  private func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}

/// For people.
func table(_ rows: [Row]) -> String {
  func cells(_ texts: [String]) -> String {
    let widths = [34, 8, 14, 10, 44]
    return zip(texts, widths).map { $0.0.padding(toLength: $0.1, withPad: " ", startingAt: 0) }.joined()
  }
  func number(_ value: Double) -> String { value.formatted(.number.precision(.fractionLength(0))) }
  let lines = rows.map { row in
    let limit = row.limitMegabytesPerSecond.map { "\(number($0)) MB/s (\(row.limitName))" } ?? ""
    let batch = row.batch == 0 ? "" : "\(row.batch)"
    return cells([row.name, batch, number(row.eventsPerSecond), number(row.megabytesPerSecond), limit])
  }
  return ([cells(["delivery", "batch", "events/s", "MB/s", "physical limit"])] + lines).joined(separator: "\n")
}

/// How long something takes, in seconds.
func seconds(_ body: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try body()
  return (ContinuousClock.now - start) / .seconds(1)
}

func secondsOfTask(_ body: () async throws -> Void) async rethrows -> Double {
  let start = ContinuousClock.now
  try await body()
  return (ContinuousClock.now - start) / .seconds(1)
}

struct BenchFailure: Error, CustomStringConvertible {
  let description: String
}

// WeirBenchmarks.swift: single calls under ordo-one's benchmark, for comparing a change with what was before it:
// `swift package --package-path Benchmarks benchmark baseline update before`, then `… baseline compare before`.
// Ratios between subjects are taken from capture-bench, which lets them take turns.
import Benchmark
import CaptureSubjects
import Foundation
import Weir

let benchmarks: @Sendable () -> Void = {
  Benchmark.defaultConfiguration = .init(
    metrics: [.wallClock, .throughput], scalingFactor: .kilo, maxDuration: .seconds(2), maxIterations: 2000)

  let coupon = "SPRING-SALE-\(2026)-100"

  Benchmark("track, encoded by hand") { benchmark in
    try withTracker { tracker in
      benchmark.startMeasurement()
      for order in benchmark.scaledIterations {
        blackHole(tracker.track(Checkout.completed(order: UInt64(order), total: 19.99, items: 3, coupon: coupon)))
      }
      benchmark.stopMeasurement()
    }
  }

  Benchmark("track, Codable") { benchmark in
    try withTracker { tracker in
      benchmark.startMeasurement()
      for order in benchmark.scaledIterations {
        blackHole(
          tracker.track(CodableCheckout.completed(order: UInt64(order), total: 19.99, items: 3, coupon: coupon)))
      }
      benchmark.stopMeasurement()
    }
  }

  Benchmark("weir_capture") { benchmark in
    try inFolder { folder in
      var setup = weir_setup(threads: 1, clock: 0, text_bytes: UInt64(CHECKOUT_TEXT), full_wait_ns: 0)
      var message = [CChar](repeating: 0, count: 1024)
      guard let subject = weir_subject_open(folder + "/log", &setup, &message) else { return }
      benchmark.startMeasurement()
      blackHole(weir_subject_burst_call(subject, 0, UInt64(benchmark.scaledIterations.count), coupon))
      benchmark.stopMeasurement()
      var accepted: UInt64 = 0
      var dropped: UInt64 = 0
      _ = weir_subject_close(subject, &accepted, &dropped)
    }
  }

  Benchmark("read and decode") { benchmark in
    try withTracker { tracker in
      for order in benchmark.scaledIterations {
        tracker.track(Checkout.completed(order: UInt64(order), total: 19.99, items: 3, coupon: coupon))
      }
      try tracker.drain()
      benchmark.startMeasurement()
      for recorded in try tracker.events(of: Checkout.self) { blackHole(recorded.event) }
      benchmark.stopMeasurement()
    }
  }

  Benchmark("CRC32C of 4 KiB") { benchmark in
    let bytes = [UInt8](repeating: 0x5a, count: 4096)
    for _ in benchmark.scaledIterations { blackHole(support_crc32c(bytes, UInt64(bytes.count))) }
  }
}

private func inFolder(_ body: (String) throws -> Void) throws {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("weir-benchmark-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  try body(folder.path)
}

/// A thousand captures fit into a lane: none is refused.
private func withTracker(_ body: (Tracker) throws -> Void) throws {
  try inFolder { folder in
    var configuration = Tracker.Configuration()
    configuration.logger = nil
    let tracker = try Tracker(directory: folder + "/log", configuration: configuration)
    tracker.track(CodableCheckout.started(cart: 1))  // the lane is claimed, the types are defined
    tracker.track(Checkout.started(cart: 1))
    try body(tracker)
    try tracker.close()
  }
}

private enum CodableCheckout: Codable, Event {
  case started(cart: UInt64)
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)
}

private enum Checkout: Event {
  case started(cart: UInt64)
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)

  static let eventTypes = [
    EventType("checkout.started", [Field("cart", .uint64)]),
    EventType(
      "checkout.completed",
      [Field("order", .uint64), Field("total", .double), Field("items", .int32), Field("coupon", .string)]),
  ]

  @inline(__always)
  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .started(let cart):
      encoder.begin(0)
      encoder.put(cart)
    case .completed(let order, let total, let items, let coupon):
      encoder.begin(1)
      encoder.put(order)
      encoder.put(total)
      encoder.put(items)
      encoder.put(coupon)
    }
  }

  init?(_ stored: StoredEvent) throws {
    switch stored.name {
    case "checkout.started": self = .started(cart: try stored["cart"])
    case "checkout.completed":
      self = .completed(
        order: try stored["order"], total: try stored["total"], items: try stored["items"],
        coupon: try stored["coupon"])
    default: return nil
    }
  }
}

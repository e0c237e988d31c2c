// SampleLogs: real logs, and the parts that a sender cuts out of them.

import Foundation
import Weir
import WeirFleet

/// The event of capture-bench: a number, a double, a 32-bit integer and 20 bytes of text.
enum Sale: Codable, Event {
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)

  init(number: Int) {
    self = .completed(
      order: UInt64(number), total: Double(number % 10_000) / 100, items: Int32(number % 7),
      coupon: "SPRING-2026-CODE-\(100 + number % 900)")
  }
}

/// A part as a broker gives it.
struct SampleMessage {
  let headers: [String: String]
  let bytes: [UInt8]

  /// The bytes of the headers as NATS has them: a line each.
  var headerBytes: Int { headers.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 4 } }
}

enum SampleLogs {
  /// Captures events by so many threads, each of which has a lane. With a pause, each event is in the log before the next.
  static func capture(_ count: Int, threads: Int, pause: UInt32 = 0, in directory: String) throws {
    var configuration = Tracker.Configuration()
    configuration.logger = nil
    configuration.whenFull = .block
    let tracker = try Tracker(directory: directory, configuration: configuration)
    let (isCaptured, isOver) = (DispatchGroup(), DispatchGroup())
    let isEnded = DispatchSemaphore(value: 0)
    // A thread that ends leaves its lane to the next, so all of them live until the last event.
    for thread in 0..<threads {
      isCaptured.enter()
      isOver.enter()
      Thread.detachNewThread {
        for number in stride(from: thread, to: count, by: threads) {
          _ = tracker.track(Sale(number: number))
          if pause > 0 { usleep(pause * UInt32(threads)) }
        }
        isCaptured.leave()
        isEnded.wait()
        isOver.leave()
      }
    }
    isCaptured.wait()
    for _ in 0..<threads { isEnded.signal() }
    isOver.wait()
    try tracker.close()
  }

  /// Cuts a log into parts of so many events, and of so many bytes at most.
  static func cut(_ directory: String, host: String, events: UInt64 = .max, atMost bytes: Int = 256 << 10) throws
    -> [SampleMessage]
  {
    let cutter = try LogCutter(directory: directory, from: 0)
    var messages: [SampleMessage] = []
    var end = events
    var position: Offset = 0
    while true {
      switch try cutter.next(below: end, atMost: bytes) {
      case .part(let part):
        position = part.summary.offsets.upperBound
        let headers = PartMessage(part, host: host, sent: Timestamp.now.nanosecondsSince1970).headers
        messages.append(
          SampleMessage(
            headers: Dictionary(uniqueKeysWithValues: headers.map { ($0.name, $0.value) }), bytes: part.bytes))
      case .skip: break
      case .end:
        guard events != .max, position >= end else { return messages }
        end += events
      }
    }
  }
}

/// What parts take on the way, by the number of their events: measured of real ones.
struct PartSizes {
  struct Size {
    /// Whether each event was drained by itself, as those of a quiet host are. Such a log has a block for each event.
    let isPaced: Bool
    let events: Double
    let bytes: Double
    let headerBytes: Double
    /// To check every byte of the part, as a collector does.
    let checkSeconds: Double
    /// To read the headers.
    let headerSeconds: Double
    /// What an event takes in its host's log.
    let logBytes: Double
  }

  private let all: [Size]
  /// Those of quiet hosts.
  private let sizes: [Size]

  private static let counts: [(isPaced: Bool, events: Int)] =
    [1, 10, 30, 100, 300, 1_000, 3_000].map { (true, $0) } + [100, 1_000, 10_000].map { (false, $0) }

  init(in directory: String, threads: Int) throws {
    all = try Self.counts.map { isPaced, count in
      let path = directory + "/parts-\(isPaced)-\(count)"
      try SampleLogs.capture(count, threads: threads, pause: isPaced ? 1_500 : 0, in: path)
      let messages = try SampleLogs.cut(path, host: "host-000001.region-01.example", atMost: 4 << 20)
      guard let message = messages.first, messages.count == 1 else {
        throw SimulationFailure("\(count) events made \(messages.count) parts")
      }
      return Size(
        isPaced: isPaced, events: Double(count), bytes: Double(message.bytes.count),
        headerBytes: Double(message.headerBytes),
        checkSeconds: try leastSeconds { _ = try LogPart(checking: message.bytes) },
        headerSeconds: try leastSeconds { _ = try PartMessage(headers: message.headers) },
        logBytes: try Machine.segmentBytes(in: path) / Double(count))
    }
    sizes = all.filter(\.isPaced)
  }

  /// The bytes of a part of so many events, between those that were measured; beyond them as the last ones grow.
  func bytes(_ events: Double) -> Double {
    let next = sizes.dropFirst().firstIndex { $0.events >= events } ?? sizes.count - 1
    let (from, to) = (sizes[next - 1], sizes[next])
    return max(
      sizes[0].bytes, from.bytes + (to.bytes - from.bytes) * (events - from.events) / (to.events - from.events))
  }

  /// The number of events in a part of so many bytes.
  func events(_ bytes: Double) -> UInt64 {
    var (low, high) = (1.0, 1e7)
    while high - low > 1 {
      let middle = ((low + high) / 2).rounded()
      if self.bytes(middle) > bytes { high = middle } else { low = middle }
    }
    return UInt64(low)
  }

  /// The headers of a usual part.
  var headerBytes: Double { sizes[3].headerBytes }
  /// What an event takes in the log of a quiet host.
  var logBytes: Double { sizes[sizes.count - 1].logBytes }

  var table: Table {
    var table = Table(
      "parts", "Parts of a log that 4 threads capture in, by their events",
      ["drained", "events", "bytes", "bytes/event", "header bytes", "check µs", "headers µs", "log bytes/event"])
    for size in all {
      table.rows.append([
        .text(size.isPaced ? "one by one" : "in bulk"), .number(size.events, 0), .number(size.bytes, 0),
        .number(size.bytes / size.events, 1), .number(size.headerBytes, 0), .number(size.checkSeconds * 1e6, 1),
        .number(size.headerSeconds * 1e6, 2), .number(size.logBytes, 0),
      ])
    }
    return table
  }
}

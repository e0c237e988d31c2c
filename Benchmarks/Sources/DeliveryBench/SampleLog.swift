// SampleLog.swift: the events that are delivered, in a log as a program leaves it.
import Weir
import WeirDelivery

/// The event of capture-bench: a number, a double, a 32-bit integer and 20 bytes of text.
enum Sale: Codable, Event {
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)
}

struct SampleLog {
  let directory: String
  let count: Int
  /// All of them, as providers get them, and their JSON, a line each.
  let events: [PreparedEvent]
  let json: [UInt8]

  init(_ directory: String, events count: Int) throws {
    self.directory = directory
    self.count = count
    var configuration = Tracker.Configuration()
    configuration.logger = nil
    configuration.whenFull = .block
    let tracker = try Tracker(directory: directory, configuration: configuration)
    for number in 0..<count {
      let receipt = tracker.track(
        Sale.completed(
          order: UInt64(number), total: Double(number % 10_000) / 100, items: Int32(number % 7),
          coupon: "SPRING-2026-CODE-\(100 + number % 900)"))
      guard receipt.isAccepted else { throw BenchFailure(description: "an event was refused: \(receipt)") }
    }
    try tracker.close()
    let reader = try EventReader(directory: directory)
    var events: [PreparedEvent] = []
    events.reserveCapacity(count)
    while let event = try reader.next() { if !event.isNotice { events.append(PreparedEvent(event)) } }
    guard events.count == count else { throw BenchFailure(description: "\(events.count) of \(count) are in the log") }
    self.events = events
    var json: [UInt8] = []
    for event in events {
      EventJSON().append(event, to: &json)
      json.append(UInt8(ascii: "\n"))
    }
    self.json = json
  }
}

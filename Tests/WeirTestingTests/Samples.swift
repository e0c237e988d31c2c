// The events that the tests of the kit capture, and a value that tasks share.

import Synchronization
import Weir

enum Order: Codable, Event, Equatable {
  case placed(number: Int, total: Double)
  case paid(number: Int)
}

/// Another type, so that there is something to leave out.
enum Page: Codable, Event, Equatable {
  case viewed(path: String)
}

/// Says of its events that they are its own, and then can't read them.
struct Unreadable: Event {
  static let eventTypes = [EventType("unreadable", [Field("value", .int64)])]

  init() {}

  func encode(into encoder: inout EventEncoder) {
    encoder.begin(0)
    encoder.put(Int64(1))
  }

  init?(_ stored: StoredEvent) throws {
    guard stored.name == "unreadable" else { return nil }
    let _: String = try stored["value"]
  }
}

/// A value that several tasks read and write.
final class Shared<Value: Sendable>: Sendable {
  private let value: Mutex<Value>

  init(_ value: Value) { self.value = Mutex(value) }

  func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    value.withLock { body(&$0) }
  }
}

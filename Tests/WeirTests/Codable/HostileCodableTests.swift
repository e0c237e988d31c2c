// Codable types that mean ill, or are merely odd: what they encode is whole in the log, or refused and counted, and the
// next event is untouched by it.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Weir

private typealias Key = TextKey

/// What a script leaves behind for later.
private final class Kept: @unchecked Sendable {
  var keyed: [KeyedEncodingContainer<Key>] = []
  var encoders: [any Encoder] = []
  var unkeyed: [any UnkeyedEncodingContainer] = []
}

struct HostileCodableTests {
  /// What a container of an event that is over hands out writes nowhere.
  @Test func `a kept container does not reach later events`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let kept = Kept()
      tracker.track(Scripted { kept.keyed.append($0.container(keyedBy: Key.self)) })
      // The event is over: these come of a container that writes nowhere, and outlive it.
      kept.encoders = [kept.keyed[0].superEncoder(), kept.keyed[0].superEncoder(forKey: Key("x"))]
      kept.unkeyed = [kept.keyed[0].nestedUnkeyedContainer(forKey: Key("y"))]
      var nested = kept.keyed[0].nestedContainer(keyedBy: Key.self, forKey: Key("z"))
      kept.encoders.append(nested.superEncoder())
      try nested.encode("ghost", forKey: Key("ghost"))
      kept.keyed = []
      for _ in 0..<3 {
        let receipt = tracker.track(
          Scripted { encoder in
            var root = encoder.container(keyedBy: Key.self)
            for encoder in kept.encoders {
              var ghost = encoder.container(keyedBy: Key.self)
              try ghost.encode("ghost", forKey: Key("ghost"))
              #expect(encoder.codingPath.isEmpty)
            }
            try kept.unkeyed[0].encode("ghost")
            try root.encode(1, forKey: Key("a"))
          })
        #expect(receipt.isAccepted)
      }
      #expect(try tracker.events().map(\.fields) == [[:], ["a": 1], ["a": 1], ["a": 1]])
    }
  }

  /// A list whose every element lies in the one before.
  private struct Chain: Encodable {
    var length: Int
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      if length > 0 { try container.encode(Chain(length: length - 1), forKey: Key("next")) }
    }
  }

  @Test func `nesting without end does not use up the stack`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      #expect(tracker.track(Scripted { try Chain(length: 10_000_000).encode(to: $0) }) == .dropped(.invalid))
      #expect(tracker.lastDefinitionError?.message.contains("nested deeper") == true)
      #expect(tracker.track(Visit.opened).isAccepted)
    }
  }

  /// Counts how often it is asked.
  private struct Counted: Encodable {
    static let count = Atomic<Int>(0)
    func encode(to encoder: any Encoder) throws {
      Self.count.add(1, ordering: .relaxed)
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(1, forKey: Key("n"))
    }
  }

  @Test func `an event that is too large stops growing`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let many = [Counted](repeating: Counted(), count: 1_000_000)
      let receipt = tracker.track(
        Scripted { encoder in
          var root = encoder.container(keyedBy: Key.self)
          try root.encode(many, forKey: Key("many"))
        })
      #expect(receipt == .dropped(.tooLarge))
      let asked = Counted.count.load(ordering: .relaxed)
      #expect((1...100_000).contains(asked), "\(asked) elements were encoded, of which at most 68 KiB fit")
      #expect(tracker.track(Visit.opened).isAccepted)
    }
  }

  /// Runs on another thread while the caller waits.
  private static func elsewhere(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Thread {
      body()
      done.signal()
    }.start()
    done.wait()
  }

  @Test func `an encoding may go on on another thread`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      for round in 0..<50 {
        let receipt = tracker.track(
          Scripted { encoder in
            let kept = Kept()
            kept.keyed = [encoder.container(keyedBy: Key.self)]
            try kept.keyed[0].encode(round, forKey: Key("here"))
            Self.elsewhere {
              tracker.track(Login(user: "elsewhere", attempts: round))
              try? kept.keyed[0].encode(["there"], forKey: Key("there"))
            }
            try kept.keyed[0].encode(true, forKey: Key("back"))
          })
        #expect(receipt.isAccepted)
      }
      let events = try tracker.events()
      #expect(
        events.filter { $0.name == "Scripted" }.map(\.fields)
          == (0..<50).map { ["here": .int($0), "there": ["there"], "back": true] })
      // Each is from a thread of its own, and their order in the log is that of the lanes that these had.
      #expect(try tracker.events(of: Login.self).map(\.event.attempts).sorted() == Array(0..<50))
    }
  }

  /// Captures from inside a value, as deep as told; the innermost throws.
  private struct Tracking: Encodable {
    let tracker: Tracker
    let depth: Int
    struct Innermost: Error {}
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(depth, forKey: Key("depth"))
      guard depth > 0 else { throw Innermost() }
      let (tracker, depth) = (tracker, depth)
      let receipt = tracker.track(
        Scripted { encoder in
          var root = encoder.container(keyedBy: Key.self)
          try root.encode(Tracking(tracker: tracker, depth: depth - 1), forKey: Key("inner"))
        })
      try container.encode(receipt.isAccepted, forKey: Key("accepted"))
    }
  }

  @Test func `an encoding may capture and fail at every depth`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for _ in 0..<20 {
        let receipt = tracker.track(Scripted { try Tracking(tracker: tracker, depth: 5).encode(to: $0) })
        #expect(receipt.isAccepted)
      }
      let inner = { (depth: Int64) -> FieldObject in
        ["inner": .object(["depth": .int(depth), "accepted": .bool(depth > 1)])]
      }
      let outermost: FieldObject = ["depth": 5, "accepted": true]
      let each = [inner(1), inner(2), inner(3), inner(4), outermost]
      let fields = try tracker.events().filter { !$0.isNotice }.map(\.fields)
      #expect(fields == Array(repeatElement(each, count: 20).joined()))
      #expect(tracker.counters.dropped == [.invalid: 20])
    }
  }

  @Test func `an error that is caught is refused all the same`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      struct Failing: Encodable {
        func encode(to encoder: any Encoder) throws {
          var list = encoder.unkeyedContainer()
          try list.encode(1)
          throw CocoaError(.featureUnsupported)
        }
      }
      let receipt = tracker.track(
        Scripted { encoder in
          var root = encoder.container(keyedBy: Key.self)
          try? root.encode(Failing(), forKey: Key("half"))
          try root.encode(1, forKey: Key("after"))
        })
      #expect(receipt == .dropped(.invalid))
      #expect(tracker.lastDefinitionError?.message.contains("field half could not be encoded") == true)
      #expect(tracker.track(Login(user: "u", attempts: 1)).isAccepted)
      #expect(try tracker.events(of: Login.self).map(\.event) == [Login(user: "u", attempts: 1)])
    }
  }

  @Test func `an encoding may close the log`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(Visit.opened)
      let receipt = tracker.track(
        Scripted { encoder in
          var root = encoder.container(keyedBy: Key.self)
          try root.encode(1, forKey: Key("a"))
          try tracker.close()
        })
      #expect(receipt == .dropped(.closed))
      #expect(try tracker.events(of: Visit.self).count == 1)
    }
  }

  /// A key that captures when its text is asked for, and when it is let go of: which is as the next event begins.
  private final class Trap: Sendable {
    let tracker: Tracker
    init(_ tracker: Tracker) { self.tracker = tracker }
    deinit { tracker.track(Login(user: "gone", attempts: 0)) }
  }

  private struct TrapKey: CodingKey {
    let trap: Trap?
    init(_ trap: Trap) { self.trap = trap }
    init?(stringValue: String) { nil }
    init?(intValue: Int) { nil }
    var intValue: Int? { nil }
    var stringValue: String {
      trap?.tracker.track(Login(user: "asked", attempts: 0))
      return "key"
    }
  }

  @Test func `a key may capture`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for _ in 0..<20 {
        let receipt = tracker.track(
          Scripted { encoder in
            var root = encoder.container(keyedBy: TrapKey.self)
            var inner = root.nestedContainer(keyedBy: Key.self, forKey: TrapKey(Trap(tracker)))
            try inner.encode(["x"], forKey: Key("list"))
          })
        #expect(receipt.isAccepted)
      }
      tracker.track(Visit.opened)
      let events = try tracker.events()
      #expect(
        events.filter { $0.name == "Scripted" }.map(\.fields)
          == Array(repeating: ["key": .object(["list": ["x"]])], count: 20))
      let logins = try tracker.events(of: Login.self).map(\.event.user)
      #expect(logins.filter { $0 == "asked" }.count == 20)
      #expect(logins.filter { $0 == "gone" }.count == 20)
    }
  }
}

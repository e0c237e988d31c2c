// What a thread keeps between its Codable events: nothing of one event may reach another, whatever the user's code does
// with the encoders and containers that it was given.

import Foundation
import TestSupport
import Testing

@testable import Weir

private typealias Key = TextKey

/// What a script leaves behind for later.
private final class Keeper: @unchecked Sendable {
  var encoders: [any Encoder] = []
  var keyed: [KeyedEncodingContainer<Key>] = []
  var unkeyed: [any UnkeyedEncodingContainer] = []
  var single: [any SingleValueEncodingContainer] = []

  /// Writes with all that was kept, in every way there is.
  func haunt() throws {
    for index in keyed.indices {
      try keyed[index].encode("ghost", forKey: Key("ghost"))
      try keyed[index].encodeNil(forKey: Key("ghost"))
      try keyed[index].encode(["ghost"], forKey: Key("ghost"))
      var nested = keyed[index].nestedContainer(keyedBy: Key.self, forKey: Key("ghost"))
      try nested.encode(1, forKey: Key("ghost"))
      var list = keyed[index].nestedUnkeyedContainer(forKey: Key("ghost"))
      try list.encode(1)
      try "ghost".encode(to: keyed[index].superEncoder())
      try "ghost".encode(to: keyed[index].superEncoder(forKey: Key("ghost")))
      #expect(keyed[index].codingPath.isEmpty)
    }
    for index in unkeyed.indices {
      try unkeyed[index].encode("ghost")
      try unkeyed[index].encodeNil()
      try unkeyed[index].encode(["ghost"])
      var nested = unkeyed[index].nestedContainer(keyedBy: Key.self)
      try nested.encode(1, forKey: Key("ghost"))
      var list = unkeyed[index].nestedUnkeyedContainer()
      try list.encode(1)
      try "ghost".encode(to: unkeyed[index].superEncoder())
      #expect(unkeyed[index].count == 0)
      #expect(unkeyed[index].codingPath.isEmpty)
    }
    for index in single.indices {
      try single[index].encode("ghost")
      try single[index].encode(["ghost"])
      try single[index].encodeNil()
      #expect(single[index].codingPath.isEmpty)
    }
    for encoder in encoders {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode("ghost", forKey: Key("ghost"))
      var list = encoder.unkeyedContainer()
      try list.encode("ghost")
      var single = encoder.singleValueContainer()
      try single.encode("ghost")
      #expect(encoder.codingPath.isEmpty)
    }
  }
}

/// Keeps all that it is given.
private struct Kept: Encodable {
  let keeper: Keeper
  func encode(to encoder: any Encoder) throws {
    keeper.encoders.append(encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(1, forKey: Key("a"))
    keeper.keyed.append(container)
    let list = container.nestedUnkeyedContainer(forKey: Key("list"))
    keeper.unkeyed.append(list)
    let other = container.superEncoder(forKey: Key("other"))
    keeper.encoders.append(other)
    keeper.single.append(other.singleValueContainer())
  }
}

struct TaggedEncoderTests {
  @Test func `a kept container does not reach later events`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let keeper = Keeper()
      // From the event itself, and from a value in it.
      #expect(tracker.track(Scripted { try Kept(keeper: keeper).encode(to: $0) }).isAccepted)
      #expect(
        tracker.track(
          Scripted { encoder in
            var root = encoder.container(keyedBy: Key.self)
            try root.encode(Kept(keeper: keeper), forKey: Key("inner"))
          }
        ).isAccepted)
      try keeper.haunt()
      for _ in 0..<3 {
        #expect(
          tracker.track(
            Scripted { encoder in
              try keeper.haunt()
              var root = encoder.container(keyedBy: Key.self)
              try keeper.haunt()
              try root.encode([1], forKey: Key("b"))
              var inner = root.nestedContainer(keyedBy: Key.self, forKey: Key("c"))
              try keeper.haunt()
              try inner.encode(Login(user: "u", attempts: 2), forKey: Key("d"))
              try keeper.haunt()
            }
          ).isAccepted)
      }
      let kept: FieldObject = ["a": 1, "list": [], "other": nil]
      let plain: FieldObject = ["b": [1], "c": ["d": ["user": "u", "attempts": 2]]]
      #expect(try tracker.events().map(\.fields) == [kept, ["inner": .object(kept)], plain, plain, plain])
    }
  }

  @Test func `a kept container may be used by another thread`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let keeper = Keeper()
      #expect(tracker.track(Scripted { try Kept(keeper: keeper).encode(to: $0) }).isAccepted)
      let done = DispatchSemaphore(value: 0)
      let thread = Thread {
        for _ in 0..<2000 { try? keeper.haunt() }
        done.signal()
      }
      thread.start()
      for index in 0..<2000 {
        #expect(tracker.track(Login(user: "main", attempts: index)).isAccepted)
        if index % 500 == 0 { try tracker.drain() }
      }
      done.wait()
      let found = try tracker.events(of: Login.self)
      #expect(found.map(\.event) == (0..<2000).map { Login(user: "main", attempts: $0) })
    }
  }

  @Test func `a kept container outlives its thread`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let keeper = Keeper()
      let done = DispatchSemaphore(value: 0)
      let thread = Thread {
        tracker.track(Scripted { try Kept(keeper: keeper).encode(to: $0) })
        done.signal()
      }
      thread.start()
      done.wait()
      while !thread.isFinished { usleep(1000) }
      for _ in 0..<10 { try keeper.haunt() }
      #expect(try tracker.events().count == 1)
    }
  }

  /// A container that is still in use when another of its type is asked for, in one event.
  @Test func `two containers of one type may be in use at once`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for _ in 0..<3 {
        tracker.track(
          Scripted { encoder in
            var root = encoder.container(keyedBy: Key.self)
            var open: [KeyedEncodingContainer<Key>] = []
            // More than are kept of one type.
            for index in 0..<20 { open.append(root.nestedContainer(keyedBy: Key.self, forKey: Key("\(index)"))) }
            for index in open.indices.reversed() { try open[index].encode(index, forKey: Key("n")) }
            var copy = open[3]
            try copy.encode(true, forKey: Key("copy"))
          })
      }
      var expected: [(String, FieldValue)] = []
      for index in 0..<20 {
        expected.append(("\(index)", .object(FieldObject([("n", .int(Int64(index)))]))))
      }
      expected[3].1 = ["n": 3, "copy": true]
      let fields = try tracker.events().map(\.fields)
      #expect(fields == Array(repeating: FieldObject(expected), count: 3))
    }
  }

  private struct Wrapped<Inner: Encodable>: Encodable {
    var inner: Inner
  }

  /// Encodes a value with `levels` wrappers around it, and all those with fewer.
  @Sendable
  private static func encode(_ value: some Encodable, _ levels: Int, to encoder: any Encoder) throws {
    var root = encoder.container(keyedBy: Key.self)
    func add(_ inner: some Encodable, _ level: Int) throws {
      try root.encode(inner, forKey: Key("\(level)"))
      if level < levels { try add(Wrapped(inner: inner), level + 1) }
    }
    try add(value, 0)
  }

  /// More types of containers than are kept, and again.
  @Test func `containers of many types are filled in one event`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for round in 0..<3 {
        tracker.track(
          Scripted { encoder in
            var root = encoder.container(keyedBy: Key.self)
            for index in 0..<4 {
              let inner = root.superEncoder(forKey: Key("\(index)"))
              switch index {
              case 0: try Self.encode(round, 12, to: inner)
              case 1: try Self.encode("\(round)", 12, to: inner)
              case 2: try Self.encode([round], 12, to: inner)
              default: try Self.encode(Double(round), 12, to: inner)
              }
            }
          })
      }
      let events = try tracker.events()
      #expect(events.count == 3)
      for (round, event) in events.enumerated() {
        let number = Int64(round)
        let values: [FieldValue] = [.int(number), .string("\(round)"), [.int(number)], .double(Double(round))]
        for (index, value) in values.enumerated() {
          var expected = value
          for level in 0...12 {
            #expect(try event.fields["\(index)"]?.object()["\(level)"] == expected)
            expected = .object(FieldObject([("inner", expected)]))
          }
        }
      }
    }
  }

  /// Values in values, deeper than encoders are kept for; none opens a container until the last one.
  private struct Chain: Encodable {
    var length: Int
    func encode(to encoder: any Encoder) throws {
      if length == 0 {
        var list = encoder.unkeyedContainer()
        return try list.encode("end")
      }
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(Chain(length: length - 1), forKey: Key("next"))
    }
  }

  @Test func `deep chains are refused, and leave nothing`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for length in [3, 50, 16, 17, 200, 3] {
        let receipt = tracker.track(Scripted { try Chain(length: length).encode(to: $0) })
        #expect(receipt.isAccepted == (length <= 16), "length \(length)")
      }
      #expect(try tracker.events().filter { !$0.isNotice }.count == 3)
    }
  }

  @Test func `keys of elements have numbers`() {
    #expect(Key(index: 12).stringValue == "12")
    #expect(Key(index: 12).intValue == 12)
    #expect(Key("a").stringValue == "a")
    #expect(Key("a").intValue == nil)
  }
}

// Containers of an Encoder that are filled in any order, interleaved and twice.

import TestSupport
import Testing

@testable import Weir

struct TaggedWriterTests {
  private typealias Key = TextKey

  private func fields(_ script: @escaping Scripted.Script) throws -> FieldObject {
    let (receipt, error, stored) = try capture(Scripted(script))
    try #require(receipt.isAccepted, "\(error?.message ?? "")")
    return stored[0].fields
  }

  @Test func `interleaved containers keep their values apart`() throws {
    let found = try fields { encoder in
      var root = encoder.container(keyedBy: Key.self)
      var first = root.nestedContainer(keyedBy: Key.self, forKey: Key("first"))
      var second = root.nestedUnkeyedContainer(forKey: Key("second"))
      try first.encode(1, forKey: Key("a"))
      try second.encode("x")
      try root.encode(true, forKey: Key("flag"))
      try first.encode("longer text", forKey: Key("b"))
      var inner = second.nestedContainer(keyedBy: Key.self)
      try second.encode(2.5)
      try inner.encode(UInt8(9), forKey: Key("deep"))
      try first.encodeNil(forKey: Key("c"))
    }
    #expect(
      found == [
        "first": ["a": 1, "b": "longer text", "c": nil],
        "second": ["x", ["deep": .uint(9)], 2.5],
        "flag": true,
      ])
  }

  @Test func `super encoders may be filled late`() throws {
    let found = try fields { encoder in
      var root = encoder.container(keyedBy: Key.self)
      let base = root.superEncoder()
      let named = root.superEncoder(forKey: Key("named"))
      try root.encode(1, forKey: Key("own"))
      var list = root.nestedUnkeyedContainer(forKey: Key("list"))
      let first = list.superEncoder()
      let second = list.superEncoder()
      let third = list.superEncoder()
      try list.encode("last")
      var single = second.singleValueContainer()
      try single.encode("two")
      var one = first.container(keyedBy: Key.self)
      try one.encode(11, forKey: Key("n"))
      _ = third
      var late = base.container(keyedBy: Key.self)
      try late.encode("late", forKey: Key("x"))
      _ = named
      // A class and its superclass may ask for the same container each.
      var again = base.container(keyedBy: Key.self)
      try again.encode("again", forKey: Key("y"))
    }
    #expect(found["super"] == ["x": "late", "y": "again"])
    #expect(found["own"] == 1)
    #expect(found["list"] == [["n": 11], "two", nil, "last"])
  }

  @Test func `nothing encoded is an empty object`() throws {
    #expect(try fields { _ in } == [:])
    struct Empty: Encodable { func encode(to encoder: any Encoder) {} }
    let found = try fields { encoder in
      var root = encoder.container(keyedBy: Key.self)
      try root.encode(Empty(), forKey: Key("e"))
      try root.encode([Empty()], forKey: Key("list"))
    }
    #expect(found == ["e": .object([:]), "list": [.object([:])]])
  }

  @Test func `two kinds of containers are refused`() throws {
    let (receipt, error, _) = try capture(
      Scripted { encoder in
        _ = encoder.container(keyedBy: Key.self)
        _ = encoder.unkeyedContainer()
      })
    #expect(receipt == .dropped(.invalid))
    #expect(error?.message.contains("two kinds of containers") == true)
  }

  @Test func `coding paths and counts are told`() throws {
    _ = try fields { encoder in
      #expect(encoder.codingPath.isEmpty)
      var root = encoder.container(keyedBy: Key.self)
      var list = root.nestedUnkeyedContainer(forKey: Key("list"))
      #expect(list.count == 0)
      try list.encode(1)
      try list.encodeNil()
      #expect(list.count == 2)
      let inner = list.nestedContainer(keyedBy: Key.self)
      #expect(inner.codingPath.map(\.stringValue) == ["list", "2"])
    }
  }

  /// Encoders that outlive their event.
  private final class Keeper: @unchecked Sendable { var kept: [any Encoder] = [] }

  @Test func `an encoder that is kept does not reach the next event`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let keeper = Keeper()
      tracker.track(
        Scripted { encoder in
          keeper.kept.append(encoder)
          var root = encoder.container(keyedBy: Key.self)
          try root.encode(1, forKey: Key("a"))
        })
      tracker.track(
        Scripted { encoder in
          var root = encoder.container(keyedBy: Key.self)
          try root.encode(2, forKey: Key("b"))
          var old = keeper.kept[0].container(keyedBy: Key.self)
          try old.encode("ghost", forKey: Key("ghost"))
          try root.encode(3, forKey: Key("c"))
        })
      #expect(try tracker.events().map(\.fields) == [["a": 1], ["b": 2, "c": 3]])
    }
  }

  @Test(arguments: 0..<20)
  func `random orders of encoding agree with a tree`(_ seed: Int) throws {
    /// The same value built both ways: with containers in random order, and as a plain tree.
    final class Node {
      var members: [(String, Either)] = []
      enum Either {
        case node(Node)
        case number(Int)
      }
      var value: FieldValue {
        .object(
          FieldObject(
            members.map { name, member in
              switch member {
              case .node(let node): (name, node.value)
              case .number(let number): (name, .int(Int64(number)))
              }
            }))
      }
    }
    let expected = Mutexed<FieldValue>(.null)
    let found = try fields { encoder in
      var random = Seeded(seed: UInt64(seed))
      let root = Node()
      var open: [(Node, KeyedEncodingContainer<Key>)] = [(root, encoder.container(keyedBy: Key.self))]
      for step in 0..<200 {
        let at = Int.random(in: 0..<open.count, using: &random)
        let key = "k\(step)"
        if open[at].1.codingPath.count < 14, Bool.random(using: &random) {
          let node = Node()
          open[at].0.members.append((key, .node(node)))
          open.append((node, open[at].1.nestedContainer(keyedBy: Key.self, forKey: Key(key))))
        } else {
          open[at].0.members.append((key, .number(step)))
          try open[at].1.encode(step, forKey: Key(key))
        }
      }
      expected.value = root.value
    }
    #expect(FieldValue.object(found) == expected.value, "seed \(seed)")
  }
}

/// A value that a script leaves behind. The script has ended when it is read.
private final class Mutexed<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}

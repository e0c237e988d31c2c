// The classes that the tests of hooks call, with what the macros write by hand.

import Synchronization
import TestSupport
import Weir
import WeirAspects
import WeirScopes

/// What bodies and advice say in their order.
final class Heard: Sendable {
  private let words = Mutex<[String]>([])

  func say(_ word: String) { words.withLock { $0.append(word) } }

  var all: [String] { words.withLock { $0 } }

  /// What was said since the last time.
  func take() -> [String] {
    words.withLock { words in
      defer { words = [] }
      return words
    }
  }
}

/// Counts.
final class Count: Sendable {
  private let count = Atomic<Int>(0)

  func up() { count.wrappingAdd(1, ordering: .relaxed) }

  var value: Int { count.load(ordering: .relaxed) }
}

/// Alive as long as advice holds it.
final class Held: Sendable {
  let count: Count

  init(_ count: Count) { self.count = count }

  deinit { count.up() }

  func use() {}
}

extension Hook.Outcome {
  /// What was returned or thrown; `unknown` for neither.
  var words: String { threw.map { "\($0)" } ?? returned.map { "\($0)" } ?? "unknown" }
}

// MARK: A family: a parent, and every way to inherit from it

/// The bodies that ran: of overrides that call `super` two for a call.
let bodies = Heard()

class Parent: @unchecked Sendable {
  required init() {}

  static let lookPoint = JoinPoint<Parent, (depth: Int, ()), String>("Parent.look(_:)")
  static let loadPoint = JoinPoint<Parent, (depth: Int, ()), String>("Parent.load(_:)")
  static let makePoint = JoinPoint<Parent.Type, (depth: Int, ()), String>("Parent.make(_:)")

  func look(_ depth: Int) -> String {
    var weirCall = Self.lookPoint.call()
    if weirCall.isObserved { weirCall.begin(self, (depth: depth, ()), in: Parent.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    bodies.say("Parent")
    // Recursion through self.
    if depth > 0 { return weirCall.returned(look(depth - 1)) }
    return weirCall.returned("Parent")
  }

  func load(_ depth: Int) async -> String {
    var weirCall = Self.loadPoint.call()
    if weirCall.isObserved { weirCall.beginAsync(self, (depth: depth, ()), in: Parent.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    await Task.yield()
    bodies.say("Parent")
    if depth > 0 { return weirCall.returned(await load(depth - 1)) }
    return weirCall.returned("Parent")
  }

  class func make(_ depth: Int) -> String {
    var weirCall = Self.makePoint.call()
    if weirCall.isObserved { weirCall.begin(self, (depth: depth, ()), in: Parent.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    bodies.say("Parent")
    if depth > 0 { return weirCall.returned(make(depth - 1)) }
    return weirCall.returned("Parent")
  }
}

/// No override.
class Plain: Parent, @unchecked Sendable {}

/// No override, as the first.
class Sibling: Parent, @unchecked Sendable {}

/// Overrides, and calls `super`.
class Calling: Parent, @unchecked Sendable {
  override func look(_ depth: Int) -> String {
    var weirCall = Self.lookPoint.call()
    if weirCall.isObserved { weirCall.begin(self, (depth: depth, ()), in: Calling.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    bodies.say("Calling")
    return weirCall.returned("Calling " + super.look(depth))
  }

  override func load(_ depth: Int) async -> String {
    var weirCall = Self.loadPoint.call()
    if weirCall.isObserved { weirCall.beginAsync(self, (depth: depth, ()), in: Calling.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    await Task.yield()
    bodies.say("Calling")
    return weirCall.returned("Calling " + (await super.load(depth)))
  }

  override class func make(_ depth: Int) -> String {
    var weirCall = Self.makePoint.call()
    if weirCall.isObserved { weirCall.begin(self, (depth: depth, ()), in: Calling.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    bodies.say("Calling")
    return weirCall.returned("Calling " + super.make(depth))
  }

  /// Calls `super` where the override is not running.
  func lookAbove() -> String { super.look(0) }
  func loadAbove() async -> String { await super.load(0) }

  /// Calls `super` twice, and on another thread, inside of a call.
  func within(_ body: (@escaping @Sendable () -> String) -> String) -> String {
    var weirCall = Self.lookPoint.call()
    if weirCall.isObserved { weirCall.begin(self, (depth: 0, ()), in: Calling.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    return weirCall.returned(body { super.look(0) })
  }
}

/// Overrides, and does not call `super`.
class Replacing: Parent, @unchecked Sendable {
  override func look(_ depth: Int) -> String {
    var weirCall = Self.lookPoint.call()
    if weirCall.isObserved { weirCall.begin(self, (depth: depth, ()), in: Replacing.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    bodies.say("Replacing")
    if depth > 0 { return weirCall.returned(look(depth - 1)) }
    return weirCall.returned("Replacing")
  }

  override func load(_ depth: Int) async -> String {
    var weirCall = Self.loadPoint.call()
    if weirCall.isObserved { weirCall.beginAsync(self, (depth: depth, ()), in: Replacing.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    await Task.yield()
    bodies.say("Replacing")
    if depth > 0 { return weirCall.returned(await load(depth - 1)) }
    return weirCall.returned("Replacing")
  }

  override class func make(_ depth: Int) -> String {
    var weirCall = Self.makePoint.call()
    if weirCall.isObserved { weirCall.begin(self, (depth: depth, ()), in: Replacing.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    bodies.say("Replacing")
    if depth > 0 { return weirCall.returned(make(depth - 1)) }
    return weirCall.returned("Replacing")
  }
}

final class OfPlain: Plain, @unchecked Sendable {}
final class OfCalling: Calling, @unchecked Sendable {}
final class OfReplacing: Replacing, @unchecked Sendable {}

/// A third override on the way up.
final class CallingTwice: Calling, @unchecked Sendable {
  override func look(_ depth: Int) -> String {
    var weirCall = Self.lookPoint.call()
    if weirCall.isObserved { weirCall.begin(self, (depth: depth, ()), in: CallingTwice.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    bodies.say("CallingTwice")
    return weirCall.returned("CallingTwice " + super.look(depth))
  }

  override func load(_ depth: Int) async -> String {
    var weirCall = Self.loadPoint.call()
    if weirCall.isObserved { weirCall.beginAsync(self, (depth: depth, ()), in: CallingTwice.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    await Task.yield()
    bodies.say("CallingTwice")
    return weirCall.returned("CallingTwice " + (await super.load(depth)))
  }

  override class func make(_ depth: Int) -> String {
    var weirCall = Self.makePoint.call()
    if weirCall.isObserved { weirCall.begin(self, (depth: depth, ()), in: CallingTwice.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    bodies.say("CallingTwice")
    return weirCall.returned("CallingTwice " + super.make(depth))
  }
}

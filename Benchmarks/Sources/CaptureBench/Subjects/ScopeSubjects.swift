// ScopeSubjects.swift: captures with something bound around them, and the bare reads of task-local values that they are
// held against.
import CaptureSubjects
import Weir

/// `tracker.track(Checkout.completed(…))` inside of a bound user, bound once a burst; or outside of it, in a process that
/// has bound a user before.
final class WeirScopeSubject: Subject {
  private let inner: WeirSwiftSubject
  private let binds: Bool

  init(_ setup: Setup, binds: Bool) throws {
    Bindings.with(user: "user-12345") {}
    inner = try WeirSwiftSubject(setup)
    self.binds = binds
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    guard binds else { return inner.burst(thread: thread, first: first, count: count) }
    return Bindings.with(user: "user-12345") { inner.burst(thread: thread, first: first, count: count) }
  }

  func settle() throws { try inner.settle() }
  func finish() throws -> Delivery { try inner.finish() }
}

/// Reads a task-local value and nothing else: a reference, as whatever names a user has one, or a single word, of which
/// copying costs nothing.
final class TaskLocalSubject: Subject {
  enum Value { case reference, word }

  private let value: Value
  private let binds: Bool

  init(_ value: Value, binds: Bool) {
    self.value = value
    self.binds = binds
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    let read = value == .reference ? readReferences : readWords
    guard binds else { return read(count) }
    return value == .reference
      ? Local.$reference.withValue(Reference(number: 1)) { read(count) } : Local.$word.withValue(1) { read(count) }
  }

  func settle() {}
  func finish() -> Delivery { Delivery() }
}

private final class Reference: Sendable {
  let number: Int
  init(number: Int) { self.number = number }
}

private enum Local {
  @TaskLocal static var reference: Reference?
  @TaskLocal static var word = 0
}

@inline(never)
private func readReferences(_ count: Int) -> Int {
  var sum = 0
  for _ in 0..<count { sum &+= Local.reference?.number ?? 2 }
  return sum == 0 ? 0 : count
}

@inline(never)
private func readWords(_ count: Int) -> Int {
  var sum = 0
  for _ in 0..<count { sum &+= Local.word &+ 1 }
  return sum == 0 ? 0 : count
}

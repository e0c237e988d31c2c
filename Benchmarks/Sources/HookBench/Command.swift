// hook-bench: what a join point costs a call, with nothing attached and with advice that counts.

import ArgumentParser
import Synchronization
import Weir
import WeirAspects

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

@main
struct Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hook-bench",
    abstract: "What a join point costs a call: nanoseconds over the same call without one.",
    discussion: """
      Each row is measured in turns with the bare call, in bursts; figures are medians of the differences between two \
      bursts that follow each other. Pin it to one processor: taskset -c 1 hook-bench.
      """)

  @Option(help: "Bursts of each row.")
  var bursts = 301

  @Option(help: "Calls a burst.")
  var calls = 20_000

  @Flag(help: "Fail if a call costs more than 1.5 ns more detached, or 15 ns with counting advice before it.")
  var check = false

  func validate() throws {
    guard bursts > 0, calls > 0 else { throw ValidationError("--bursts and --calls must be above 0") }
  }

  func run() throws {
    let page = Page()
    let count = Counter()
    let joinPoint = Row(bursts: bursts, calls: calls, page: page)
    var isGood = joinPoint.measure("detached") <= 1.5
    do {
      let hook = Page.weirJoinPoint_like_.before(.everything) { _, _ in
        count.value.wrappingAdd(1, ordering: .relaxed)
      }
      if joinPoint.measure("before, counting") > 15 { isGood = false }
      hook.detach()
    }
    do {
      let hook = Page.weirJoinPoint_like_.after(.everything) { _, _, _ in
        count.value.wrappingAdd(1, ordering: .relaxed)
      }
      joinPoint.measure("after, counting")
      hook.detach()
    }
    do {
      let hook = Page.weirJoinPoint_like_.after(.everything, timed: true) { _, _, _ in
        count.value.wrappingAdd(1, ordering: .relaxed)
      }
      joinPoint.measure("after, timed, counting")
      hook.detach()
    }
    do {
      let hook = Page.weirJoinPoint_like_.before(.exactly(Page.self)) { _, _ in
        count.value.wrappingAdd(1, ordering: .relaxed)
      }
      joinPoint.measure("before, exactly the class, counting")
      hook.detach()
    }
    do {
      let other = Page()
      let hook = Page.weirJoinPoint_like_.before(.instance(other)) { _, _ in
        count.value.wrappingAdd(1, ordering: .relaxed)
      }
      joinPoint.measure("before, on another object")
      hook.detach()
    }
    if joinPoint.measure("detached again") > 1.5 { isGood = false }
    print("load of the machine: \(load())")
    print("advice ran \(count.value.load(ordering: .relaxed)) times")
    guard check else { return }
    print(isGood ? "ok: what a join point costs" : "FAILED: a join point costs more than promised")
    if !isGood { throw ExitCode.failure }
  }

  /// Runnable threads in the last 1, 5 and 15 minutes: figures of a busy machine are worth less.
  private func load() -> String {
    var loads = [0.0, 0.0, 0.0]
    guard getloadavg(&loads, 3) == 3 else { return "unknown" }
    return loads.map { "\(($0 * 100).rounded() / 100)" }.joined(separator: ", ")
  }
}

/// What the advice counts in.
private final class Counter: Sendable {
  let value = Atomic<UInt64>(0)
}

/// Bursts of calls with a join point and without, in turns.
private struct Row {
  let bursts: Int
  let calls: Int
  let page: Page

  /// What the join point costs a call, in nanoseconds.
  @discardableResult
  func measure(_ name: String) -> Double {
    var bare: [Double] = []
    var more: [Double] = []
    for _ in 0..<bursts {
      let without = burst { page.bareLike($0) }
      let with = burst { page.like($0) }
      bare.append(without)
      more.append(with - without)
    }
    bare.sort()
    more.sort()
    let over = more[more.count / 2]
    print(
      "\(name): bare \(rounded(bare[bare.count / 2])) ns, with the join point \(rounded(over)) ns more"
        + " (middle half \(rounded(more[more.count / 4])) to \(rounded(more[more.count * 3 / 4])))")
    return over
  }

  @inline(__always)
  private func burst(_ call: (UInt64) -> UInt64) -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    for item in 0..<UInt64(calls) { _ = call(item) }
    return (clock.now - start) / .nanoseconds(1) / Double(calls)
  }

  private func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}

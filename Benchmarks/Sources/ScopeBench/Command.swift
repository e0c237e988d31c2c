// scope-bench: what scopes cost, from beginning to end, and what is captured in them.

import ArgumentParser
import Dispatch
import Weir
import WeirScopes

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

@main
struct Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scope-bench",
    abstract: "What scopes cost: nanoseconds a call, medians of bursts.",
    discussion: "The log is in a new directory in DIRECTORY, with at most 400 MB, and is removed at the end.")

  @Option(help: "Where the log goes.")
  var directory = "/tmp"

  @Option(help: "Bursts of each row.")
  var bursts = 41

  @Option(help: "Calls a burst.")
  var calls = 2_000

  func validate() throws {
    guard bursts > 0, calls > 0 else { throw ValidationError("--bursts and --calls must be above 0") }
  }

  func run() throws {
    let path = "\(directory)/weir-scope-bench-\(getpid())"
    var configuration = Tracker.Configuration()
    configuration.logger = nil
    configuration.whenFull = .block
    configuration.byteLimit = 400 << 20
    configuration.atByteLimit = .dropOldest
    let tracker = try Tracker(directory: path, configuration: configuration)
    defer {
      try? tracker.close()
      remove(path)
    }
    let bench = Bench(tracker: tracker, bursts: bursts, calls: calls)
    // In this order: until something is bound captures look for nothing.
    bench.measure("a capture, nothing ever bound") { _ = tracker.track(Tick(1)) }
    bench.measure("a view bound around nothing") { Bindings.with(view: "checkout") {} }
    bench.measure("a user bound around nothing") { Bindings.with(user: "user-12345") {} }
    bench.measure("user, fields and view bound around nothing") {
      Bindings.with(user: "user-12345", fields: ["request": "4711"], view: "checkout") {}
    }
    bench.measure("beginScope and end") { _ = tracker.beginScope("checkout").end() }
    bench.measure("withScope around nothing") { tracker.withScope("checkout") { _ in } }
    captures(bench, tracker)
    let lifeCycle = try LifeCycle(tracker)
    bench.measure("beginScope and end, with a life cycle") { _ = tracker.beginScope("checkout").end() }
    for threads in [1, 2, 4] {
      let start = ContinuousClock.now
      DispatchQueue.concurrentPerform(iterations: threads) { _ in
        for _ in 0..<calls * 10 { tracker.beginScope("checkout").end() }
      }
      let each = (ContinuousClock.now - start) / .nanoseconds(1) / Double(calls * 10)
      print("beginScope and end on \(threads) threads at once, each: \(Int(each)) ns")
    }
    withExtendedLifetime(lifeCycle) {}
  }

  private func captures(_ bench: Bench, _ tracker: Tracker) {
    let scope = tracker.beginScope("checkout")
    bench.measure("run around nothing") { scope.run {} }
    Bindings.with(user: "user-12345") { bench.measure("run around nothing, another user bound") { scope.run {} } }
    bench.measure("a capture, nothing bound") { _ = tracker.track(Tick(1)) }
    Bindings.with(view: "checkout") { bench.measure("a capture in a view") { _ = tracker.track(Tick(1)) } }
    scope.run { bench.measure("a capture in a scope") { _ = tracker.track(Tick(1)) } }
    bench.measure("Scope.track") { _ = scope.track(Tick(1)) }
    bench.measure("suspend and resume") {
      scope.suspend()
      scope.resume()
    }
    bench.measure("elapsed") { _ = scope.elapsed }
    scope.run { bench.measure("Scope.current") { _ = Scope.current } }
  }

  private func remove(_ path: String) {
    guard let folder = opendir(path) else { return }
    var names: [String] = []
    while let entry = readdir(folder) {
      names.append(withUnsafePointer(to: &entry.pointee.d_name.0) { String(cString: $0) })
    }
    closedir(folder)
    for name in names where name != "." && name != ".." { unlink("\(path)/\(name)") }
    rmdir(path)
  }
}

/// Measures calls, burst by burst.
private struct Bench {
  let tracker: Tracker
  let bursts: Int
  let calls: Int

  func measure(_ name: String, _ call: () -> Void) {
    var times: [Double] = []
    for _ in 0..<bursts {
      let start = ContinuousClock.now
      for _ in 0..<calls { call() }
      times.append((ContinuousClock.now - start) / .nanoseconds(1) / Double(calls))
      // A full lane would have the next burst wait.
      _ = try? tracker.drain()
    }
    times.sort()
    print("\(name): \(Int(times[bursts / 2].rounded())) ns")
  }
}

/// An event with one number.
private struct Tick: Event {
  static let eventTypes = [EventType("tick", [Field("number", .uint64)])]
  let number: UInt64

  init(_ number: UInt64) { self.number = number }

  @inline(__always)
  func encode(into encoder: inout EventEncoder) {
    encoder.begin(0)
    encoder.put(number)
  }

  init?(_ stored: StoredEvent) throws {
    guard stored.index(in: Self.eventTypes) == 0 else { return nil }
    number = try stored["number"]
  }
}

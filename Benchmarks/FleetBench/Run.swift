// Run: threads that make events for hosts, and the lines of JSON that say how far they are.

#if Tool && NATS
  import Foundation
  import Synchronization
  import Weir

  /// A host that events are made for. `make` belongs to one thread.
  protocol BenchHost: AnyObject, Sendable {
    /// Makes so many events. Returns how many there was room for.
    func make(_ count: Int) -> Int
    /// Does what is due besides, such as sending again. Called between bursts.
    func tend()
    /// Events that the broker has acknowledged.
    var acknowledged: Int { get }
    /// Messages that the broker has acknowledged, and their bytes.
    var messages: Int { get }
    var bytes: Int { get }
  }

  struct BenchFailure: Error, CustomStringConvertible {
    let description: String
  }

  /// What is printed of a run.
  private struct Line: Encodable {
    var seconds: Double
    var made: Int
    var acknowledged: Int
    var messages: Int
    var bytes: Int
    /// Processor seconds of the process.
    var cpu: Double
    /// The resident memory, and what of that is no file's, in bytes.
    var resident: Int
    var anonymous: Int
    var isLast: Bool
  }

  /// A run, with a thread for each 16 hosts: a thread keeps lanes of so many logs (THREAD_LOGS in lane.c), and borrows
  /// a lane for each event of any further log.
  final class BenchRun: Sendable {
    private static let hostsAThread = 16

    // Options are slow to read.
    private let (rate, burst, seconds, rest): (Double, Int, Int, Int)
    private let hosts: [any BenchHost]
    private let made = Atomic(0)
    private let isOver = Atomic(false)
    private let threads = Atomic(0)
    private let start = ContinuousClock.now

    init(_ load: Load, _ hosts: [any BenchHost]) {
      (rate, burst, seconds, rest) = (Double(load.rate), load.burst, load.seconds, load.rest)
      self.hosts = hosts
    }

    private var elapsed: Double { (ContinuousClock.now - start) / .seconds(1) }

    /// Makes events for the time of the load, then waits for the rest to be acknowledged.
    func run() async throws {
      for first in stride(from: 0, to: hosts.count, by: Self.hostsAThread) {
        let some = Array(hosts[first..<min(first + Self.hostsAThread, hosts.count)])
        threads.add(1, ordering: .relaxed)
        try startThread("bench-events") { self.makeEvents(for: some) }
      }
      for second in 1...seconds {
        try await Task.sleep(until: start + .seconds(second), clock: .continuous)
        try printLine()
      }
      isOver.store(true, ordering: .relaxed)
      while threads.load(ordering: .acquiring) > 0 { try await Task.sleep(for: .milliseconds(1)) }
      let end = ContinuousClock.now + .seconds(rest)
      while ContinuousClock.now < end, hosts.reduce(0, { $0 + $1.acknowledged }) < made.load(ordering: .relaxed) {
        for host in hosts { host.tend() }
        try await Task.sleep(for: .milliseconds(20))
      }
      try printLine(isLast: true)
    }

    private func makeEvents(for some: [any BenchHost]) {
      let rate = rate * Double(some.count) / Double(hosts.count)
      var (total, next) = (0, 0)
      // Threads that begin together would make their bursts together.
      usleep(UInt32.random(in: 0..<100_000))
      while !isOver.load(ordering: .relaxed) {
        var count = 0
        for host in some {
          host.tend()
          if rate == 0 { count += host.make(burst) }
        }
        while rate > 0, Double(total + count + burst) <= elapsed * rate {
          let made = some[next % some.count].make(burst)
          next += 1
          count += made
          if made < burst { break }
        }
        total += count
        made.add(count, ordering: .relaxed)
        if rate > 0 || count == 0 { usleep(rate > 0 ? 20_000 : 10_000) }
      }
      threads.subtract(1, ordering: .releasing)
    }

    private func printLine(isLast: Bool = false) throws {
      var usage = rusage()
      getrusage(.init(RUSAGE_SELF.rawValue), &usage)
      let times = [usage.ru_utime, usage.ru_stime]
      let line = Line(
        seconds: elapsed, made: made.load(ordering: .relaxed),
        acknowledged: hosts.reduce(0) { $0 + $1.acknowledged }, messages: hosts.reduce(0) { $0 + $1.messages },
        bytes: hosts.reduce(0) { $0 + $1.bytes },
        cpu: times.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 },
        resident: Self.memory("VmRSS"), anonymous: Self.memory("RssAnon"), isLast: isLast)
      print(String(decoding: try JSONEncoder().encode(line), as: UTF8.self))
      fflush(nil)
    }

    /// A line of /proc/self/status, in bytes.
    private static func memory(_ name: String) -> Int {
      let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
      let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
      return (line?.split { $0 == " " || $0 == "\t" }.dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }
  }
#endif

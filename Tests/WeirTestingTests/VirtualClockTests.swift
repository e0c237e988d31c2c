// A virtual clock wakes those whose time has come, in order, and nobody else.

import Foundation
import Testing
import WeirTesting

@Suite(.timeLimit(.minutes(15))) struct VirtualClockTests {
  @Test func `a virtual clock stands still until it is moved`() async throws {
    let clock = VirtualClock()
    let start = clock.now
    try await Task.sleep(for: .milliseconds(5))
    #expect(clock.now == start)
    clock.advance(by: .milliseconds(1500))
    #expect(start.duration(to: clock.now) == .milliseconds(1500))
    clock.advance(by: .seconds(-10))
    #expect(start.duration(to: clock.now) == .milliseconds(1500))
    clock.advance(to: start)
    #expect(clock.now == VirtualClock.Instant(.milliseconds(1500)))
  }

  @Test func `a sleeper wakes at its deadline, and not before`() async throws {
    let clock = VirtualClock()
    let isAwake = Shared(false)
    let task = Task {
      try await clock.sleep(for: .seconds(10))
      isAwake.withLock { $0 = true }
    }
    await clock.sleepers(atLeast: 1)
    #expect(clock.next == VirtualClock.Instant(.seconds(10)))
    clock.advance(by: .seconds(10) - .nanoseconds(1))
    #expect(clock.sleepers == 1)
    #expect(!isAwake.withLock { $0 })
    clock.advance(by: .nanoseconds(1))
    #expect(clock.sleepers == 0)
    #expect(clock.next == nil)
    try await task.value
    #expect(isAwake.withLock { $0 })
  }

  @Test func `a deadline that has passed is no sleep`() async throws {
    let clock = VirtualClock(at: VirtualClock.Instant(.seconds(5)))
    try await clock.sleep(until: VirtualClock.Instant(.seconds(5)))
    try await clock.sleep(until: VirtualClock.Instant(.seconds(1)))
    try await clock.sleep(for: .seconds(-1))
    #expect(clock.sleepers == 0)
  }

  /// Runs what it is given in that order, so that tasks run in the order in which they are resumed.
  private final class Queue: TaskExecutor {
    private let queue = DispatchQueue(label: "one after the other")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  @Test func `sleepers wake in the order of their deadlines`() async throws {
    var random = SystemRandomNumberGenerator()
    let seed = ProcessInfo.processInfo.environment["WEIR_SEED"].flatMap(UInt64.init) ?? random.next()
    print("VirtualClock, order of waking: WEIR_SEED=\(seed)")
    var state = seed
    func next(below limit: UInt64) -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) % limit
    }

    let clock = VirtualClock()
    let queue = Queue()
    let woken = Shared<[Int]>([])
    var deadlines: [Int] = []
    var tasks: [Task<Void, any Error>] = []
    for index in 0..<50 {
      let deadline = Int(next(below: 10)) + 1
      deadlines.append(deadline)
      tasks.append(
        Task(executorPreference: queue) {
          try await clock.sleep(until: VirtualClock.Instant(.seconds(deadline)))
          woken.withLock { $0.append(index) }
        })
      // One after the other goes to sleep, so that the order of going is known.
      await clock.sleepers(atLeast: index + 1)
    }
    // The last one counts as asleep a moment before it has left the queue, and would be the first to go on.
    await Task(executorPreference: queue) {}.value
    clock.advance(by: .seconds(20))
    for task in tasks { try await task.value }
    #expect(woken.withLock { $0 } == (0..<50).sorted { (deadlines[$0], $0) < (deadlines[$1], $1) })
  }

  @Test func `a cancelled sleeper wakes with an error`() async throws {
    let clock = VirtualClock()
    let task = Task { try await clock.sleep(for: .seconds(10)) }
    await clock.sleepers(atLeast: 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.sleepers == 0)
    clock.advance(by: .seconds(20))
  }

  @Test func `a cancelled task does not go to sleep`() async throws {
    let clock = VirtualClock()
    let task = Task {
      // Cancelled before it comes to the clock.
      while !Task.isCancelled { await Task.yield() }
      try await clock.sleep(for: .seconds(10))
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `sleepers are neither lost nor woken twice while all move and cancel`() async throws {
    let clock = VirtualClock()
    let outcomes = Shared([0, 0])
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<400 {
        group.addTask {
          let task = Task { try await clock.sleep(for: .milliseconds(index % 20 + 1)) }
          if index % 3 == 0 { task.cancel() }
          let hasSlept = (try? await task.value) != nil
          outcomes.withLock { $0[hasSlept ? 0 : 1] += 1 }
        }
      }
      // Whoever sleeps anew is found by one of these.
      group.addTask {
        while outcomes.withLock({ $0[0] + $0[1] }) < 400 {
          clock.advance(by: .milliseconds(7))
          await Task.yield()
        }
      }
    }
    #expect(outcomes.withLock { $0[0] + $0[1] } == 400)
    #expect(outcomes.withLock { $0[0] } >= 266)
    #expect(clock.sleepers == 0)
  }

  @Test func `a wait for sleepers ends with the task`() async throws {
    let clock = VirtualClock()
    let task = Task { await clock.sleepers(atLeast: 1) }
    task.cancel()
    await task.value
    await clock.sleepers(atLeast: 0)
  }

  @Test func `a virtual clock goes from deadline to deadline`() async throws {
    let clock = VirtualClock()
    let ticks = Shared(0)
    let task = Task {
      for _ in 0..<3 {
        try await clock.sleep(for: .seconds(60))
        ticks.withLock { $0 += 1 }
      }
    }
    for tick in 1...3 {
      await clock.sleepers(atLeast: 1)
      #expect(ticks.withLock { $0 } == tick - 1)
      #expect(clock.advanceToNext())
    }
    try await task.value
    #expect(clock.now == VirtualClock.Instant(.seconds(180)))
    #expect(!clock.advanceToNext())
  }

  @Test func `a virtual clock serves wherever any clock is taken`() async throws {
    let virtual = VirtualClock()
    let clock: any Clock<Duration> = virtual
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    await virtual.sleepers(atLeast: 1)
    virtual.advance(by: .seconds(1))
    try await task.value
  }
}

// How much goes into a call, by how long the calls before took.

import Synchronization
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirDelivery
import WeirTesting

struct CallSizeTests {
  private let limit = Duration.seconds(16)

  @Test func `a call that timed out makes the next one a quarter, down to one event`() {
    var size = CallSize()
    #expect(size.most == nil)
    var sizes: [Int?] = []
    for _ in 0..<6 {
      size.timedOut(size.most ?? 1000)
      sizes.append(size.most)
    }
    #expect(sizes == [250, 62, 15, 3, 1, 1])
  }

  @Test func `the size stays as long as calls take more than a quarter of their time`() {
    var size = CallSize()
    size.timedOut(1000)
    for _ in 0..<1000 { size.succeeded(250, in: .seconds(5), of: limit) }
    #expect(size.most == 250)
    // Small ones tell nothing, however fast they are.
    for _ in 0..<1000 { size.succeeded(100, in: .zero, of: limit) }
    #expect(size.most == 250)
  }

  @Test func `the size grows back after several calls in a row that left time`() {
    var size = CallSize()
    size.timedOut(1000)
    for _ in 0..<3 { size.succeeded(250, in: .seconds(4), of: limit) }
    size.succeeded(250, in: .seconds(5), of: limit)
    for _ in 0..<3 { size.succeeded(250, in: .seconds(4), of: limit) }
    #expect(size.most == 250)
    size.succeeded(250, in: .seconds(4), of: limit)
    #expect(size.most == 500)
    for _ in 0..<4 { size.succeeded(500, in: .seconds(1), of: limit) }
    #expect(size.most == 1000)
    // What was too much went through.
    size.succeeded(1000, in: .seconds(15), of: limit)
    #expect(size.most == nil)
  }

  /// The calls until the size grew, each as large as it may be.
  private func callsUntilGrowth(_ size: inout CallSize) -> Int {
    let before = size.most
    for calls in 1...10_000 {
      size.succeeded(size.most ?? 0, in: .zero, of: limit)
      if size.most != before { return calls }
    }
    return .max
  }

  @Test func `growing takes twice as many calls each time that it led to a time-out`() {
    var size = CallSize()
    size.timedOut(1000)
    var calls: [Int] = []
    for _ in 0..<9 {
      calls.append(callsUntilGrowth(&size))
      calls.append(callsUntilGrowth(&size))
      size.timedOut(1000)
    }
    #expect(calls == [4, 4, 8, 8, 16, 16, 32, 32, 64, 64, 128, 128, 256, 256, 256, 256, 256, 256])
    // A provider that hung is another matter: there was no growth before.
    var hung = CallSize()
    for _ in 0..<5 { hung.timedOut(hung.most ?? 1000) }
    #expect(callsUntilGrowth(&hung) == 4)
  }

  @Test func `extreme sizes do not trap`() {
    var size = CallSize()
    size.timedOut(.max)
    for _ in 0..<100 { size.succeeded(size.most ?? 0, in: .zero, of: .zero) }
    #expect(size.most.map { $0 <= .max } ?? true)
    size.timedOut(0)
    #expect(size.most == 1)
    size.succeeded(.max, in: .seconds(Int64.max), of: .seconds(Int64.max))
    #expect(size.most == nil)
  }

  /// A link that takes a second for each event: what fits into 30 s goes, and what does not is not sent over and over.
  @Test func `a slow link gets what it can take`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let slow = SlowProvider(clock: stage.clock)
      try stage.capture(200)
      try stage.dispatcher.add(slow)
      #expect(await stage.run([slow], upTo: .seconds(100_000)) { stage.entry("slow").acknowledged == 200 })
      // 200 and 50 were too many; 12 take 12 s, which is more than a quarter of the time.
      #expect(slow.sizes.prefix(2) == [200, 50], "\(slow.sizes)")
      #expect(slow.sizes.dropFirst(2).allSatisfy { $0 <= 12 }, "\(slow.sizes)")
    }
  }

  @Test func `one event that takes too long comes again by itself`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(answers: [.hang, .hang, .hang])
      try stage.capture(4)
      try stage.dispatcher.add(provider)
      #expect(await stage.run([provider]) { provider.delivered.count == 4 })
      #expect(provider.callSizes == [4, 1, 1, 1, 1, 1, 1])
      #expect(provider.numbers == [0, 1, 2, 3])
    }
  }

  /// A call has no time for most of what it was given, again and again.
  @Test func `the events that a call did not come to are not waited for longer and longer`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let count = 60
      let provider = FirstOnly(each: 2)
      try stage.capture(count)
      try stage.dispatcher.add(provider)
      let begin = stage.clock.now
      #expect(await stage.run { stage.entry("first").acknowledged == UInt64(count) })
      // A quarter of a second and a look each time, and the last alone in its call.
      #expect(begin.duration(to: stage.clock.now) < .seconds(30))
    }
  }
}

/// Takes a second for each event.
private final class SlowProvider: WaitingProvider {
  let name = "slow"
  private let clock: VirtualClock
  private let inner: ScriptedProvider
  private let log = SizeLog()

  init(clock: VirtualClock) {
    self.clock = clock
    inner = ScriptedProvider(name: "slow", clock: clock)
  }

  var sizes: [Int] { log.sizes }
  var waiting: Int { inner.waiting }
  var timeLeft: Duration? { inner.timeLeft }

  func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    log.add(events.count)
    inner.then(.slow(.seconds(events.count), then: .accept))
    return try await inner.deliver(events)
  }
}

/// Takes the first events of a call, and has no time for the others.
private final class FirstOnly: Provider {
  let name = "first"
  private let each: Int

  init(each: Int) { self.each = each }

  func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    events.indices.map { $0 < each ? .accepted : .retry(after: .zero) }
  }
}

private final class SizeLog: Sendable {
  private let all = Mutex<[Int]>([])
  var sizes: [Int] { all.withLock { $0 } }
  func add(_ size: Int) { all.withLock { $0.append(size) } }
}

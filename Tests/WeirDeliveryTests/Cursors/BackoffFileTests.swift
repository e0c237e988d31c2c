// The wait after failures over restarts: what is kept, how long is waited, and that no clock makes the wait longer.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct BackoffFileTests {
  private static let noon: Int64 = 1_795_000_000_000_000_000

  private static func at(_ seconds: Int64) -> Timestamp {
    Timestamp(nanosecondsSince1970: noon + seconds * 1_000_000_000)
  }

  private func kept(_ wait: Duration, openFor: Duration? = nil) -> KeptBackoff {
    KeptBackoff(failures: 3, breakerFailures: 2, openFor: openFor, written: Self.at(0), wait: wait)
  }

  // MARK: The file

  @Test func `what is written is read`() throws {
    try withDirectory { directory in
      _ = try Cursor("p", of: directory)
      var file = try BackoffFile("p", of: directory, calls: SystemCalls())
      #expect(file.read() == nil)
      for openFor in [nil, Duration.seconds(20)] {
        try file.write(kept(.milliseconds(1500), openFor: openFor))
        #expect(
          try BackoffFile("p", of: directory, calls: SystemCalls()).read()
            == kept(.milliseconds(1500), openFor: openFor))
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/cursors") == ["p.backoff"])
      try file.remove()
      #expect(file.read() == nil)
      try file.remove()
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/cursors").isEmpty)
    }
  }

  @Test func `a file that is not whole counts as none`() {
    let whole = BackoffFile.bytes(of: kept(.seconds(5), openFor: .seconds(7)))
    #expect(whole.count == 56)
    #expect(BackoffFile.parse(whole) == kept(.seconds(5), openFor: .seconds(7)))
    for place in whole.indices {
      for mask in [0x01, 0x80, 0xff] as [UInt8] {
        var flipped = whole
        flipped[place] ^= mask
        #expect(BackoffFile.parse(flipped) == nil, "\(place)")
      }
      #expect(BackoffFile.parse(Array(whole[..<place])) == nil)
    }
    #expect(BackoffFile.parse(whole + [0]) == nil)
    #expect(BackoffFile.parse([]) == nil)
  }

  @Test func `extreme numbers are kept as far as they go`() throws {
    let extreme = KeptBackoff(
      failures: .max, breakerFailures: .max, openFor: .seconds(Int64.max),
      written: Timestamp(nanosecondsSince1970: .min),
      wait: .seconds(Int64.max))
    let read = try #require(BackoffFile.parse(BackoffFile.bytes(of: extreme)))
    #expect(read.failures == .max)
    #expect(read.wait == .nanoseconds(Int64.max))
    #expect(read.openFor == .nanoseconds(Int64.max))
  }

  @Test(arguments: [
    (0, 60), (1, 59), (59, 1), (60, 0), (61, 0), (1_000_000, 0), (-1, 60), (-1_000_000, 60),
  ])
  func `the wait ends at its time, and no clock makes it longer`(_ now: Int64, _ expected: Int) {
    #expect(kept(.seconds(60)).remaining(at: Self.at(now), DeliveryOptions.Backoff()) == .seconds(expected))
  }

  @Test func `the wait is at most the longest of the options`() {
    var backoff = DeliveryOptions.Backoff()
    backoff.most = .seconds(20)
    backoff.openFor = .seconds(10)
    #expect(kept(.seconds(60)).remaining(at: Self.at(0), backoff) == .seconds(20))
    #expect(kept(.seconds(60)).remaining(at: Self.at(-1), backoff) == .seconds(20))
    #expect(kept(.seconds(60)).remaining(at: Self.at(55), backoff) == .seconds(5))
    backoff.openFor = .seconds(30)
    #expect(kept(.seconds(60)).remaining(at: Self.at(0), backoff) == .seconds(30))
    for time in [Int64.min, .max] {
      let now = Timestamp(nanosecondsSince1970: time)
      #expect((Duration.zero ... .seconds(30)).contains(kept(.seconds(60)).remaining(at: now, backoff)))
    }
  }

  // MARK: Over restarts

  private func options(failures: Int = 5) -> DeliveryOptions {
    var options = DeliveryOptions()
    options.backoff.least = .seconds(10)
    options.backoff.most = .seconds(1000)
    options.backoff.failures = failures
    options.backoff.openFor = .seconds(40)
    options.backoff.probeEvents = 2
    return options
  }

  private func stage(_ tracker: Tracker, at seconds: Int64) throws -> DeliveryStage {
    try DeliveryStage(on: tracker) { $0.timeOfDay = { Self.at(seconds) } }
  }

  /// Delivers to a provider that fails so many times, is killed, and delivers to the provider again at another time.
  /// Returns how long the provider was left alone, and how many events the first call had.
  private func waited(
    _ directory: String, tries: Int, _ options: DeliveryOptions, restartAt seconds: Int64,
    _ change: (String) throws -> Void = { _ in }
  ) async throws -> (Duration, Int?) {
    let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
    let first = try stage(tracker, at: 0)
    let down = ScriptedProvider(finally: .fail("down"))
    try first.capture(5)
    try first.dispatcher.add(down, options: options)
    #expect(
      await first.run {
        down.callSizes.count == tries && first.entry().state != .running && first.entry().error != nil
      })
    _ = await first.rest([down])
    await first.kill()
    _ = first.dispatcher.close()
    try change(directory + "/cursors/scripted.backoff")

    let second = try stage(tracker, at: seconds)
    let up = ScriptedProvider()
    try second.dispatcher.add(up, options: options)
    #expect(await second.run { up.delivered.count == 5 })
    _ = await second.rest([up])
    let start = VirtualClock.Instant()
    // A success is the end of it.
    #expect(await second.run { !FileManager.default.fileExists(atPath: directory + "/cursors/scripted.backoff") })
    let took = start.duration(to: second.clock.now)
    await second.kill()
    _ = second.dispatcher.close()
    return (took, up.callSizes.first)
  }

  @Test(arguments: [(1, 0, 5), (1, 2, 3), (1, 5, 0), (1, -3600, 5), (2, 0, 10), (3, 0, 20), (3, 1_000_000, 0)])
  func `a restart goes on with the wait`(_ tries: Int, _ restart: Int64, _ expected: Int) async throws {
    try await withDirectoryAsync { directory in
      let (took, _) = try await waited(directory, tries: tries, options(), restartAt: restart)
      // Half of the bound, as the random source here draws. The looks at the log take time by themselves.
      #expect((Duration.seconds(expected)..<Duration.seconds(expected + 1)).contains(took), "\(took)")
    }
  }

  @Test func `an open breaker stays open, and the next call is a probe`() async throws {
    try await withDirectoryAsync { directory in
      let (took, size) = try await waited(directory, tries: 2, options(failures: 2), restartAt: 10)
      #expect((Duration.seconds(30)..<Duration.seconds(31)).contains(took), "\(took)")
      #expect(size == 2)
    }
  }

  @Test func `without the file, or with a damaged one, the provider is tried at once`() async throws {
    for damage in [nil, Data(), Data(repeating: 7, count: 56)] {
      try await withDirectoryAsync { directory in
        let (took, _) = try await waited(directory, tries: 3, options(), restartAt: 0) { path in
          #expect(FileManager.default.fileExists(atPath: path))
          try FileManager.default.removeItem(atPath: path)
          try damage?.write(to: URL(filePath: path))
        }
        #expect(took < .seconds(1), "\(took)")
      }
    }
  }

  @Test func `a call in which the process dies counts as failed, after another failure`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let first = try stage(tracker, at: 0)
      let provider = ScriptedProvider(answers: [.fail("down")], finally: .hang)
      try first.capture(1)
      try first.dispatcher.add(provider, options: options())
      #expect(await first.run([provider]) { provider.callSizes.count == 2 })
      let kept = try #require(try BackoffFile("scripted", of: directory, calls: SystemCalls()).read())
      #expect(kept.failures == 2)
      #expect(kept.wait == .seconds(10))
      await first.kill()
      _ = first.dispatcher.close()
    }
  }

  @Test func `a provider that is removed waits for nothing`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let stage = try stage(tracker, at: 0)
      try stage.capture(1)
      try stage.dispatcher.add(ScriptedProvider(finally: .fail("down")), options: options())
      #expect(await stage.run { stage.entry().state == .backingOff })
      try await stage.running { try? await stage.dispatcher.remove("scripted") }
      #expect(!FileManager.default.fileExists(atPath: directory + "/cursors/scripted.backoff"))
      await stage.kill()
    }
  }
}

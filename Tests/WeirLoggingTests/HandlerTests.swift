// What a handler does beside storing lines: many threads, a log that refuses lines, lines within lines, a kill.

import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import Weir
import WeirLogging

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

struct HandlerTests {
  @Test func `many threads lose no line`() throws {
    let threads = 8
    let each = 2000
    let captured = try lines(configuration: quiet { $0.whenFull = .block }) { tracker in
      let shared = logger(tracker, metadata: ["process": "1"])
      onThreads(threads) { thread in
        var logger = shared
        logger[metadataKey: "thread"] = .stringConvertible(thread)
        for number in 0..<each { logger.info("text", metadata: ["number": .stringConvertible(number)]) }
      }
      #expect(tracker.counters.accepted == UInt64(threads * each))
    }
    var counts: [FieldValue: Set<FieldValue>] = [:]
    for event in captured {
      #expect(event.fields["process"] == "1")
      counts[try #require(event.fields["thread"]), default: []].insert(try #require(event.fields["number"]))
    }
    #expect(counts.count == threads)
    #expect(counts.values.allSatisfy { $0.count == each })
  }

  @Test func `lines of a closed log are counted and go nowhere`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let logger = logger(tracker)
      logger.info("before")
      try tracker.close()
      for _ in 0..<10 { logger.info("after", metadata: ["key": "value"]) }
      logger.info("after", metadata: ["key": "\("value", sensitivity: .sensitive)"])
      logger.error("after", error: CancellationError())
      #expect(tracker.counters.dropped[.closed] == 12)
      #expect(try EventReader(directory: directory).all().map { $0.fields["message"] } == ["before"])
    }
  }

  @Test func `lines of a full lane are refused and counted`() throws {
    let configuration = quiet {
      $0.laneBytes = 1 << 18
      $0.drainInterval = .seconds(10)
      $0.byteLimit = 12 << 20
    }
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: configuration)
      let logger = logger(tracker)
      let text = String(repeating: "m", count: 60_000)
      var logged: UInt64 = 0
      while tracker.counters.dropped.isEmpty, logged < 1000 {
        logger.info("\(text)")
        logged += 1
      }
      let counters = tracker.counters
      #expect(!counters.dropped.isEmpty)
      #expect(counters.accepted + counters.dropped.values.reduce(0, +) == logged)
    }
  }

  @Test func `lines of Weir itself are not captured`() throws {
    let captured = try lines { tracker in
      for label in ["weir", "weir.delivery"] { logger(tracker, label: label).info("of \(label)") }
      for label in ["weird", "my.weir", "Weir", ""] { logger(tracker, label: label).info("of \(label)") }
      #expect(tracker.counters.accepted == 4)
    }
    #expect(captured.map { $0.fields["label"] } == ["weird", "my.weir", "Weir", ""])
  }

  @Test func `a tracker that logs into itself warns of refusals once at most`() throws {
    try withDirectory { directory in
      // A logger whose tracker is known only once the log is open.
      let late = LateHandler()
      let tracker = try Tracker(
        directory: directory,
        configuration: quiet {
          $0.maximumEventBytes = 1024
          $0.logger = Logger(label: "shop.events") { _ in late }
        })
      late.inner.withLock { $0 = WeirLogHandler(label: "shop.events", tracker: tracker) }
      #expect(
        tracker.track("large", fields: ["text": .string(String(repeating: "x", count: 2000))]) == .dropped(.tooLarge))
      try tracker.close()
      // The warning was captured, or came after the close and was refused; in no case was there another one.
      #expect(late.count.load(ordering: .relaxed) <= 1)
      #expect(tracker.counters.dropped[.tooLarge] == 1)
      late.inner.withLock { $0 = nil }
    }
  }

  /// A value whose description logs.
  private struct Talkative: CustomStringConvertible, Sendable {
    let logger: Logger
    var description: String {
      logger.info("inner", metadata: ["key": "value"])
      return "described"
    }
  }

  @Test func `descriptions may log`() throws {
    let captured = try lines { tracker in
      let logger = logger(tracker)
      logger.info("outer", metadata: ["key": .stringConvertible(Talkative(logger: logger))])
    }
    #expect(captured.map { $0.fields["message"] } == ["inner", "outer"])
    #expect(captured.map { $0.fields["key"] } == ["value", "described"])
  }

  @Test func `a multiplexed line goes to each tracker`() throws {
    let second = try lines { tracker in
      let first = try lines { other in
        let logger = Logger(label: "shop") { label in
          MultiplexLogHandler([
            WeirLogHandler(label: label, tracker: tracker), WeirLogHandler(label: label, tracker: other),
          ])
        }
        logger.info("both", metadata: ["key": "value"])
      }
      #expect(first.map { $0.fields["message"] } == ["both"])
    }
    #expect(second.map { $0.fields["key"] } == ["value"])
  }

  @Test func `a forked child's lines are refused`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let logger = logger(tracker)
      logger.info("parent")
      #expect(
        try await isTrueInChild {
          logger.info("child")
          return tracker.counters.dropped[.detached] == 1
        })
      logger.info("parent")
      #expect(try tracker.events().map { $0.fields["message"] } == ["parent", "parent"])
    }
  }

  // MARK: Kills

  /// Where parent and child meet, for the child's code can't be given anything.
  private static func directory(of process: pid_t) -> String {
    FileManager.default.temporaryDirectory.appending(path: "weir-logging-\(process)").path
  }

  @Test func `bootstrapped lines survive a kill`() async throws {
    let directory = Self.directory(of: getpid())
    defer { try? FileManager.default.removeItem(atPath: directory) }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      // Nothing is drained by itself: what is not drained by hand stays in the lanes.
      let tracker = try Tracker(
        directory: Self.directory(of: getppid()), configuration: quiet { $0.drainInterval = .seconds(10) })
      LoggingSystem.bootstrap(
        { WeirLogHandler(label: $0, tracker: tracker, metadataProvider: $1) },
        metadataProvider: Logger.MetadataProvider { ["trace-id": "4bf9"] })
      let logger = Logger(label: "shop")
      for number in 0..<500 { logger.info("line", metadata: ["number": .stringConvertible(number)]) }
      try tracker.drain()
      for number in 500..<1000 { logger.info("line", metadata: ["number": .stringConvertible(number)]) }
      logger.error("last", metadata: ["mail": "\("a@b.example", sensitivity: .sensitive)"])
      kill(getpid(), SIGKILL)
    }

    let read = try EventReader(directory: directory).all()
    try #require(read.count == 1001)
    for (number, event) in read.prefix(1000).enumerated() {
      #expect(event.name == "log.line")
      #expect(event.fields["number"] == .int(Int64(number)))
      #expect(event.fields["trace-id"] == "4bf9")
      #expect(event.fields["label"] == "shop")
    }
    let last = read[1000]
    #expect(last.fields["level"] == "error")
    #expect(last.fields["mail"] == "a@b.example")
    #expect(last.redacted().fields["mail"] == .redacted)

    // The next opening recovers each line, and the next process defines the types again.
    let tracker = try Tracker(directory: directory, configuration: quiet())
    #expect(!tracker.recovery.wasClean)
    logger(tracker).info("after", metadata: ["mail": "\("c@d.example", sensitivity: .sensitive)"])
    let recovered = try tracker.events()
    #expect(Array(recovered.prefix(1001)) == read)
    #expect(recovered.last?.redacted().fields["mail"] == .redacted)
    try tracker.close()
  }
}

/// A handler whose place is taken later.
private final class LateHandler: LogHandler, Sendable {
  let inner = Mutex<WeirLogHandler?>(nil)
  let count = Atomic<Int>(0)

  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .trace }
    set {}
  }
  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }
  func log(event: LogEvent) {
    guard let handler = inner.withLock({ $0 }) else { return }
    count.add(1, ordering: .relaxed)
    handler.log(event: event)
  }
}

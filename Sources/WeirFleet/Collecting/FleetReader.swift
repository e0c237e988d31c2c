// FleetReader: reads the parts of many logs from a broker into one log, until told to stop.

import Synchronization
package import Weir
import WeirDelivery

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Reads a broker's messages into a log: opens both, takes what comes, commits, and begins again after an error of either
/// side. ``run(until:)`` belongs to one thread; the report is for any.
package final class FleetReader: Sendable {
  /// Options of a reader.
  package struct Configuration: Sendable {
    /// The log's bounds.
    package var log = Tracker.Configuration()
    package var limits = FleetCollector.Limits()
    /// How long an event waits until readers of the log see it, with one sending log. More logs wait longer: see
    /// ``FleetReader/wait(_:)``.
    package var commitInterval = Duration.seconds(1)

    package init() {}
  }

  /// How a reader is doing.
  package struct Report: Sendable {
    package var counts = FleetCollector.Counts()
    /// Where the first message was that is no part, or damaged, and what is wrong with it.
    package var firstUnreadable: String?
    /// Messages that the broker had removed before they were read.
    package var gone: UInt64 = 0
    /// Messages that the broker has, and that were not read.
    package var behind: UInt64?
    /// Why nothing is read at present; `nil` if all is well.
    package var trouble: String?
    /// Whether a person must repair that.
    package var needsRepair = false
    /// The offset after the last event in the log.
    package var end: Offset = 0
    /// The logs whose parts came.
    package var logs = 0
    /// What is missing, by log: at most ``mostGaps`` of them.
    package var gaps: [Gap] = []
    /// The number of offsets that are missing in all.
    package var missing: UInt64 = 0
    /// Whether everything that the broker has is in the log.
    package var isAtEnd = false

    package init() {}
  }

  /// Offsets of a host's log that have not come.
  package struct Gap: Hashable, Sendable {
    package var host: String
    /// The log's id, in 16 hexadecimal digits.
    package var log: String
    package var offsets: Range<Offset>
  }

  /// A report names so many gaps.
  private static let mostGaps = 1_000

  /// So many bytes at most wait for a commit.
  private static let mostUncommitted = 32 << 20
  /// Segments stay until a summary has what they say. So a summary comes each time after this share of the log's limit,
  /// and parts that wait take no more than twice the share.
  private static let shareOfLimit = 8
  private static let waitOfLog = Duration.milliseconds(20)
  private static let longestWait = Duration.seconds(30)
  private static let summaryInterval = Duration.seconds(60)
  /// How often the parts that wait are looked at.
  private static let lookInterval = Duration.milliseconds(200)
  /// The pauses before what failed is tried again.
  private static let pause = (least: Duration.milliseconds(250), most: Duration.seconds(10))

  private let directory: String
  private let configuration: Configuration
  private let shared = Mutex(Report())
  private let lastStatus = Mutex(FleetStatus())

  package init(directory: String, configuration: Configuration = Configuration()) {
    self.directory = directory
    self.configuration = configuration
  }

  package var report: Report { shared.withLock { $0 } }

  /// How each log is doing, as of the last second.
  var status: FleetStatus { lastStatus.withLock { $0 } }

  /// How long events of so many logs wait for a commit: each commit brings many files to the disk.
  private func wait(_ logs: Int) -> Duration {
    min(configuration.commitInterval + Self.waitOfLog * max(logs - 1, 0), Self.longestWait)
  }

  /// Reads until `isOver` is true. Throws an error of the log if the log can't be opened at the start.
  package func run(_ source: any MessageSource, until isOver: () -> Bool) throws(WeirError) {
    var collector: FleetCollector? = try open(source)
    var pause = Self.pause.least
    while !isOver() {
      do {
        let opened = try collector ?? open(source)
        collector = opened
        try source.open { opened.readPlace(of: $0) }
        try read(source, opened, until: isOver) {
          pause = Self.pause.least
          note { ($0.trouble, $0.needsRepair) = (nil, false) }
        }
      } catch let stop as DeliveryStopped {
        note { ($0.trouble, $0.needsRepair) = (stop.reason, true) }
        if let collector { writeStatus(collector, behind: source.behind) }
      } catch let error as WeirError {
        // What was not committed comes again.
        collector = nil
        note { ($0.trouble, $0.needsRepair) = (error.message, false) }
      } catch {
        note { ($0.trouble, $0.needsRepair) = ("\(error)", false) }
        if let collector { writeStatus(collector, behind: source.behind) }
      }
      source.close()
      let end = Self.now + pause
      while !isOver(), Self.now < end { usleep(20_000) }
      pause = min(pause * 2, Self.pause.most)
    }
    guard let collector else { return }
    try collector.commit()
    try collector.summarize()
    noteGaps(collector.state)
    writeStatus(collector, behind: nil)
    publish(collector, behind: nil)
  }

  /// So many bytes at most are committed without a summary.
  private var mostUnsummarized: Int { configuration.log.byteLimit.map { $0 / Self.shareOfLimit } ?? .max }

  private func open(_ source: any MessageSource) throws(WeirError) -> FleetCollector {
    var limits = configuration.limits
    limits.settlingTime = source.settlingTime
    limits.heldBytes = min(limits.heldBytes, mostUnsummarized > .max / 2 ? .max : mostUnsummarized * 2)
    return try FleetCollector(directory: directory, configuration: configuration.log, limits: limits)
  }

  private func read(
    _ source: any MessageSource, _ collector: FleetCollector, until isOver: () -> Bool, progress: () -> Void
  ) throws {
    var (nextLook, nextSummary) = (Self.now + Self.lookInterval, Self.now + Self.summaryInterval)
    var nextStatus = Self.now
    while !isOver() {
      let now = Self.now
      if collector.isUncommitted,
        now >= collector.uncommittedSince + wait(collector.uncommittedOpenings)
          || collector.uncommittedBytes >= min(Self.mostUncommitted, mostUnsummarized)
      {
        try noteDelivered(collector)
        // What was read again after a kill would be kept as a repetition.
        let isSummarized =
          configuration.limits.keepsRepetitions
          || collector.unsummarizedBytes + collector.uncommittedBytes >= mostUnsummarized
        if isSummarized { try collector.summarize() } else { try collector.commit() }
        progress()
        publish(collector, behind: source.behind)
      }
      if now >= nextSummary {
        try summarize(collector)
        nextSummary = now + Self.summaryInterval
      }
      if now >= nextStatus {
        let before = Self.processorTime
        writeStatus(collector, behind: source.behind)
        // Of many logs the file is large. It takes at most a hundredth of the time; a busy machine's delays do not count.
        nextStatus = Self.now + max(.seconds(1), (Self.processorTime - before) * 100)
      }
      if now >= nextLook {
        try collector.look(at: now)
        publish(collector, behind: source.behind)
        nextLook = now + Self.lookInterval
      }
      switch try source.next(within: Self.lookInterval) {
      case .message(let message):
        try collector.take(
          headers: message.headers, bytes: message.body, source: message.source, position: message.position,
          time: message.time, at: now)
      case .gone(let source, let positions):
        let unread = collector.passOver(positions, of: source)
        note { $0.gone += unread }
      case .restarted(let source, let position): collector.restart(source, at: position)
      case .nothing: if !collector.isUncommitted { progress() }
      }
    }
  }

  private func summarize(_ collector: FleetCollector) throws(WeirError) {
    try collector.summarize()
    noteGaps(collector.state)
  }

  /// Lets the next commit remove what every provider of the log has.
  private func noteDelivered(_ collector: FleetCollector) throws(WeirError) {
    guard configuration.log.removeDelivered, let least = try Pins(collector.directory, calls: SystemCalls()).least
    else { return }
    collector.delivered(below: least)
  }

  private func publish(_ collector: FleetCollector, behind: UInt64?) {
    note { report in
      report.counts = collector.counts
      report.end = collector.end
      report.firstUnreadable = collector.firstUnreadable
      report.behind = behind
      report.logs = collector.state.logs.count
      report.isAtEnd = behind == 0 && !collector.isUncommitted && !collector.isWaiting
    }
  }

  /// Writes the status file. Collecting goes on if the file can't be written.
  private func writeStatus(_ collector: FleetCollector, behind: UInt64?) {
    var status = collector.status
    status.behind = behind
    status.trouble = report.trouble
    lastStatus.withLock { [status] in $0 = status }
    try? status.write(in: collector.directory)
  }

  private func noteGaps(_ state: FleetState) {
    var (gaps, missing): ([Gap], UInt64) = ([], 0)
    for (id, log) in state.logs.sorted(by: { ($0.value.host, $0.key) < ($1.value.host, $1.key) }) {
      for offsets in state.missing(ofLog: id) {
        missing += UInt64(offsets.count)
        if gaps.count < Self.mostGaps {
          gaps.append(Gap(host: log.host, log: PartMessage.digits(id), offsets: offsets))
        }
      }
    }
    note { [gaps, missing] in ($0.gaps, $0.missing) = (gaps, missing) }
  }

  private func note(_ change: (inout Report) -> Void) { shared.withLock { change(&$0) } }

  /// What this thread has used.
  private static var processorTime: Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  private static var now: Duration { .nanoseconds(Int64(clamping: MonotonicTime.now.nanoseconds)) }
}

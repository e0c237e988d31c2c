// RefusalWatch: warns in the program's log that captures are refused, at a limited rate.

import Logging

/// Decides what to report about refused captures, and when. A pure value.
struct RefusalReport: Sendable {
  /// One reason, and the number of captures refused for that reason.
  struct Line: Hashable, Sendable {
    var reason: DropReason
    /// Refusals since the last report of this reason.
    var count: UInt64
    /// Refusals since the log was opened.
    var total: UInt64
  }

  /// The minimum time between two reports of one reason.
  static let interval = Duration.seconds(10)

  /// The reported total of each reason, and the time of the report.
  private var told: [DropReason: (total: UInt64, time: Duration)] = [:]

  /// Returns the lines to report now: one for each reason that occurred again and was not reported within the last
  /// interval. `dropped` holds the counts since the opening. The last look reports every reason, because no look
  /// follows.
  mutating func look(_ dropped: [DropReason: UInt64], at now: Duration, isLast: Bool = false) -> [Line] {
    var lines: [Line] = []
    for reason in DropReason.tellable {
      let total = dropped[reason] ?? 0
      let last = told[reason]
      // A lower total: the counts are being taken out of a log that is closing.
      guard total > last?.total ?? 0 else { continue }
      if !isLast, let last, now - last.time < Self.interval { continue }
      lines.append(Line(reason: reason, count: total - (last?.total ?? 0), total: total))
      told[reason] = (total, now)
    }
    return lines
  }

  /// The earliest time at which a reported reason may be reported again; `nil` if all of them may.
  func nextLook(after now: Duration) -> Duration? {
    told.values.map { $0.time + Self.interval }.filter { $0 > now }.min()
  }
}

extension DropReason {
  /// The reasons that mean that something is wrong.
  fileprivate static let tellable: [DropReason] = [.full, .noLane, .tooLarge, .storage, .invalid]

  fileprivate func remedy(_ storage: WeirError.Code?) -> String {
    switch self {
    case .full: "the disk can't keep up; raise laneBytes or overflowBytes, or let captures wait (whenFull)"
    case .noLane: "more threads capture at once than there are lanes; raise laneCount"
    case .tooLarge: "the events are larger than maximumEventBytes; capture less in an event, or raise the limit"
    case .storage where storage == .io:
      "the log's files can't be written, or were truncated (io); drain() throws the error; close and reopen the log"
    case .storage:
      "the log can't grow (\(storage?.rawValue ?? "it can again")); free space on the disk, or raise byteLimit"
    default:
      "the events don't match their declarations; see lastDefinitionError and the error logged before"
    }
  }
}

/// Warns a tracker's logger of refused captures: when a reason first occurs, and then at most every 10 s.
///
/// Captures do no work for these reports, and no thread wakes up while nothing is refused. A refusal wakes the draining
/// thread anyway, and that thread reads the counts. A task writes the log lines, because the host's log handler may be
/// slow. After a report, the task looks again once the interval has passed.
package final class RefusalWatch: Sendable {
  private struct State: Sendable {
    /// `nil` once the log is closed. Used only with the lock held.
    nonisolated(unsafe) var log: LogHandle?
    var report = RefusalReport()
    /// Whether a task is going to look again.
    var isFollowed = false
  }

  private let state: ProcessLock<State>
  private let directory: String
  private let logger: Logger
  private let clock: DeliveryClock

  init(_ log: LogHandle, directory: String, logger: Logger, clock: any Clock<Duration>) {
    state = ProcessLock(State(log: log))
    self.directory = directory
    self.logger = logger
    self.clock = DeliveryClock(clock)
  }

  /// Reports new refusals. Called on the thread that drains the log.
  func ring() {
    let news = look { state, now -> Duration? in
      guard !state.isFollowed, let time = state.report.nextLook(after: now) else { return nil }
      state.isFollowed = true
      return time
    }
    guard let news, !news.lines.isEmpty || news.next != nil else { return }
    Task(priority: .utility) {
      self.tell(news.lines, news.storage)
      if let next = news.next { await self.follow(from: next) }
    }
  }

  /// Reports what is not yet reported. Called when the log is closed, and before the log is freed.
  func finish() {
    let now = clock.now
    let last = state.withLock { state -> (lines: [RefusalReport.Line], storage: WeirError.Code?)? in
      guard let counters = state.log?.counters() else { return nil }
      state.log = nil
      return (state.report.look(counters.dropped, at: now, isLast: true), counters.storage)
    }
    if let last = last ?? nil { tell(last.lines, last.storage) }
  }

  /// Looks again after each interval in which something was reported.
  private func follow(from time: Duration) async {
    var time = time
    while true {
      do { try await clock.sleep(until: time) } catch { return }
      let news = look { state, now -> Duration? in
        let next = state.report.nextLook(after: now)
        state.isFollowed = next != nil
        return next
      }
      guard let news else { return }
      tell(news.lines, news.storage)
      guard let next = news.next else { return }
      time = next
    }
  }

  private typealias News = (lines: [RefusalReport.Line], next: Duration?, storage: WeirError.Code?)

  /// Reads the counts; returns `nil` once the log is closed.
  private func look(_ next: (inout State, Duration) -> Duration?) -> News? {
    let now = clock.now
    let news = state.withLock { state -> News? in
      guard let counters = state.log?.counters() else { return nil }
      let lines = state.report.look(counters.dropped, at: now)
      return (lines, next(&state, now), counters.storage)
    }
    return news ?? nil
  }

  private func tell(_ lines: [RefusalReport.Line], _ storage: WeirError.Code?) {
    for line in lines {
      let since = line.count == line.total ? "" : " more, \(line.total) since the log was opened"
      logger.warning(
        "events are refused (\(line.reason)), \(line.count)\(since), in \(directory): \(line.reason.remedy(storage))",
        metadata: ["reason": "\(line.reason)", "count": "\(line.count)", "total": "\(line.total)"])
    }
  }
}

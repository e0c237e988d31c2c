// RefusalWatch: says in the program's log that captures are refused, while it happens and not at every one.

import Logging

/// What is to be said about refused captures, and when. A pure value.
struct RefusalReport: Sendable {
  /// One reason, and how many captures were refused for it.
  struct Line: Hashable, Sendable {
    var reason: DropReason
    /// Since it was last told of.
    var count: UInt64
    /// Since the log was opened.
    var total: UInt64
  }

  /// At most so often one reason is told of.
  static let interval = Duration.seconds(10)

  /// The total that was told of, and when.
  private var told: [DropReason: (total: UInt64, time: Duration)] = [:]

  /// What is to be said now: of each reason that occurred anew, if it was not told of in the last interval. `dropped`
  /// are the counts since the opening. After the last look nothing more is said, so that one keeps nothing back.
  mutating func look(_ dropped: [DropReason: UInt64], at now: Duration, isLast: Bool = false) -> [Line] {
    var lines: [Line] = []
    for reason in DropReason.tellable {
      let total = dropped[reason] ?? 0
      let last = told[reason]
      // Less than before: the counts are just being taken out of a log that closes.
      guard total > last?.total ?? 0 else { continue }
      if !isLast, let last, now - last.time < Self.interval { continue }
      lines.append(Line(reason: reason, count: total - (last?.total ?? 0), total: total))
      told[reason] = (total, now)
    }
    return lines
  }

  /// When the next of the reasons that were told of may be told of again; nil if all of them may.
  func nextLook(after now: Duration) -> Duration? {
    told.values.map { $0.time + Self.interval }.filter { $0 > now }.min()
  }
}

extension DropReason {
  /// The reasons that something is wrong for.
  fileprivate static let tellable: [DropReason] = [.full, .noLane, .tooLarge, .storage, .invalid]

  fileprivate func remedy(_ storage: WeirError.Code?) -> String {
    switch self {
    case .full: "the disk does not keep up; make laneBytes larger, or let captures wait (whenFull)"
    case .noLane: "more threads capture at once than there are lanes; raise laneCount"
    case .tooLarge: "they are larger than maximumEventBytes; capture less in one event, or raise that"
    case .storage where storage == .io:
      "the log's files can't be written, or were cut short (io); drain() says more; close the log and open it again"
    case .storage:
      "the log can't grow (\(storage?.rawValue ?? "it can again")); make room on the disk, or raise byteLimit"
    default:
      "they do not agree with their declaration; lastDefinitionError, and an error logged before, say how"
    }
  }
}

/// Tells a tracker's logger of refused captures: when a reason first occurs, and at most each 10 s after that.
///
/// Captures know nothing of it, nor does any thread wake up for it while nothing is refused. The thread that drains the
/// lanes, which a refusal wakes anyway, looks at the counts; what there is to say is said by a task, for a handler of the
/// host's may take its time. Where something was said, the task looks again once more may be said.
package final class RefusalWatch: Sendable {
  private struct State: Sendable {
    /// Until the log is closed. Only used with the lock held.
    nonisolated(unsafe) var log: LogHandle?
    var report = RefusalReport()
    /// A task looks again.
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

  /// Captures were refused. Called on the thread that drains the log.
  func ring() {
    let news = look { state, now -> Duration? in
      guard !state.isFollowed, let time = state.report.nextLook(after: now) else { return nil }
      state.isFollowed = true
      return time
    }
    guard let news, !news.lines.isEmpty || news.next != nil else { return }
    Task.detached(priority: .utility) {
      self.tell(news.lines, news.storage)
      if let next = news.next { await self.follow(from: next) }
    }
  }

  /// The log is closed, or about to be freed: says what was not said yet.
  func finish() {
    let now = clock.now
    let last = state.withLock { state -> (lines: [RefusalReport.Line], storage: WeirError.Code?)? in
      guard let counters = state.log?.counters() else { return nil }
      state.log = nil
      return (state.report.look(counters.dropped, at: now, isLast: true), counters.storage)
    }
    if let last = last ?? nil { tell(last.lines, last.storage) }
  }

  /// Looks again as long as something was said in the interval before.
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

  /// Looks at the counts; nil once the log is closed.
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

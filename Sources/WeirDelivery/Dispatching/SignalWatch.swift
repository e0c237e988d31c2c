// SignalWatch: checks for signals that no event brings: the log fills up, or the process resumes after a suspension.

import Weir

/// The signals of one worker. Belongs to the worker.
struct SignalWatch {
  /// Looks up the log's size on disk this often. A look-up takes some milliseconds.
  private static let sizingPause = Duration.seconds(1)

  private let log: DeliveredLog
  private let triggers: FlushPolicy.Triggers
  private let pause: Duration
  private let clocks: (@Sendable () -> ResumeWatch.Clocks)?
  private var overflow: OverflowWatch
  private var resume: ResumeWatch?
  private var usedBytes: UInt64 = 0
  private var nextSizing = Duration.zero
  /// The time of the next check; `nil` if there is nothing to check.
  private(set) var nextLook: Duration?

  init(_ orders: WorkerOrders) {
    log = orders.log
    triggers = orders.options.flush.triggers
    pause = orders.configuration.lastPause
    clocks = triggers.contains(.resume) ? orders.configuration.machineClocks : nil
    overflow = OverflowWatch(
      threshold: orders.options.flush.overflowThreshold, byteLimit: orders.log.byteLimit,
      refused: orders.log.counters?.refusedForRoom ?? 0)
    resume = clocks.map { ResumeWatch($0()) }
    // Beside another process, only the files show the size, and reading them costs too much.
    if clocks != nil || triggers.contains(.overflow) && log.counters != nil { nextLook = .zero }
  }

  /// Checks, if it is time to check.
  mutating func look(at now: Duration) -> FlushPolicy.Triggers {
    guard let time = nextLook, now >= time else { return [] }
    nextLook = now + pause
    guard triggers.contains(.overflow), let counters = log.counters else { return [] }
    if log.byteLimit != nil, now >= nextSizing {
      usedBytes = (try? LogDirectory(log.directory).statistics().totalBytes) ?? usedBytes
      nextSizing = now + Self.sizingPause
    }
    return overflow.look(usedBytes: usedBytes, refused: counters.refusedForRoom) ? .overflow : []
  }

  /// Called before the worker sleeps. If this returns a signal, the worker must not sleep.
  mutating func sleeps() -> FlushPolicy.Triggers {
    guard let clocks else { return [] }
    return resume?.sleeps(clocks()) == true ? .resume : []
  }

  /// Called after the worker woke. `meant` is the maximum duration of the sleep; `nil` without a limit.
  mutating func woke(meant: Duration?) -> FlushPolicy.Triggers {
    guard let clocks else { return [] }
    // A sleep without a limit shows only a suspension of the machine.
    return resume?.woke(clocks(), meant: meant ?? .seconds(Int64.max)) == true ? .resume : []
  }
}

extension Dispatcher.Configuration {
  /// The clocks that show whether the process was suspended. `nil` if a test controls the time: then the proper
  /// duration of a sleep is unknown.
  var machineClocks: (@Sendable () -> ResumeWatch.Clocks)? {
    if let resumeClocks { return resumeClocks }
    guard clock is ContinuousClock || clock is SuspendingClock else { return nil }
    return { ResumeWatch.Clocks.now }
  }
}

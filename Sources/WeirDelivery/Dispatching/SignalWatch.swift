// SignalWatch: what a worker looks at, now and then, for signals that no event brings: the log fills up, the process
// goes on after it stood still.

import Weir

/// Belongs to the worker of one provider.
struct SignalWatch {
  /// So often what the log takes on the disk is looked up, which takes some milliseconds: no faster than a log fills.
  private static let sizingPause = Duration.seconds(1)

  private let log: DeliveredLog
  private let triggers: FlushPolicy.Triggers
  private let pause: Duration
  private let clocks: (@Sendable () -> ResumeWatch.Clocks)?
  private var overflow: OverflowWatch
  private var resume: ResumeWatch?
  private var usedBytes: UInt64 = 0
  private var nextSizing = Duration.zero
  /// When to look again; nil if there is nothing to look for.
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
    // Beside another's process only the files tell, and a look at them costs too much.
    if clocks != nil || triggers.contains(.overflow) && log.counters != nil { nextLook = .zero }
  }

  /// Looks, if it is time to.
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

  /// The worker is about to sleep. If this answers a signal, it has something to do before.
  mutating func sleeps() -> FlushPolicy.Triggers {
    guard let clocks else { return [] }
    return resume?.sleeps(clocks()) == true ? .resume : []
  }

  /// The worker woke, from a sleep that was to take so long at most; nil for no limit.
  mutating func woke(meant: Duration?) -> FlushPolicy.Triggers {
    guard let clocks else { return [] }
    // A sleep without a limit tells only of a machine that was suspended.
    return resume?.woke(clocks(), meant: meant ?? .seconds(Int64.max)) == true ? .resume : []
  }
}

extension Dispatcher.Configuration {
  /// The clocks that tell whether the process stood still; nil where time is somebody else's: of a clock that a test
  /// moves nobody knows how long a sleep should take.
  var machineClocks: (@Sendable () -> ResumeWatch.Clocks)? {
    if let resumeClocks { return resumeClocks }
    guard clock is ContinuousClock || clock is SuspendingClock else { return nil }
    return { ResumeWatch.Clocks.now }
  }
}

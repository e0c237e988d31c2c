// TrackerMetrics: what a tracker refuses, as metrics of swift-metrics.

#if Metrics
  public import Metrics
  public import Weir

  /// Publishes through swift-metrics how many events a tracker refuses.
  ///
  /// ```swift
  /// let metrics = TrackerMetrics(tracker)
  /// Task { try await metrics.run(every: .seconds(10)) }
  /// ```
  ///
  /// | counter | counts |
  /// |---|---|
  /// | `weir_refused_total` | captures that were refused, since the tracker opened its log |
  ///
  /// The dimension `reason` is that of the receipts: `full`, `no_lane`, `too_large`, `storage`, `invalid`, and `closed`
  /// after the tracker's end. Each is there from the first update on, so that an alert can be made of it. What
  /// ``Tracker/Configuration/sampling`` leaves out is not refused. ``LedgerMetrics`` has what was accepted.
  ///
  /// Every call may be made from any thread or task; updates wait for each other. One costs some microseconds.
  public final class TrackerMetrics: Sendable {
    private static let reasons: [DropReason] = [.full, .noLane, .tooLarge, .storage, .invalid, .closed]

    private let tracker: Tracker
    private let counters: [DropReason: Counter]
    private let published = Lock<[DropReason: UInt64]>([:])

    /// Metrics of this tracker, which is kept, through `factory`: the system's unless told otherwise.
    public init(_ tracker: Tracker, factory: any MetricsFactory = MetricsSystem.factory) {
      self.tracker = tracker
      let counters = Self.reasons.map { reason in
        (reason, Counter(label: "weir_refused_total", dimensions: [("reason", reason.name)], factory: factory))
      }
      self.counters = Dictionary(uniqueKeysWithValues: counters)
    }

    /// Takes a look at the tracker's counters and publishes it.
    public func update() {
      published.withLock { published in
        let dropped = tracker.counters.dropped
        for (reason, counter) in counters {
          let total = dropped[reason] ?? 0
          let last = published[reason] ?? 0
          counter.increment(by: Int64(clamping: total - min(last, total)))
          published[reason] = max(last, total)
        }
      }
    }

    /// Updates now and at every interval, until the task is cancelled: then it updates once more, and throws the
    /// cancellation.
    public func run(every interval: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock())
      async throws
    {
      defer { update() }
      while true {
        update()
        try await clock.sleep(for: interval)
      }
    }
  }
#endif

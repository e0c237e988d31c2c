// TrackerMetrics: a tracker's refusals as metrics of swift-metrics.

#if Metrics
  public import Metrics
  public import Weir

  /// Publishes the number of events that a tracker refuses, through swift-metrics.
  ///
  /// ```swift
  /// let metrics = TrackerMetrics(tracker)
  /// Task { try await metrics.run(every: .seconds(10)) }
  /// ```
  ///
  /// | counter | value |
  /// |---|---|
  /// | `weir_refused_total` | captures that were refused since the tracker opened its log |
  ///
  /// The dimension `reason` has the reasons of receipts: `full`, `no_lane`, `too_large`, `storage`, `invalid`, and
  /// `closed` after the tracker's end. Each counter exists from the first update on, so that alerts can use it. Events
  /// left out by `Tracker.Configuration.sampling` don't count as refused. For accepted events, see ``LedgerMetrics``.
  ///
  /// **Threads.** Any thread or task may call any member. Updates wait for each other. An update takes some
  /// microseconds.
  public final class TrackerMetrics: Sendable {
    private static let reasons: [DropReason] = [.full, .noLane, .tooLarge, .storage, .invalid, .closed]

    private let tracker: Tracker
    private let counters: [DropReason: Counter]
    private let published = Lock<[DropReason: UInt64]>([:])

    /// Creates metrics for this tracker, which is retained, through `factory`, by default the system's.
    public init(_ tracker: Tracker, factory: any MetricsFactory = MetricsSystem.factory) {
      self.tracker = tracker
      let counters = Self.reasons.map { reason in
        (reason, Counter(label: "weir_refused_total", dimensions: [("reason", reason.name)], factory: factory))
      }
      self.counters = Dictionary(uniqueKeysWithValues: counters)
    }

    /// Reads the tracker's counters and publishes them.
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

    /// Updates now and after every interval, until the task is cancelled. Then updates once more, and throws the
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

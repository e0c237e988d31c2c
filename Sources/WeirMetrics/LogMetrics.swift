// LogMetrics: the counts of a log's capture, inspection and delivery as metrics of swift-metrics.

#if Metrics
  public import Metrics
  public import Weir
  public import WeirDelivery

  /// Publishes everything that a log counts through swift-metrics: captures and refusals, the log on disk, violations,
  /// and the delivery to each provider.
  ///
  /// ```swift
  /// let metrics = LogMetrics(tracker)
  /// Task { try await metrics.run(every: .seconds(10)) }
  /// ```
  ///
  /// Metrics of the log, from `Counters` and from `LogDirectory.Statistics`:
  ///
  /// | counter | what it counts |
  /// |---|---|
  /// | `weir_captured_total`, `weir_drained_total` | events that captures accepted; those of them in the log |
  /// | `weir_refused_total` | refused captures, by `reason`: the names of `DropReason`, such as `no_lane` |
  /// | `weir_sampled_total` | events that `Tracker.Configuration.sampling` left out, which is no refusal |
  /// | `weir_overwritten_total`, `weir_damaged_total`, `weir_disk_lost_total` | `overwritten`, `damaged`, `lost` |
  /// | `weir_expired_total`, `weir_displaced_total` | `Counters.expired`, `Counters.displaced` |
  /// | `weir_delivered_removed_total` | events that were removed after their delivery |
  /// | `weir_blocks_total`, `weir_segments_total` | blocks written; segments begun |
  /// | `weir_wakeups_total`, `weir_syncs_total` | wake-ups of the drainer; syncs of the log |
  /// | `weir_batched_total`, `weir_batch_failures_total` | batch segments made; failed attempts |
  /// | `weir_batch_input_bytes_total`, `weir_batch_output_bytes_total` | their bytes before and after |
  /// | `weir_bindings_refused_total` | `Counters.bindingsRefused` |
  ///
  /// | meter | value |
  /// |---|---|
  /// | `weir_disk_bytes`, `weir_segment_files` | what the log takes on the disk |
  /// | `weir_lanes_in_use`, `weir_undrained` | lanes that a thread has taken; accepted events still in lanes |
  /// | `weir_unsynced` | events of the log that a power cut can still take |
  /// | `weir_batch_waiting`, `weir_unbatched` | segments that wait for their conversion; those that stay raw |
  /// | `weir_types`, `weir_contexts`, `weir_colliding_types` | numbers of definitions |
  /// | `weir_storage_failing` | 1 if the log can't grow; otherwise 0 |
  /// | `weir_batching_failing` | 1 if the last conversion of a segment failed; otherwise 0 |
  ///
  /// If the tracker has an `Inspector`, the counters `weir_inspected_total`, `weir_violating_total`,
  /// `weir_violations_total`, `weir_defaulted_total`, `weir_uninspected_total` and `weir_unlogged_total` are those of
  /// its counts.
  ///
  /// Metrics of the delivery have the dimension `provider`. Those of losses also have the dimension `reason`:
  /// `removed`, `damaged`, `withheld` or `overwritten`.
  ///
  /// | meter | value |
  /// |---|---|
  /// | `weir_accepted` | events that were accepted since the provider's delivery began |
  /// | `weir_acknowledged` | accepted events that the provider has acknowledged |
  /// | `weir_rejected` | accepted events in its dead letters that no redrive had accepted; a redrive lowers it |
  /// | `weir_pending` | accepted events that are not settled yet |
  /// | `weir_lag_seconds` | how long the oldest pending event has waited since its capture; 0 if none is pending |
  /// | `weir_lost` | accepted events that the provider will not get, by reason |
  /// | `weir_running` | 1 if it delivers or waits for events; 0 if it is backing off, open, stopped or idle |
  /// | `weir_balanced` | 1 if accepted = acknowledged + rejected + pending + lost |
  ///
  /// The counters `weir_accepted_total`, `weir_acknowledged_total`, `weir_rejected_total` and `weir_lost_total` are the
  /// growth of the same numbers, for rates. For providers that this process delivers to, `weir_prepared_total` and
  /// `weir_withheld_total` count prepared events, and `weir_flagged_total` those with a `flag`: `violations`,
  /// `defaulted` or `duplicate_of`. `weir_truncated_total`, `weir_renamed_total`, `weir_underived_total`,
  /// `weir_collisions_total` and `weir_forgotten_total` are the further counts of `PreparedEvent.Counts`.
  ///
  /// Counters start at zero, like all counters of a process, and count what the opening has counted before the first
  /// update. Numbers that continue across openings (the ledger's, `weir_expired_total`, `weir_displaced_total`) are
  /// counted from the first update on. Each metric of the log exists from the first update on, so that alerts can use
  /// it. If a provider is no longer in the ledger, its metrics are destroyed.
  ///
  /// **Threads.** Any thread or task may call any member. Updates wait for each other. An update costs as much as a
  /// ledger and `LogDirectory.statistics()`: some milliseconds, and up to some tens of milliseconds for a large log.
  public final class LogMetrics: Sendable {
    private let read: @Sendable () -> LogReading
    private let published: Lock<Instruments>

    /// Creates metrics for what `read` returns.
    package init(factory: any MetricsFactory, reading read: @escaping @Sendable () -> LogReading) {
      self.read = read
      published = Lock(Instruments(factory))
    }

    /// Creates metrics for the log of this tracker, and for the delivery from the log, through `factory`, by default
    /// the system's. Retains the tracker.
    public convenience init(_ tracker: Tracker, factory: any MetricsFactory = MetricsSystem.factory) {
      self.init(factory: factory) { LogReading(tracker) }
    }

    /// Creates metrics for the log of a dispatcher, which this retains. Use this beside another process that captures,
    /// or after the process ended. Without the capturing tracker, the metrics of the log are those that the files show:
    /// refusals and losses (from the first update on), `weir_disk_bytes`, `weir_segment_files`, `weir_lanes_in_use` and
    /// `weir_undrained`.
    public convenience init(_ dispatcher: Dispatcher, factory: any MetricsFactory = MetricsSystem.factory) {
      self.init(factory: factory) { LogReading(dispatcher) }
    }

    /// Reads the counts and publishes them.
    public func update() {
      let reading = read()
      published.withLock { instruments in
        instruments.publish(log: reading)
        instruments.publish(reading.ledger, reading.preparations, at: reading.time)
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

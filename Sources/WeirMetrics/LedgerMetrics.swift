// LedgerMetrics: the ledger as metrics of swift-metrics.

#if Metrics
  public import WeirDelivery
  public import Metrics
  import Weir

  /// Publishes a ledger through swift-metrics, for each provider.
  ///
  /// ```swift
  /// let metrics = LedgerMetrics { dispatcher.ledger }
  /// Task { try await metrics.run(every: .seconds(10)) }
  /// ```
  ///
  /// Every metric has the dimension `provider`. Metrics of losses also have the dimension `reason`: `removed`,
  /// `damaged`, `withheld` or `overwritten`.
  ///
  /// | meter | value |
  /// |---|---|
  /// | `weir_accepted` | events that were accepted since the provider's delivery began |
  /// | `weir_acknowledged` | accepted events that the provider has acknowledged |
  /// | `weir_rejected` | accepted events in its dead letters that no redrive had accepted; a redrive lowers it |
  /// | `weir_pending` | accepted events that are not settled yet |
  /// | `weir_lost` | accepted events that the provider will not get, by reason |
  /// | `weir_running` | 1 if it delivers or waits for events; 0 if it is backing off, open, stopped or idle |
  /// | `weir_balanced` | 1 if accepted = acknowledged + rejected + pending + lost |
  ///
  /// | counter | growth since the first update |
  /// |---|---|
  /// | `weir_accepted_total`, `weir_acknowledged_total`, `weir_rejected_total`, `weir_lost_total` | the same, for rates |
  ///
  /// Like the ledger, the meters continue across restarts of the process. Like all counters of a process, the counters
  /// start at zero. If a provider is no longer in the ledger, its metrics are destroyed.
  ///
  /// **Threads.** Any thread or task may call any member. Updates wait for each other. An update costs as much as a
  /// ledger.
  public final class LedgerMetrics: Sendable {
    private let ledger: @Sendable () -> Ledger
    private let factory: any MetricsFactory
    private let published = Lock<[String: ProviderMetrics]>([:])

    /// Creates metrics for the ledger that `ledger` returns, through `factory`, by default the system's.
    public init(
      factory: any MetricsFactory = MetricsSystem.factory, _ ledger: @escaping @Sendable () -> Ledger
    ) {
      self.ledger = ledger
      self.factory = factory
    }

    /// Creates metrics for a dispatcher's ledger. Retains the dispatcher.
    public convenience init(_ dispatcher: Dispatcher, factory: any MetricsFactory = MetricsSystem.factory) {
      self.init(factory: factory) { dispatcher.ledger }
    }

    /// Reads the ledger and publishes it.
    public func update() {
      let ledger = ledger()
      published.withLock { published in
        for (provider, metrics) in published where ledger[provider] == nil {
          metrics.destroy()
          published[provider] = nil
        }
        for entry in ledger.entries {
          var metrics = published[entry.provider] ?? ProviderMetrics(entry, factory)
          metrics.update(entry)
          published[entry.provider] = metrics
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

  /// The metrics of one provider.
  private struct ProviderMetrics {
    /// A number of the ledger, and the counter of its growth.
    private struct Growing {
      private let meter: Meter
      private let counter: Counter
      private var last: UInt64

      init(_ name: String, _ dimensions: [(String, String)], from value: UInt64, _ factory: any MetricsFactory) {
        meter = Meter(label: name, dimensions: dimensions, factory: factory)
        counter = Counter(label: name + "_total", dimensions: dimensions, factory: factory)
        last = value
      }

      /// Sets the number. A lower number means that the counts began again because the log is a different one, unless
      /// `mayFall`.
      mutating func update(_ value: UInt64, mayFall: Bool = false) {
        meter.set(value)
        counter.increment(by: Int64(clamping: value >= last ? value - last : mayFall ? 0 : value))
        last = value
      }

      func isAnew(_ value: UInt64) -> Bool { value < last }

      func destroy() {
        meter.destroy()
        counter.destroy()
      }
    }

    private var accepted: Growing
    private var acknowledged: Growing
    private var rejected: Growing
    private var lost: [Ledger.LossReason: Growing]
    private let pending: Meter
    private let running: Meter
    private let balanced: Meter

    init(_ entry: Ledger.Entry, _ factory: any MetricsFactory) {
      let dimensions = [("provider", entry.provider)]
      accepted = Growing("weir_accepted", dimensions, from: entry.accepted, factory)
      acknowledged = Growing("weir_acknowledged", dimensions, from: entry.acknowledged, factory)
      rejected = Growing("weir_rejected", dimensions, from: entry.rejected, factory)
      lost = [:]
      for reason in Ledger.LossReason.allCases {
        lost[reason] = Growing(
          "weir_lost", dimensions + [("reason", reason.rawValue)], from: entry.lost[reason] ?? 0, factory)
      }
      pending = Meter(label: "weir_pending", dimensions: dimensions, factory: factory)
      running = Meter(label: "weir_running", dimensions: dimensions, factory: factory)
      balanced = Meter(label: "weir_balanced", dimensions: dimensions, factory: factory)
    }

    mutating func update(_ entry: Ledger.Entry) {
      // Rejected events become acknowledged events after a redrive.
      rejected.update(entry.rejected, mayFall: !accepted.isAnew(entry.accepted))
      accepted.update(entry.accepted)
      acknowledged.update(entry.acknowledged)
      for reason in Ledger.LossReason.allCases { lost[reason]?.update(entry.lost[reason] ?? 0) }
      pending.set(entry.pending)
      running.set(entry.state == .running ? 1 : 0)
      balanced.set(entry.isBalanced ? 1 : 0)
    }

    func destroy() {
      for growing in [accepted, acknowledged, rejected] + lost.values { growing.destroy() }
      for meter in [pending, running, balanced] { meter.destroy() }
    }
  }
#endif

// ReconciliationReport+Metrics: the counts of a report as metrics of swift-metrics.

#if Metrics
  public import Metrics
  public import WeirReconcile

  extension ReconciliationReport {
    /// Adds the counts of this report to counters of swift-metrics. Call it once for each report of a running
    /// comparison: each event is in one report.
    ///
    /// The counter `weir_reconciled_total` counts events by `verdict`: `identical`, `only_here`, and so on.
    /// `weir_reconciled_here_total` and `weir_reconciled_there_total` count the events of each side.
    ///
    /// **Threads.** Any thread or task may call it.
    public func publish(factory: any MetricsFactory = MetricsSystem.factory) {
      func count(_ name: String, _ dimensions: [(String, String)], _ number: UInt64) {
        // A counter exists from the first report on, so that alerts can use it.
        Counter(label: name, dimensions: dimensions, factory: factory).increment(by: Int64(clamping: number))
      }
      for verdict in Verdict.allCases {
        count("weir_reconciled_total", [("verdict", verdict.rawValue)], all[verdict])
      }
      count("weir_reconciled_here_total", [], here)
      count("weir_reconciled_there_total", [], there)
    }
  }
#endif

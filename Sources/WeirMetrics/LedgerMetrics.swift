// LedgerMetrics: the ledger as metrics of swift-metrics.

#if Metrics
  import Weir
#endif

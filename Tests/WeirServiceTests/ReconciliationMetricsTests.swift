// ReconciliationReport.publish: what a report counts is what the counters get.

#if Metrics
  import Metrics
  import MetricsTestKit
  import Testing
  import WeirMetrics
  import WeirReconcile

  @Suite struct ReconciliationMetricsTests {
    @Test func `the counts of each report are added`() throws {
      let metrics = TestMetrics()
      var report = ReconciliationReport()
      report.here = 7
      report.there = 6
      report.all[.identical] = 5
      report.all[.onlyHere] = 2
      report.publish(factory: metrics)
      report.publish(factory: metrics)
      func total(_ name: String, _ dimensions: [(String, String)] = []) throws -> Int64 {
        try metrics.expectCounter(name, dimensions).totalValue
      }
      #expect(try total("weir_reconciled_total", [("verdict", "identical")]) == 10)
      #expect(try total("weir_reconciled_total", [("verdict", "only_here")]) == 4)
      #expect(try total("weir_reconciled_total", [("verdict", "unknown")]) == 0)
      #expect(try total("weir_reconciled_here_total") == 14)
      #expect(try total("weir_reconciled_there_total") == 12)
    }
  }
#endif

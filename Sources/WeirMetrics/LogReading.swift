// LogReading: the counts of a log at one moment, from the open log, its inspector, its dispatcher and its files.

#if Metrics
  package import Weir
  package import WeirContracts
  package import WeirDelivery

  /// The counts that ``LogMetrics`` publishes.
  package struct LogReading: Sendable {
    /// The time of the reading, from which lags are counted.
    package var time = Timestamp.now
    /// The counters of the opening in this process; `nil` beside another process.
    package var counters: Counters?
    /// What the files show; `nil` if they can't be read.
    package var statistics: LogDirectory.Statistics?
    /// The counts of the tracker's inspector; `nil` without an inspector.
    package var violations: ViolationCounts?
    package var ledger: Ledger
    /// The counts of the preparations, by provider, of those that this process delivers to.
    package var preparations: [String: PreparedEvent.Counts] = [:]

    /// Creates a reading of a ledger, and of nothing else.
    package init(_ ledger: Ledger) {
      self.ledger = ledger
    }

    init(_ tracker: Tracker) {
      self.init(tracker.ledger)
      counters = tracker.counters
      violations = tracker.companions.first(Inspector.self)?.counts
      statistics = try? LogDirectory(tracker.directory).statistics()
      if let dispatcher = tracker.dispatcher { read(dispatcher) }
    }

    init(_ dispatcher: Dispatcher) {
      if let tracker = dispatcher.tracker {
        self.init(tracker)
      } else {
        self.init(dispatcher.ledger)
        statistics = try? LogDirectory(dispatcher.directory).statistics()
        read(dispatcher)
      }
    }

    private mutating func read(_ dispatcher: Dispatcher) {
      for provider in dispatcher.providers { preparations[provider] = dispatcher.preparationCounts(of: provider) }
    }
  }
#endif

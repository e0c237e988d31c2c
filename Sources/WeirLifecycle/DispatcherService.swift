// DispatcherService: a dispatcher as a service of swift-service-lifecycle.

#if Lifecycle
  public import WeirDelivery
  public import Logging
  public import ServiceLifecycle
  import Weir

  /// Runs a dispatcher as long as a service group runs, and ends it in order: on SIGTERM no event is lost, and as many
  /// are delivered as the budget allows.
  ///
  /// ```swift
  /// let tracker = try Tracker(directory: "/var/lib/shop/events")
  /// let dispatcher = try Dispatcher(tracker)
  /// try dispatcher.add(provider)
  ///
  /// let group = ServiceGroup(
  ///   services: [DispatcherService(dispatcher), server],
  ///   gracefulShutdownSignals: [.sigterm, .sigint],
  ///   logger: logger)
  /// try await group.run()
  /// ```
  ///
  /// A group shuts its services down in the reverse order: name the dispatcher before what captures events, so that it
  /// ends after it. The dispatcher delivers from its making on, whether this runs or not.
  ///
  /// **The end.** At the graceful shutdown it does what `Dispatcher.shutdown(budget:)` does: intake stops, lanes are
  /// drained, the log is sealed, events are delivered until that is done or the budget is spent, and cursors are made
  /// durable; then it logs the report. If the task is cancelled instead, as a group does when another service fails, it
  /// does the same with a budget of zero. What was not delivered is in the log, for the next opening. A group that is
  /// told a `maximumGracefulShutdownDuration` needs one that is some seconds longer than the budget.
  public struct DispatcherService: Service {
    private let dispatcher: Dispatcher
    private let budget: Duration
    private let logger: Logger?
    private let onReport: (@Sendable (DeliveryReport) -> Void)?

    /// A service that runs `dispatcher`.
    ///
    /// `budget` is how long delivery goes on after the shutdown began: 10 s, of the 30 s that most systems wait between
    /// SIGTERM and SIGKILL. The report goes to `logger` (nil: nowhere) and to `onReport`.
    public init(
      _ dispatcher: Dispatcher, budget: Duration = .seconds(10), logger: Logger? = Logger(label: "weir.delivery"),
      onReport: (@Sendable (DeliveryReport) -> Void)? = nil
    ) {
      self.dispatcher = dispatcher
      self.budget = budget
      self.logger = logger
      self.onReport = onReport
    }

    /// Returns once the dispatcher is shut down, which the graceful shutdown or the cancellation of the task begins.
    /// Never throws: what went wrong is in the report.
    public func run() async {
      var budget = budget
      do {
        try await gracefulShutdown()
      } catch {
        budget = .zero
      }
      let report = await dispatcher.shutdown(budget: budget)
      log(report)
      onReport?(report)
    }

    private func log(_ report: DeliveryReport) {
      guard let logger else { return }
      let place = dispatcher.directory
      for entry in report.entries {
        let text =
          "delivery to \(entry.provider) from \(place) ended: \(entry.acknowledged) acknowledged, \(entry.rejected) "
          + "rejected, \(entry.pending) pending" + (entry.error.map { ": \($0)" } ?? "")
        // What is pending is safe, but somebody waits for it.
        logger.log(level: entry.pending > 0 ? .warning : .info, "\(text)")
      }
    }
  }
#endif

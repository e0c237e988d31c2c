// Dispatcher+Service: a dispatcher is a service of swift-service-lifecycle.

#if Lifecycle
  public import ServiceLifecycle
  import Weir
  public import WeirDelivery

  /// A dispatcher runs as long as a service group runs, and ends in order: on SIGTERM no event is lost, and as many are
  /// delivered as ten seconds allow.
  ///
  /// ```swift
  /// let tracker = try Tracker(directory: "/var/lib/shop/events")
  /// let dispatcher = try Dispatcher(tracker)
  /// try dispatcher.add(provider)
  ///
  /// let group = ServiceGroup(
  ///   services: [dispatcher, server],
  ///   gracefulShutdownSignals: [.sigterm, .sigint],
  ///   logger: logger)
  /// try await group.run()
  /// ```
  ///
  /// A group shuts its services down in the reverse order: name the dispatcher before what captures events, so that the
  /// dispatcher ends last. A group that is told a `maximumGracefulShutdownDuration` needs one that is some seconds
  /// longer than the budget of the dispatcher's end.
  extension Dispatcher: Service {
    /// Delivers until the graceful shutdown begins or the task is cancelled, and then ends as
    /// `Dispatcher.run(budget:)` does, with a budget of 10 s.
    ///
    /// For another budget, run `cancelWhenGracefulShutdown { try await dispatcher.run(budget: budget) }` in a service
    /// of your own.
    public func run() async throws {
      _ = try await cancelWhenGracefulShutdown { try await self.run(budget: .seconds(10)) }
    }
  }
#endif

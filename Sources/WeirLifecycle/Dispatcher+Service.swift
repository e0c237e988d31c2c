// Dispatcher+Service: makes a dispatcher a service of swift-service-lifecycle.

#if Lifecycle
  public import ServiceLifecycle
  import Weir
  public import WeirDelivery

  /// Runs a dispatcher for as long as a service group runs, and ends the delivery in order. On SIGTERM, no event is
  /// lost, and events are delivered for up to ten seconds.
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
  /// A group shuts its services down in reverse order. List the dispatcher before the services that capture events, so
  /// that the dispatcher ends last. If the group has a `maximumGracefulShutdownDuration`, that duration must be some
  /// seconds longer than the budget of the dispatcher's end.
  extension Dispatcher: Service {
    /// Delivers until the graceful shutdown starts or the task is cancelled. Then ends like `Dispatcher.run(budget:)`,
    /// with a budget of 10 s.
    ///
    /// For another budget, run `cancelWhenGracefulShutdown { try await dispatcher.run(budget: budget) }` in your own
    /// service.
    // `dispatcher.run()` in a program is `run(budget:)`, which returns a report; this is what a service group calls.
    @_disfavoredOverload
    public func run() async throws {
      _ = try await cancelWhenGracefulShutdown { try await self.run(budget: .seconds(10)) }
    }
  }
#endif

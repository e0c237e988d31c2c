// HostChoice: which of two endpoints gets the next request.

#if HTTP
  import WeirDelivery
  import Weir

  /// Chooses the endpoint of each request: the first, or the second for as long as the first fails. A pure value. Times
  /// count from any moment that is fixed for one choice.
  ///
  /// Each endpoint has a circuit breaker. While the first endpoint's breaker is open, requests go to the second. When
  /// the breaker's time is over, one request tries the first endpoint: if the request succeeds, the first endpoint gets
  /// all requests again. If both breakers are open, the endpoint whose time is over sooner gets the request, because
  /// the dispatcher's back-off limits the calls.
  struct HostChoice: Sendable {
    private var breakers: [BreakerState]

    /// `failover` is `nil` if there is one endpoint.
    init(_ failover: HTTPConfiguration.Failover?) {
      var backoff = DeliveryOptions.Backoff()
      if let failover {
        backoff.failures = failover.failures
        backoff.openFor = failover.retryAfter
      }
      breakers = Array(repeating: BreakerState(backoff), count: failover == nil ? 1 : 2)
    }

    /// Returns the number of the endpoint that gets the next request.
    mutating func next(at now: Duration) -> Int {
      guard breakers.count > 1 else { return 0 }
      var soonest: (host: Int, until: Duration)?
      for host in breakers.indices {
        guard case .nothing(let until) = breakers[host].permission(at: now) else { return host }
        if until < soonest?.until ?? .nanoseconds(Int64.max) { soonest = (host, until) }
      }
      return soonest?.host ?? 0
    }

    /// Notes whether an endpoint answered. Returns the number of the endpoint that gets the next request.
    mutating func note(_ host: Int, isDown: Bool, at now: Duration) -> Int {
      if isDown { breakers[host].failed(at: now) } else { breakers[host].succeeded() }
      return next(at: now)
    }
  }
#endif

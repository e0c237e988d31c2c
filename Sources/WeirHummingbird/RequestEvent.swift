// RequestEvent: what the middleware captures of a request.

#if Hummingbird
  public import Weir

  /// A request that a server answered, as ``TrackRequestsMiddleware`` captures it: the event `http.request`.
  ///
  /// ```swift
  /// for recorded in try tracker.events(of: RequestEvent.self) where recorded.event.status >= 500 {
  ///   print(recorded.time, recorded.event.route ?? "no route", recorded.context.fields["trace_id"] ?? "no trace")
  /// }
  /// ```
  ///
  /// The event has the route, not the path: routes are few, and have no identifiers of persons in them. The event's
  /// context has the user, the fields and the ids of the span.
  public struct RequestEvent: Event, Hashable {
    /// The method of the request: `GET`.
    public var method: String
    /// The route of the handler: `/orders/{order}`. `nil` if no route matched.
    public var route: String?
    /// The status of the response. For an error, the status with which Hummingbird answers the error.
    public var status: UInt16
    /// The time from the middleware to the handler's response, in nanoseconds. To the end of the body if the length of
    /// the body is not known before.
    public var nanoseconds: UInt64
    /// The length of the request's body in bytes, as the header says. `nil` if the header does not say the length, and
    /// for `GET` and `HEAD`.
    public var requestBytes: UInt64?
    /// The length of the response's body in bytes. `nil` if the handler threw an error. If the length of the body is
    /// not known before: the bytes that were written, 0 if the client had gone.
    public var responseBytes: UInt64?
    /// The type of the error that the handler threw, or a body whose length is not known before: `HTTPError`,
    /// `CancellationError`. `nil` without an error. The error's message is left out, because a message may have
    /// identifiers of persons in it.
    public var error: String?

    /// Creates an event, for servers without the middleware.
    public init(
      method: String, route: String? = nil, status: UInt16, nanoseconds: UInt64, requestBytes: UInt64? = nil,
      responseBytes: UInt64? = nil, error: String? = nil
    ) {
      self.method = method
      self.route = route
      self.status = status
      self.nanoseconds = nanoseconds
      self.requestBytes = requestBytes
      self.responseBytes = responseBytes
      self.error = error
    }

    public static let eventTypes = [
      EventType(
        "http.request",
        [
          Field("method", .string), Field("route", .optional(.string)), Field("status", .uint16),
          Field("nanoseconds", .uint64), Field("requestBytes", .optional(.uint64)),
          Field("responseBytes", .optional(.uint64)), Field("error", .optional(.string)),
        ])
    ]

    public func encode(into encoder: inout EventEncoder) {
      encoder.begin(0)
      encoder.put(method)
      encoder.put(route)
      encoder.put(status)
      encoder.put(nanoseconds)
      encoder.put(requestBytes)
      encoder.put(responseBytes)
      encoder.put(error)
    }

    public init?(_ stored: StoredEvent) throws {
      guard stored.index(in: Self.eventTypes) == 0 else { return nil }
      method = try stored["method"]
      route = try stored["route"]
      status = try stored["status"]
      nanoseconds = try stored["nanoseconds"]
      requestBytes = try stored["requestBytes"]
      responseBytes = try stored["responseBytes"]
      error = try stored["error"]
    }
  }
#endif

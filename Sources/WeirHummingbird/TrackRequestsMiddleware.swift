// TrackRequestsMiddleware: captures each request as an event, and binds what the request's events have in common.

#if Hummingbird
  import HTTPTypes
  public import Hummingbird
  public import Weir

  /// Captures each request as a ``RequestEvent``. Binds the user, fields and the ids of the request's span to
  /// everything that is captured while the request is handled.
  ///
  /// ```swift
  /// let router = Router(context: ShopContext.self)
  /// router.add(middleware: TracingMiddleware())
  /// router.add(middleware: ShopAuthenticator())
  /// router.add(middleware: TrackRequestsMiddleware(tracker, user: { _, context in context.identity?.id }))
  /// ```
  ///
  /// **Order.** A middleware sees what the middlewares before have done: add this one behind `TracingMiddleware` and
  /// behind the authenticator. A request that the authenticator refuses never reaches this middleware, and has no
  /// event.
  ///
  /// **When.** The event is captured when the handler has returned a response or thrown an error, before the response
  /// is sent. If the length of the body is not known before, the event is captured at the end of the body, and the
  /// bindings also apply while the body is written. A cancelled request has an event with the error
  /// `CancellationError`, if the handler throws that.
  ///
  /// **Fields of a handler.** A handler binds fields with `Bindings.with(fields:)`, for all events within, or captures
  /// an event of its own. The fields of the request's event itself are those of the closure `fields`.
  ///
  /// **Cost.** One to three microseconds for each request: see <doc:WeirHummingbird>. A request whose event is refused
  /// is answered as usual, and the refusal is counted: see `Receipt`.
  ///
  /// **Crash.** A client that has an answer has the request's event in the log, if the event was accepted and the
  /// length of the body was known: the death of the process does not lose the event.
  public struct TrackRequestsMiddleware<Context: RequestContext>: RouterMiddleware {
    private let tracker: Tracker
    private let fields: (@Sendable (Request, Context) -> FieldObject)?
    private let user: (@Sendable (Request, Context) -> String?)?

    /// Creates a middleware.
    ///
    /// - Parameters:
    ///   - tracker: The log.
    ///   - fields: Called before the handler. Returns the fields for all events of the request, such as the request's
    ///     id: `["request": .string(context.id)]`.
    ///   - user: Called before the handler. Returns the id of the request's user, or `nil` if the request has no user.
    ///     Without this closure, events keep the user that is bound around the middleware, or the tracker's.
    public init(
      _ tracker: Tracker, fields: (@Sendable (Request, Context) -> FieldObject)? = nil,
      user: (@Sendable (Request, Context) -> String?)? = nil
    ) {
      self.tracker = tracker
      self.fields = fields
      self.user = user
    }

    public func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      let start = MonotonicTime.now
      var bound = FieldObject.currentTrace
      if let fields {
        let own = fields(request, context)
        bound = bound.isEmpty ? own : FieldObject(bound.filter { id in !own.contains { $0.name == id.name } } + own)
      }
      func handled() async throws -> Response {
        do {
          var response = try await next(request, context)
          var event = RequestEvent(request.head, context.endpointPath, response.status, since: start)
          if let length = response.body.contentLength {
            // Nothing is put around the body: Hummingbird sends a body that is one buffer together with the head, in a
            // third of the writes.
            event.responseBytes = request.head.method == .head ? 0 : UInt64(exactly: length)
            tracker.track(event)
          } else {
            response.body = TrackedBody(event, since: start, tracker).around(response.body)
          }
          return response
        } catch {
          let status = (error as? any HTTPResponseError)?.status ?? .internalServerError
          var event = RequestEvent(request.head, context.endpointPath, status, since: start)
          event.error = "\(type(of: error))"
          tracker.track(event)
          throw error
        }
      }
      if let user { return try await Bindings.with(user: user(request, context), fields: bound, handled) }
      return bound.isEmpty ? try await handled() : try await Bindings.with(fields: bound, handled)
    }
  }

  extension RequestEvent {
    /// Takes the head, because the compiler copies a whole `Request` for each look into one.
    fileprivate init(
      _ request: borrowing HTTPRequest, _ route: String?, _ status: HTTPResponse.Status, since start: MonotonicTime
    ) {
      let method = request.method
      // The header is looked for only where there may be a body: the search compares the names of all headers.
      let hasBody = method != .get && method != .head
      self.init(
        method: method.rawValue,
        // Routes begin with a slash. Where none matches, Hummingbird gives a word.
        route: route?.utf8.first == UInt8(ascii: "/") ? route : nil,
        status: UInt16(clamping: status.code), nanoseconds: MonotonicTime.now.nanoseconds - start.nanoseconds,
        requestBytes: hasBody ? request.headerFields[.contentLength].flatMap { UInt64($0) } : nil)
    }
  }
#endif

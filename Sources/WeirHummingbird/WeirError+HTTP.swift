// WeirError+HTTP: how a server answers an error of the log.

#if Hummingbird
  public import HTTPTypes
  public import Hummingbird
  import Logging
  public import Weir

  /// Answers an error of the log that a handler did not catch, for example of `Tracker.audit(_:timeout:)`. The response
  /// has no body: the message names paths of the server. Hummingbird's logger gets the message at the level `debug`.
  extension WeirError: HTTPResponseError {
    /// 503 if the same request may succeed later: the log is closed, the disk is full or failed, the lanes are full, or
    /// the timeout has passed. 500 for a fault of the program.
    public var status: HTTPResponse.Status {
      switch code {
      case .noSpace, .io, .memory, .closed, .timeout, .lost: .serviceUnavailable
      case .invalid, .missing, .directory, .access, .unsafe, .locked, .version, .platform, .limit: .internalServerError
      }
    }

    public func response(from request: Request, context: some RequestContext) throws -> Response {
      context.logger.debug("\(message)")
      return Response(status: status)
    }
  }
#endif

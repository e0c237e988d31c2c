// Front: who asks, and under which id. The service knows that with Weir and without.

import HTTPTypes
import Hummingbird

struct CallContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  var user: String?
  var requestID: String?

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
  }
}

/// Whoever is at the front has checked who asks, and says so in a header.
struct Front: RouterMiddleware {
  private static let user = HTTPField.Name("X-User")!
  private static let requestID = HTTPField.Name("X-Request-ID")!

  func handle(
    _ request: Request, context: CallContext, next: (Request, CallContext) async throws -> Response
  ) async throws -> Response {
    var context = context
    context.user = request.headers[Self.user]
    context.requestID = request.headers[Self.requestID]
    return try await next(request, context)
  }
}

// page: Sources/Weir/Weir.docc/Modules/WeirHummingbird.md

#if Hummingbird
  import HTTPTypes
  import Hummingbird
  import Testing
  import Tracing
  import Weir
  import WeirHummingbird
  import WeirTesting

  @Suite struct HummingbirdGuide {
    struct ShopContext: RequestContext {
      var coreContext: CoreRequestContextStorage
      var user: String?

      init(source: Source) { coreContext = .init(source: source) }
    }

    struct ShopAuthenticator: RouterMiddleware {
      func handle(
        _ request: Request, context: ShopContext, next: (Request, ShopContext) async throws -> Response
      ) async throws -> Response {
        guard let user = request.headers[.authorization] else { throw HTTPError(.unauthorized) }
        var context = context
        context.user = user
        return try await next(request, context)
      }
    }

    // snippet
    func router(for tracker: Tracker) -> Router<ShopContext> {
      let router = Router(context: ShopContext.self)
      router.add(middleware: TracingMiddleware())
      router.add(middleware: ShopAuthenticator())
      router.add(middleware: TrackRequestsMiddleware(tracker, user: { _, context in context.user }))
      return router
    }
    // end

    @Test func `requests, spans and audits`() async throws {
      let spy = try SpyTracker()
      let tracker = spy.tracker
      let router = router(for: tracker)
      @Sendable func charge(_ order: UInt64) async throws {
        // snippet
        try await withSpan("charge") { _ in
          try await Bindings.with(fields: .currentTrace) { try await charge(order) }
        }
        // end
        func charge(_ order: UInt64) async throws { tracker.track("order.charged", fields: ["order": .uint(order)]) }
      }
      // snippet
      router.post("/orders/:order") { _, context in
        let order = try context.parameters.require("order", as: UInt64.self)
        try await tracker.audit("order.placed", fields: ["order": .uint(order)])
        return HTTPResponse.Status.created
      }
      // end
      router.post("/charges/:order") { _, context in
        try await charge(try context.parameters.require("order", as: UInt64.self))
        return HTTPResponse.Status.created
      }
      try await serve(router) { port async throws in
        let ada = ["Authorization: ada"]
        #expect(try await ask(port, "POST", "/orders/7", headers: ada, body: "")?.status == 201)
        #expect(try await ask(port, "POST", "/charges/8", headers: ada, body: "")?.status == 201)
        #expect(try await ask(port, "POST", "/orders/9", body: "")?.status == 401)
      }
      #expect(spy.inTime.map(\.name) == ["order.placed", "http.request", "order.charged", "http.request"])
      #expect(spy.inTime.allSatisfy { $0.context.user?.id == "ada" })
    }

    // MARK: Another framework

    struct Call {
      var method: String
    }

    struct Reply {
      var status: String
    }

    struct Handled: Codable, Event {
      var method: String
      var status: String
      var seconds: Double
    }

    struct Interceptor {
      let tracker: Tracker

      // snippet
      func intercept(
        _ request: Call, user: String?, span: FieldObject, next: (Call) async throws -> Reply
      ) async throws -> Reply {
        let start = ContinuousClock.now
        func handled(_ status: String) {
          tracker.track(Handled(method: request.method, status: status, seconds: (.now - start) / .seconds(1)))
        }
        return try await Bindings.with(user: user, fields: span) {
          do {
            let reply = try await next(request)
            handled(reply.status)
            return reply
          } catch {
            handled("\(type(of: error))")
            throw error
          }
        }
      }
      // end
    }

    @Test func `calls of another framework`() async throws {
      let spy = try SpyTracker()
      let interceptor = Interceptor(tracker: spy.tracker)
      let call = Call(method: "Greet")
      let reply = try await interceptor.intercept(call, user: "ada", span: ["span_id": "7"]) { _ in Reply(status: "ok")
      }
      #expect(reply.status == "ok")
      await #expect(throws: CancellationError.self) {
        try await interceptor.intercept(call, user: nil, span: [:]) { _ in throw CancellationError() }
      }
      #expect(spy.events(of: Handled.self).map(\.status) == ["ok", "CancellationError"])
      #expect(spy.inTime[0].context.user?.id == "ada")
      #expect(spy.inTime[0].context.fields == ["span_id": "7"])
    }
  }
#endif

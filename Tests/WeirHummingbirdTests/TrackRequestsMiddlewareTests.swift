// Requests as events: of each request what it was and how it ended, and its user, fields and span on all its events.

#if Hummingbird
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import TestSupport
  import Testing
  import Weir
  import WeirHummingbird
  import WeirTesting

  struct TrackRequestsMiddlewareTests {
    private struct Broken: Error {}

    @Test func `a request is an event with its route, not its path`() async throws {
      let spy = try SpyTracker()
      try await serve { router in
        router.add(middleware: TrackRequestsMiddleware(spy.tracker))
        router.get("/orders/:order") { _, _ in "four" }
        router.head("/orders/:order") { _, _ in HTTPResponse.Status.ok }
        router.post("/orders") { request, _ in
          _ = try await request.body.collect(upTo: 100)
          return HTTPResponse.Status.created
        }
      } _: { port async throws in
        #expect(try await ask(port, "GET", "/orders/4711")?.body == "four")
        #expect(try await ask(port, "POST", "/orders", body: "a body")?.status == 201)
        #expect(try await ask(port, "HEAD", "/orders/4712")?.status == 200)
      }
      var events = spy.requests
      #expect(events.allSatisfy { $0.nanoseconds > 0 })
      for index in events.indices { events[index].nanoseconds = 0 }
      #expect(
        events == [
          RequestEvent(method: "GET", route: "/orders/{order}", status: 200, nanoseconds: 0, responseBytes: 4),
          RequestEvent(
            method: "POST", route: "/orders", status: 201, nanoseconds: 0, requestBytes: 6, responseBytes: 0),
          RequestEvent(method: "HEAD", route: "/orders/{order}", status: 200, nanoseconds: 0, responseBytes: 0),
        ])
      #expect(spy.inTime.map(\.name) == Array(repeating: "http.request", count: 3))
      #expect(!spy.inTime.contains { "\($0.fields)\($0.context)".contains("471") })
      #expect(spy.failures.isEmpty)
    }

    @Test func `errors are events with the status of the answer and the type of the error`() async throws {
      let spy = try SpyTracker()
      try await serve { router in
        router.add(middleware: TrackRequestsMiddleware(spy.tracker))
        router.get("/broken") { _, _ -> String in throw Broken() }
        router.get("/teapot") { _, _ -> String in throw HTTPError(.init(code: 418), message: "for ada") }
        router.get("/cancelled") { _, _ -> String in throw CancellationError() }
      } _: { port async throws in
        #expect(try await ask(port, "GET", "/broken")?.status == 500)
        #expect(try await ask(port, "GET", "/teapot")?.status == 418)
        #expect(try await ask(port, "GET", "/cancelled")?.status == 500)
        #expect(try await ask(port, "GET", "/nowhere/ada")?.status == 404)
      }
      let events = spy.requests
      #expect(events.map(\.status) == [500, 418, 500, 404])
      #expect(events.map(\.route) == ["/broken", "/teapot", "/cancelled", nil])
      #expect(events.map(\.error) == ["Broken", "HTTPError", "CancellationError", "HTTPError"])
      #expect(events.allSatisfy { $0.responseBytes == nil })
      #expect(!spy.inTime.contains { "\($0.fields)".contains("ada") })
    }

    @Test func `all events of a request have its user, its fields and its span`() async throws {
      let spy = try SpyTracker()
      let tracker = spy.tracker
      let user = HTTPField.Name("X-User")!
      try await serve { router in
        router.add(middleware: SpanMiddleware())
        router.add(
          middleware: TrackRequestsMiddleware(
            tracker,
            fields: { request, _ in ["tenant": .string(request.uri.queryParameters["tenant"].map(String.init) ?? "")] },
            user: { request, _ in request.headers[user] }))
        router.get("/buy") { request, _ in
          tracker.track("bought")
          await inSpan("00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01") {
            await Bindings.with(fields: .currentTrace) {
              await Task.yield()
              tracker.track("charged")
            }
          }
          await Task { _ = tracker.track("mailed") }.value
          return "ok"
        }
      } _: { port async throws in
        try await withThrowingTaskGroup { group in
          for number in 0..<20 {
            group.addTask {
              let digits = String(number + 10)
              let header = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e47\(digits)-00f067aa0ba902\(digits)-01"
              let answer = try await ask(
                port, "GET", "/buy?tenant=t\(digits)", headers: ["X-User: u\(digits)", header])
              #expect(answer?.status == 200)
            }
          }
          try await group.waitForAll()
        }
        #expect(try await ask(port, "GET", "/buy")?.status == 200)
      }
      let alone = spy.inTime.filter { $0.context.user == nil }
      #expect(alone.map(\.name) == ["bought", "charged", "mailed", "http.request"])
      #expect(alone[0].context.fields == ["tenant": ""])
      for number in 10..<30 {
        let events = spy.inTime.filter { $0.context.user?.id == "u\(number)" }
        #expect(events.map(\.name) == ["bought", "charged", "mailed", "http.request"])
        #expect(events.allSatisfy { $0.context.fields["tenant"] == .string("t\(number)") })
        for event in events where event.name != "charged" {
          #expect(event.context.fields["trace_id"] == .string("4bf92f3577b34da6a3ce929d0e0e47\(number)"))
          #expect(event.context.fields["span_id"] == .string("00f067aa0ba902\(number)"))
        }
        let charged = try #require(events.first { $0.name == "charged" })
        #expect(charged.context.fields["span_id"] == "1111111111111111")
      }
    }

    @Test func `without a user's closure the user around the middleware stays`() async throws {
      let spy = try SpyTracker()
      try spy.tracker.associate("operator")
      try await serve { router in
        router.add(
          middleware: TrackRequestsMiddleware(spy.tracker, fields: { _, context in ["request": .string(context.id)] }))
        router.get("/") { _, _ in "ok" }
      } _: { port async throws in
        #expect(try await ask(port, "GET", "/")?.status == 200)
      }
      let event = try #require(spy.inTime.last)
      #expect(event.context.user?.id == "operator")
      #expect(event.context.fields["request"] != nil)
    }

    // MARK: Bodies of unknown length

    @Test func `a body of unknown length is counted, and its events have the bindings`() async throws {
      let spy = try SpyTracker()
      let tracker = spy.tracker
      try await serve { router in
        router.add(middleware: TrackRequestsMiddleware(tracker, user: { _, _ in "ada" }))
        router.get("/stream") { _, _ in
          Response(
            status: .ok,
            body: ResponseBody { writer in
              for _ in 0..<3 {
                tracker.track("written")
                try await writer.write(ByteBuffer(string: "12345"))
              }
              try await writer.write(contentsOf: [ByteBuffer(string: "6"), ByteBuffer(string: "78")])
              try await writer.finish(nil)
            })
        }
      } _: { port async throws in
        #expect(try await ask(port, "GET", "/stream")?.status == 200)
      }
      #expect(spy.inTime.map(\.name) == ["written", "written", "written", "http.request"])
      #expect(spy.inTime.allSatisfy { $0.context.user?.id == "ada" })
      let event = try #require(spy.requests.last)
      #expect(event.responseBytes == 18)
      #expect(event.error == nil)
    }

    @Test func `a body that fails is an event with its error`() async throws {
      let spy = try SpyTracker()
      try await serve { router in
        router.add(middleware: TrackRequestsMiddleware(spy.tracker))
        router.get("/stream") { _, _ in
          Response(
            status: .ok,
            body: ResponseBody { writer in
              try await writer.write(ByteBuffer(string: "12345"))
              throw Broken()
            })
        }
      } _: { port async throws in
        _ = try await ask(port, "GET", "/stream")
        #expect(await eventually { !spy.requests.isEmpty })
      }
      let events = spy.requests
      #expect(events.map(\.error) == ["Broken"])
      #expect(events.map(\.status) == [200])
      #expect(events.map(\.responseBytes) == [5])
    }

    @Test func `a response that another middleware throws away is an event`() async throws {
      struct Replacing: RouterMiddleware {
        func handle(
          _ request: Request, context: BasicRequestContext,
          next: (Request, BasicRequestContext) async throws -> Response
        ) async throws -> Response {
          _ = try await next(request, context)
          return Response(status: .accepted)
        }
      }
      let spy = try SpyTracker()
      try await serve { router in
        router.add(middleware: Replacing())
        router.add(middleware: TrackRequestsMiddleware(spy.tracker, user: { _, _ in "ada" }))
        router.get("/stream") { _, _ in
          Response(status: .ok, body: ResponseBody { try await $0.finish(nil) })
        }
      } _: { port async throws in
        #expect(try await ask(port, "GET", "/stream")?.status == 202)
      }
      #expect(spy.requests.map(\.responseBytes) == [0])
      #expect(spy.inTime.last?.context.user?.id == "ada")
    }

    // MARK: The log in trouble

    @Test func `a request whose event is refused is answered`() async throws {
      let spy = try SpyTracker()
      try await serve { router in
        router.add(middleware: TrackRequestsMiddleware(spy.tracker, user: { _, _ in "ada" }))
        router.get("/") { _, _ in "ok" }
      } _: { port async throws in
        #expect(try await ask(port, "GET", "/")?.body == "ok")
        try spy.tracker.close()
        #expect(try await ask(port, "GET", "/")?.body == "ok")
      }
      #expect(spy.requests.count == 1)
    }

    @Test(.enabled(if: FailingDisk.isAvailable)) func `an audit that can't be refuses the answer`() async throws {
      let disk = try FailingDisk()
      let spy = try SpyTracker(on: disk)
      let tracker = spy.tracker
      try await serve { router in
        router.add(middleware: TrackRequestsMiddleware(tracker))
        router.post("/orders/:order") { _, context in
          let order = try context.parameters.require("order", as: UInt64.self)
          try await tracker.audit("ordered", fields: ["order": .uint(order)])
          return "ordered"
        }
      } _: { port async throws in
        for order in 0..<5 {
          #expect(try await ask(port, "POST", "/orders/\(order)", body: "")?.body == "ordered")
          let event = try #require(spy.inTime.first { $0.fields["order"] == .uint(UInt64(order)) })
          #expect(event.offset < tracker.durableOffset)
        }
        disk.fail(.sync, with: .io)
        let refused = try await ask(port, "POST", "/orders/5", body: "")
        #expect(refused?.status == 503)
        #expect(refused?.body == "", "the message names paths of the server")
        disk.mend()
        #expect(try await ask(port, "POST", "/orders/6", body: "")?.body == "ordered")
        try tracker.close()
        #expect(try await ask(port, "POST", "/orders/7", body: "")?.status == 503)
      }
      let events = spy.requests
      #expect(events.map(\.status) == [200, 200, 200, 200, 200, 503, 200])
      #expect(events.map(\.error).compactMap { $0 } == ["WeirError"])
    }

    @Test func `a fault of the program is no refusal`() async throws {
      let spy = try SpyTracker()
      let tracker = spy.tracker
      try await serve { router in
        router.add(middleware: TrackRequestsMiddleware(tracker))
        router.get("/") { _, _ in
          try await tracker.audit("weir.reserved")
          return "ok"
        }
      } _: { port async throws in
        #expect(try await ask(port, "GET", "/")?.status == 500)
      }
    }
  }
#endif

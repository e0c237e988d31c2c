// Stage: an application on a port of its own, asked over a bare socket, beside the log that its middleware writes.

#if Hummingbird
  import Foundation
  import Hummingbird
  import HTTPTypes
  import Instrumentation
  import Logging
  import NIOCore
  import TestSupport
  import Testing
  import Weir
  import WeirHummingbird
  import WeirTesting

  /// Runs an application with these routes while `body` asks it.
  func serve(
    _ routes: (Router<BasicRequestContext>) -> Void, _ body: @escaping @Sendable (Int) async throws -> Void
  ) async throws {
    let router = Router()
    routes(router)
    try await serve(router, body)
  }

  /// Runs an application with this router while `body` asks it. The port is one that is free.
  func serve<Context: RequestContext>(
    _ router: Router<Context>, _ body: @escaping @Sendable (Int) async throws -> Void
  ) async throws where Context.Source == ApplicationRequestContextSource {
    let (ports, port) = AsyncStream<Int>.makeStream()
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let application = Application(
      router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: logger)
    try await withThrowingTaskGroup { group in
      group.addTask { try await application.run() }
      for await port in ports {
        try await body(port)
        break
      }
      group.cancelAll()
    }
  }

  extension SpyTracker {
    /// The events in the order of their captures: offsets do not order the events of different threads.
    var inTime: [StoredEvent] {
      all.sorted { ($0.monotonicNanoseconds ?? 0) < ($1.monotonicNanoseconds ?? 0) }
    }

    /// The requests in the order of their captures.
    var requests: [RequestEvent] { inTime.compactMap { try? RequestEvent($0) } }
  }

  struct Answer {
    var status: Int
    var body: String
  }

  /// Asks, and reads the whole answer; `nil` if the server closed the connection before the end of the head.
  func ask(
    _ port: Int, _ method: String, _ path: String, headers: [String] = [], body: String? = nil
  ) async throws -> Answer? {
    var lines = ["\(method) \(path) HTTP/1.1", "Host: test", "Connection: close"] + headers
    if let body { lines.append("Content-Length: \(body.utf8.count)") }
    let connection = try Connection(port: port)
    connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    let text = String(decoding: try await connection.readToEnd(), as: UTF8.self)
    guard let end = text.range(of: "\r\n\r\n") else { return nil }
    let words = text[..<end.lowerBound].split(separator: " ")
    return Answer(status: try #require(Int(words[1])), body: String(text[end.upperBound...]))
  }

  // MARK: Spans

  /// What a tracer keeps of a span: the header that the tracer sends on, under a key of its own.
  enum SpanKey: ServiceContextKey {
    typealias Value = String
  }

  /// Sends spans on as W3C Trace Context says.
  private struct TestInstrument: Instrument {
    func extract<Carrier, Extract: Extractor>(
      _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    func inject<Carrier, Inject: Injector>(
      _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
      guard let header = context[SpanKey.self] else { return }
      injector.inject("vendor=1", forKey: "tracestate", into: &carrier)
      injector.inject(header, forKey: "traceparent", into: &carrier)
    }
  }

  /// A process has one instrument. Requests of other tests have no span, which this instrument leaves alone.
  private let isInstrumented: Bool = {
    InstrumentationSystem.bootstrap(TestInstrument())
    return true
  }()

  func inSpan<Result>(_ header: String, _ body: () async throws -> Result) async rethrows -> Result {
    precondition(isInstrumented)
    var context = ServiceContext.topLevel
    context[SpanKey.self] = header
    return try await ServiceContext.$current.withValue(context) { try await body() }
  }

  /// What a tracing middleware does: a span around the request, from the header or a new one.
  struct SpanMiddleware<Context: RequestContext>: RouterMiddleware {
    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      guard let name = HTTPField.Name("traceparent"), let header = request.headers[name] else {
        return try await next(request, context)
      }
      return try await inSpan(header) { try await next(request, context) }
    }
  }
#endif

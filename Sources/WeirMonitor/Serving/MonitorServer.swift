// MonitorServer: takes a request through the gate to its route.

#if Monitor
  import Foundation
  import HTTPTypes
  import Hummingbird
  import HummingbirdCore
  import Logging
  import NIOCore
  import Synchronization
  import Weir
  import WeirDelivery
  import WeirJSON

  /// What a request asks for could not be given.
  struct MonitorProblem: Error {
    var status: HTTPResponse.Status
    var message: String

    init(_ status: HTTPResponse.Status, _ message: String) {
      self.status = status
      self.message = message
    }

    /// A log that can't be read is not the reader's fault.
    init(_ error: WeirError) {
      self.init(error.code == .missing ? .notFound : .serviceUnavailable, error.message)
    }
  }

  /// What Hummingbird gives of a connection: the channel, which tells whether anybody reads.
  struct MonitorContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
      coreContext = .init(source: source)
      channel = source.channel
    }
  }

  final class MonitorServer: HTTPResponder {
    typealias Context = MonitorContext

    private let configuration: Monitor.Configuration
    private let session: MonitorSession
    private let source: MonitorSource
    private let page = MonitorPage()
    private let streams = Mutex(0)
    private let isEnding = Atomic(false)
    private let port = Mutex(0)

    init(_ configuration: Monitor.Configuration, _ source: MonitorSource) throws(WeirError) {
      self.configuration = configuration
      self.source = source
      // The port is in the cookie's name.
      let scope = "\(source.path) \(configuration.host) \(configuration.allowsRemote) \(configuration.showsSensitive)"
      session = try MonitorSession(keyFile: configuration.keyFile, scope: scope)
    }

    /// Ends streams and exports. A server that shuts down waits for them.
    func end() { isEnding.store(true, ordering: .relaxed) }

    /// The address to open, with the token that is valid at present.
    var address: String {
      let host =
        switch configuration.host {
        case "0.0.0.0", "localhost": "127.0.0.1"
        case "::": "::1"
        default: configuration.host
        }
      return "http://\(HostName.inAddress(host)):\(port.withLock { $0 })/?token=\(session.currentToken)"
    }

    /// The server on one address. `listening` is called with the port.
    func application(
      host: String, port: Int, logger: Logger, listening: @escaping @Sendable (Int) -> Void
    ) -> Application<MonitorServer> {
      Application(
        responder: self, server: .http1(configuration: .init(idleTimeout: .seconds(10))),
        configuration: .init(
          address: .hostname(host, port: port), serverName: nil,
          availableConnectionsDelegate: MaximumAvailableConnections(
            Monitor.Configuration.mostConnections, logger: logger)),
        onServerRunning: { [self] channel in
          let bound = channel.localAddress?.port ?? 0
          self.port.withLock { $0 = bound }
          listening(bound)
        }, logger: logger)
    }

    // MARK: Requests

    func respond(to request: Request, context: MonitorContext) async throws -> Response {
      let query = Query(request.uri.query)
      let gate = RequestGate(
        session: session, host: configuration.host, port: port.withLock { $0 },
        allowsRemote: configuration.allowsRemote)
      do {
        do throws(RequestGate.Refusal) {
          let token = request.uri.path == "/" ? query["token"] : nil
          switch try gate.check(request.head, token: token) {
          case .exchange(let cookie): return signedIn(cookie, query)
          case .withoutToken: return redirect(query)
          case .enter: break
          }
        } catch {
          var response = failure(error.status, error.message)
          if error.status == .methodNotAllowed { response.headers[.allow] = "GET" }
          return response
        }
        return try await answer(request, query, context.channel)
      } catch let error as MonitorProblem {
        return failure(error.status, error.message)
      } catch let error as WeirError {
        let problem = MonitorProblem(error)
        return failure(problem.status, problem.message)
      } catch let error as FilterError {
        return failure(.badRequest, error.message)
      }
    }

    /// The browser gets the cookie, and goes to the address without the token.
    private func signedIn(_ cookie: String, _ query: Query) -> Response {
      configuration.onAddress(address)
      let name = MonitorSession.cookieName(port: port.withLock { $0 })
      let age = MonitorSession.lifetime.components.seconds
      var response = redirect(query)
      response.headers[.setCookie] = "\(name)=\(cookie); Path=/; Max-Age=\(age); HttpOnly; SameSite=Strict"
      return response
    }

    private func redirect(_ query: Query) -> Response {
      var headers = page.headers
      headers[.location] = "/" + query.without("token")
      return Response(status: .seeOther, headers: headers)
    }

    private func answer(_ request: Request, _ query: Query, _ channel: any Channel) async throws -> Response {
      switch request.uri.path {
      case "/":
        let pages = configuration.pages.filter { $0.isThere() }
        return response(page.bytes(linkingTo: pages), "text/html; charset=utf-8")
      case "/logs": return json(source.list)
      case "/stream": return try stream(request, query, channel)
      case "/event":
        guard let offset = query["offset"].flatMap({ Offset($0) }) else {
          throw MonitorProblem(.badRequest, "the event's offset is missing, or is no whole number; send offset=4711")
        }
        let log = try source.watch(query["log"])
        log.come()
        defer { log.go() }
        return json(
          try EventDetails(
            log, offset, showsSensitive: configuration.showsSensitive, preview: configuration.preview
          ).json)
      case "/export.jsonl": return try export(.jsonl, query, channel)
      case "/export.csv": return try export(.csv, query, channel)
      case let path:
        if let linked = configuration.pages.first(where: { "/" + $0.name == path && $0.isThere() }) {
          let text = linked.html()
          var response = response(Array(text.utf8), "text/html; charset=utf-8")
          response.headers[.contentSecurityPolicy] = MonitorPage.policy(of: text)
          return response
        }
        throw MonitorProblem(.notFound, "there is nothing at \(path.cut(to: 100)); open /")
      }
    }

    // MARK: Answers

    private func stream(_ request: Request, _ query: Query, _ channel: any Channel) throws -> Response {
      let name = query["log"]
      let watch = try source.watch(name)
      let filter = try EventFilter(query["q"] ?? "")
      let resumed = request.headers[.lastEventID].flatMap { ResumePoint($0) }
      let from = try query["from"].map { text in
        guard let point = ResumePoint(text) else {
          throw MonitorProblem(.badRequest, "from=\(text.cut(to: 100)) is no offset; send a whole number")
        }
        return point
      }
      let place = try place(watch)
      let stream = EventStream(
        watch, filter: filter, resume: resumed ?? from, showsSensitive: configuration.showsSensitive
      ) { [source] in
        (try? source.watch(name)).map { $0 !== watch } ?? false
      }
      var headers = page.headers
      headers[.contentType] = "text/event-stream"
      // A proxy that buffers would hold frames back.
      headers[HTTPField.Name("X-Accel-Buffering")!] = "no"
      return Response(
        status: .ok, headers: headers,
        body: ResponseBody { [self] writer in
          defer { place.leave() }
          try await stream.run { text in
            try await Self.write(text, to: &writer, channel)
          } streams: { [self] in
            streams.withLock { $0 }
          } isEnding: { [self] in
            isEnding.load(ordering: .relaxed)
          }
          try await writer.finish(nil)
        })
    }

    /// Gives a stream's place back, also if the stream is never written.
    private final class StreamPlace: Sendable {
      private let server: MonitorServer
      private let watch: LogWatch
      private let isLeft = Mutex(false)

      init(server: MonitorServer, watch: LogWatch) {
        self.server = server
        self.watch = watch
        watch.come()
      }

      func leave() {
        let isFirst = isLeft.withLock { isLeft in
          defer { isLeft = true }
          return !isLeft
        }
        guard isFirst else { return }
        server.streams.withLock { $0 -= 1 }
        watch.go()
      }

      deinit { leave() }
    }

    /// Takes the place of a stream or an export.
    private func place(_ watch: LogWatch) throws(MonitorProblem) -> StreamPlace {
      let isFree = streams.withLock { count in
        guard count < Monitor.Configuration.mostStreams else { return false }
        count += 1
        return true
      }
      guard isFree else {
        throw MonitorProblem(
          .serviceUnavailable,
          "\(Monitor.Configuration.mostStreams) pages and exports are open already; close one, and load this page again"
        )
      }
      return StreamPlace(server: self, watch: watch)
    }

    /// How long a reader may let the server wait. Then the connection is closed: it would keep its place for ever.
    private static let patience = TimeAmount.seconds(30)

    private static func write(_ bytes: [UInt8], to writer: inout any ResponseBodyWriter, _ channel: any Channel)
      async throws
    {
      guard channel.isActive else { throw CancellationError() }
      let alarm = channel.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
      defer { alarm.cancel() }
      try await writer.write(ByteBuffer(bytes: bytes))
    }

    private func export(_ format: EventExport.Format, _ query: Query, _ channel: any Channel) throws -> Response {
      let watch = try source.watch(query["log"])
      let filter = try EventFilter(query["q"] ?? "")
      let place = try place(watch)
      let export = try EventExport(watch, filter, format, showsSensitive: configuration.showsSensitive)
      var headers = page.headers
      headers[.contentType] = format.contentType
      headers[.contentDisposition] = "attachment; filename=\"events.\(format.rawValue)\""
      return Response(
        status: .ok, headers: headers,
        body: ResponseBody { [self] writer in
          defer { place.leave() }
          // A reader that has gone reads nothing, and nothing is looked through for it.
          while channel.isActive, !Task.isCancelled, !isEnding.load(ordering: .relaxed), let bytes = try export.next() {
            if !bytes.isEmpty { try await Self.write(bytes, to: &writer, channel) }
            await Task.yield()
          }
          try await writer.finish(nil)
        })
    }

    private func json(_ value: FieldValue) -> Response {
      response(Array(MonitorJSON.json(value).utf8), "application/json")
    }

    private func failure(_ status: HTTPResponse.Status, _ message: String) -> Response {
      var response = json(.object(["error": .string(message)]))
      response.status = status
      return response
    }

    private func response(_ bytes: [UInt8], _ type: String) -> Response {
      var headers = page.headers
      headers[.contentType] = type
      return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
  }

  /// The query of an address.
  struct Query {
    private var items: [(name: String, value: String)] = []

    init(_ text: String?) {
      for pair in (text ?? "").split(separator: "&") {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        items.append((Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : ""))
      }
    }

    /// The value of a name, if it is not empty.
    subscript(name: String) -> String? {
      items.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }

    /// The query without one name, with its question mark; empty if nothing is left.
    func without(_ name: String) -> String {
      let left = items.filter { $0.name != name }.map { Self.encoded($0.name) + "=" + Self.encoded($0.value) }
      return left.isEmpty ? "" : "?" + left.joined(separator: "&")
    }

    private static func decoded(_ text: Substring) -> String {
      let spaced = text.replacing("+", with: " ")
      return spaced.removingPercentEncoding ?? String(spaced)
    }

    private static func encoded(_ text: String) -> String {
      text.utf8.map { byte in
        let isPlain =
          (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || [0x2d, 0x2e, 0x5f].contains(byte)
        let digits = (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        return isPlain ? String(UnicodeScalar(byte)) : "%" + digits
      }.joined()
    }
  }
#endif

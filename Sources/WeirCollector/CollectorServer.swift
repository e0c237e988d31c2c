// CollectorServer: takes a request from Hummingbird to the vendor whose form it is in, and its answer back, with
// whatever fault is put into it on the way.

#if Collector
  import WeirJSON
  import Foundation
  import HTTPTypes
  import Hummingbird
  import HummingbirdCore
  import Logging
  import NIOCore
  import Weir

  /// What Hummingbird gives of a connection: the channel, which faults close.
  struct CollectorContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
      coreContext = .init(source: source)
      channel = source.channel
    }
  }

  final class CollectorServer: HTTPResponder {
    let faults: FaultDraw
    private let configuration: Collector.Configuration
    private let store: Store
    private let intake: BodyIntake
    private let pipeline: Pipeline
    private let batches: BatchIntake

    init(_ configuration: Collector.Configuration, _ store: Store) throws(WeirError) {
      self.configuration = configuration
      self.store = store
      faults = FaultDraw(configuration.faults)
      intake = BodyIntake(configuration)
      pipeline = Pipeline(store, faults)
      batches = try BatchIntake(configuration, in: store.directory)
    }

    func application(logger: Logger, listening: @escaping @Sendable (Int) -> Void) -> Application<CollectorServer> {
      let seconds = min(configuration.idleTime, Collector.Configuration.longest).components.seconds
      let idle = TimeAmount.seconds(max(1, seconds))
      return Application(
        responder: self,
        server: .http1(
          configuration: .init(additionalChannelHandlers: [KeepAliveHandler.Installer()], idleTimeout: idle)),
        configuration: .init(
          address: .hostname(configuration.host, port: configuration.port), serverName: "weir-collector",
          availableConnectionsDelegate: MaximumAvailableConnections(configuration.maximumConnections, logger: logger)),
        onServerRunning: { channel in listening(channel.localAddress?.port ?? 0) }, logger: logger)
    }

    var bufferedBytes: Int { intake.bufferedBytes }

    func statistics() async throws -> CollectorStatistics {
      try await pipeline.statistics()
    }

    // MARK: Requests

    func respond(to request: Request, context: CollectorContext) async throws -> Response {
      let path = request.uri.path
      if path == "/_weir" || path.hasPrefix("/_weir/") {
        return response(await pipelineAnswer(request, context))
      }
      if BatchIntake.isAt(path) { return await batchResponse(to: request, context) }
      guard let route = Route(path: path) else {
        let answer = Answer.text(404, "there is nothing at \(path.cut(to: 200)); see weir collect --help\n")
        return await unwanted(request, answer)
      }
      guard request.method == .post else {
        if route.answersGet, request.method == .get { return response(.text(200, "Ok.\n")) }
        if route.answersGet, request.method == .head { return response(Answer(200)) }
        var answer = Answer.text(405, "\(path) takes POST\n")
        answer.headers.append(("Allow", "POST"))
        return await unwanted(request, answer)
      }
      let fault: DrawnFault?
      do {
        fault = try drawnFault(of: request)
      } catch {
        return await unwanted(request, .text(400, "X-Weir-Fault: \(error)\n"))
      }
      let answer = await answer(to: request, over: context.channel, by: route, fault)
      return await response(answer, with: fault, context)
    }

    private func drawnFault(of request: Request) throws -> DrawnFault? {
      faults.next(asked: try request.headers[Self.faultHeader].map { try Fault($0) })
    }

    private func batchResponse(to request: Request, _ context: CollectorContext) async -> Response {
      let fault: DrawnFault?
      do {
        fault = try drawnFault(of: request)
      } catch {
        return await unwanted(request, .text(400, "X-Weir-Fault: \(error)\n"))
      }
      if let fault, fault.kind.storesNothing {
        await intake.discard(request)
        return response(injected(fault.kind) { .text($0, "\($1)\n") })
      }
      let answer = await batches.answer(to: request, over: context.channel) { await intake.discard(request) }
      return await response(answer, with: fault, context)
    }

    /// The answer to a request whose body nobody wants: what comes of it is passed over, within bounds, for a client in
    /// the middle of sending would not see the answer otherwise.
    private func unwanted(_ request: Request, _ answer: Answer) async -> Response {
      let hasBody = request.headers[.contentLength].map { $0 != "0" } ?? (request.headers[.transferEncoding] != nil)
      guard hasBody else { return response(answer) }
      await intake.discard(request)
      return response(answer.closing())
    }

    private static let faultHeader = HTTPField.Name("X-Weir-Fault")!

    private func pipelineAnswer(_ request: Request, _ context: CollectorContext) async -> Answer {
      var body: [UInt8] = []
      if request.method == .post {
        do throws(IntakeProblem) {
          body = try await intake.read(request, over: context.channel)
        } catch {
          return .text(400, "the body can't be read\n").closing()
        }
        intake.release(body.count)
      }
      return await pipeline.answer(
        method: request.method.rawValue, path: request.uri.path, query: Self.query(request), body: body)
    }

    /// Reads the body, stores what is good in it, and says so.
    private func answer(
      to request: Request, over connection: any Channel, by route: Route, _ fault: DrawnFault?
    ) async -> Answer {
      let body: [UInt8]
      do throws(IntakeProblem) {
        body = try await intake.read(request, over: connection)
      } catch {
        return await refused(error, by: route.vendor(for: nil))
      }
      defer { intake.release(body.count) }
      // A small body can unpack to millions of values, which take ten times its bytes once they are read.
      let values = JSONSize.values(in: body)
      guard values <= VendorLimits.values else { return await refused(.tooManyValues, by: route.vendor(for: nil)) }
      guard intake.takeValues(values) else { return await refused(.busy, by: route.vendor(for: nil)) }
      defer { intake.releaseValues(values) }
      if let fault, fault.kind.storesNothing { return injected(fault.kind, route.vendor(for: body).answer) }
      let vendor = route.vendor(for: body)
      let vendorRequest = VendorRequest(
        path: request.uri.path, query: Self.query(request), contentType: request.headers[.contentType] ?? "",
        body: body)
      do {
        var batch: Batch
        do throws(Refusal) {
          batch = try vendor.read(vendorRequest)
          batch.bytes = body.count
        } catch {
          try await reject(error, body, vendor)
          return error.answer
        }
        return try await taken(&batch, by: vendor, fault)
      } catch {
        // The log's own errors: nothing is known to be stored, so the client must keep it.
        return vendor.answer(503, "the log can't take events: \(error)").retry(after: 1)
      }
    }

    /// Stores a batch, as far as its vendor would take it.
    private func taken(_ batch: inout Batch, by vendor: any Vendor, _ fault: DrawnFault?) async throws -> Answer {
      var isHalf = false
      if case .partial? = fault?.kind, !batch.events.isEmpty {
        if vendor.namesFailures {
          Self.fail(&batch, seed: fault?.seed ?? 0)
        } else {
          // The vendor can't say which: it stores some, and fails.
          let left = Self.chosen(batch.count, seed: fault?.seed ?? 0)
          batch.events.removeAll { left.contains($0.index) }
          isHalf = true
        }
      }
      let takesGood = batch.failures.isEmpty || vendor.takesGoodOnes(of: batch)
      let stored = takesGood ? try await store.store(batch.events) : Stored()
      if !stored.failures.isEmpty {
        let lost = Set(stored.failures.map(\.index))
        batch.events.removeAll { lost.contains($0.index) }
        batch.failures.append(contentsOf: stored.failures)
        batch.failures.sort { $0.index < $1.index }
      }
      try await store.reject(batch.failures.map { rejected($0, vendor) })
      if let reason = stored.refusal {
        return vendor.answer(503, "the log refuses events: \(reason)").retry(after: 1)
      }
      if isHalf { return vendor.answer(500, "a part of the batch is stored (a fault that was asked for)") }
      return vendor.answer(to: batch, taken: stored.count)
    }

    // MARK: Refusals

    private func refused(_ problem: IntakeProblem, by vendor: any Vendor) async -> Answer {
      switch problem {
      case .tooLarge(let limit): vendor.answer(413, "request exceeds max limit of \(limit) bytes").closing()
      case .tooManyValues:
        vendor.answer(413, "request has more than \(VendorLimits.values) values; send fewer events at a time").closing()
      case .tooSlow: vendor.answer(408, "the request took too long to come").closing()
      case .busy: vendor.answer(503, "too many requests at a time").retry(after: 1).closing()
      case .encoding(let name):
        vendor.answer(415, "Content-Encoding \(name.cut(to: 100)) is not known here; there is gzip").closing()
      case .damaged: vendor.answer(400, "the body is no gzip, or damaged")
      case .ended: vendor.answer(400, "the body ended early").closing()
      }
    }

    private func reject(_ refusal: Refusal, _ body: [UInt8], _ vendor: any Vendor) async throws {
      if refusal.failures.isEmpty {
        let text = String(decoding: body.prefix(RejectedEvent.textBytes), as: UTF8.self)
        try await store.reject([
          RejectedEvent(vendor: vendor.name, index: nil, id: nil, field: "", reason: refusal.reason, text: text)
        ])
      } else {
        try await store.reject(refusal.failures.map { rejected($0, vendor) })
      }
    }

    private func rejected(_ failure: Failure, _ vendor: any Vendor) -> RejectedEvent {
      var text: [UInt8] = []
      JSONText.append(failure.value, to: &text)
      return RejectedEvent(
        vendor: vendor.name, index: failure.index, id: failure.id, field: failure.field, reason: failure.reason,
        text: String(decoding: text, as: UTF8.self))
    }

    /// The names and values of a query; a plus stands for a space, as forms have it.
    private static func query(_ request: Request) -> [String: String] {
      var query: [String: String] = [:]
      for pair in (request.uri.query ?? "").split(separator: "&") {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { part in
          let text = String(part.replacing("+", with: " "))
          return text.removingPercentEncoding ?? text
        }
        query[parts[0]] = parts.count == 2 ? parts[1] : ""
      }
      return query
    }

    // MARK: Faults

    private func injected(_ kind: Fault.Kind, _ answer: (Int, String) -> Answer) -> Answer {
      switch kind {
      case .status(let status): return answer(status, "a fault that was asked for")
      case .retryAfter(let seconds): return answer(429, "a fault that was asked for").retry(after: seconds)
      default: return Answer(302, [("Location", Pipeline.redirectedPath)])
      }
    }

    /// Moves one event in four, and at least one, to the failures.
    private static func fail(_ batch: inout Batch, seed: UInt64) {
      let chosen = chosen(batch.count, seed: seed)
      for incoming in batch.events where chosen.contains(incoming.index) {
        batch.failures.append(
          Failure(
            index: incoming.index, id: incoming.event.id, field: "", kind: .invalid,
            reason: "a fault that was asked for", value: .object(incoming.event.fields)))
      }
      batch.events.removeAll { chosen.contains($0.index) }
      batch.failures.sort { $0.index < $1.index }
    }

    private static func chosen(_ count: Int, seed: UInt64) -> Set<Int> {
      var chance = Chance(seed: seed)
      var chosen = Set((0..<count).filter { _ in chance.unit() < 0.25 })
      if chosen.isEmpty, count > 0 { chosen.insert(Int(chance.next() % UInt64(count))) }
      return chosen
    }
  }
#endif

// middleware-bench DIRECTORY: what the middleware adds to a request, without a network: a router with the middleware and
// a router without, called in turns. Prints nanoseconds a request: the median of the turns, and the least, which other
// processes of the machine disturb least.

import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Weir
import WeirHummingbird

/// What Hummingbird itself takes for any middleware.
struct Idle: RouterMiddleware {
  func handle(
    _ request: Request, context: BasicRequestContext, next: (Request, BasicRequestContext) async throws -> Response
  ) async throws -> Response {
    try await next(request, context)
  }
}

@main
struct Command {
  static let calls = 2_000
  static let turns = 401

  static func main() async throws {
    var configuration = Tracker.Configuration()
    configuration.byteLimit = 256 << 20
    configuration.atByteLimit = .dropOldest
    let tracker = try Tracker(directory: CommandLine.arguments[1], configuration: configuration)
    let plain = Router()
    let idle = Router()
    idle.add(middleware: Idle())
    let alone = Router()
    alone.add(middleware: TrackRequestsMiddleware(tracker))
    let bound = Router()
    bound.add(
      middleware: TrackRequestsMiddleware(
        tracker, fields: { _, _ in ["request": "4bf92f3577b34da6"] }, user: { _, _ in "ada" }))
    let routers = [plain, idle, alone, bound]
    for router in routers {
      router.get("/items/:item") { _, _ in ByteBuffer(string: "a thing") }
    }
    let responders = routers.map { $0.buildResponder() }
    let channel = EmbeddedChannel()
    let source = ApplicationRequestContextSource(channel: channel, logger: Logger(label: "bench"))
    let request = Request(
      head: HTTPRequest(method: .get, scheme: "http", authority: "bench", path: "/items/7"),
      body: RequestBody(buffer: ByteBuffer()))
    // Not on the main actor, as in a server: from there each call would change threads.
    let times = try await Task.detached {
      var times = responders.map { _ in [Double]() }
      for turn in 0..<turns {
        for step in responders.indices {
          let index = (step + turn) % responders.count
          let start = ContinuousClock.now
          for _ in 0..<calls {
            _ = try await responders[index].respond(to: request, context: BasicRequestContext(source: source))
          }
          times[index].append((.now - start) / .nanoseconds(calls))
        }
      }
      return times
    }.value
    let medians = times.map { $0.sorted()[$0.count / 2] }
    let least = times.map { $0.min() ?? 0 }
    func show(_ what: String, _ time: ([Double]) -> Double) {
      print("\(what): \(Int(time(medians))) ns, least \(Int(time(least)))")
    }
    show("a request without a network") { $0[0] }
    show("a middleware that does nothing") { $0[1] - $0[0] }
    show("the middleware") { $0[2] - $0[0] }
    show("the middleware with a user and a field") { $0[3] - $0[0] }
    let counters = tracker.counters
    guard counters.dropped.isEmpty else { fatalError("events were refused: \(counters.dropped)") }
    print("events captured: \(counters.accepted), none refused")
    try tracker.close()
  }
}

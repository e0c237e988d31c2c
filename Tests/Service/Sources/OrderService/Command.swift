// Command: opens the log, delivers its events, and serves. All is configured by the environment.
//
//   PORT                 the port, on loopback
//   EVENTS_DIRECTORY     the log; without it the same service without Weir
//   EVENTS_DELIVERED     the directory of the delivered events; without it nothing is delivered
//   EVENTS_BYTE_LIMIT …  the options of the log: Tracker.Configuration(config:)

import Configuration
import Hummingbird
import Logging
import ServiceLifecycle
import Weir
import WeirConfiguration
import WeirDelivery
import WeirHummingbird
import WeirLifecycle

@main
struct Command {
  static func main() async throws {
    let config = ConfigReader(provider: EnvironmentVariablesProvider())
    let events = config.scoped(to: "events")
    var services: [any Service] = []
    var tracker: Tracker?
    if let directory = events.string(forKey: "directory") {
      let opened = try Tracker(directory: directory, configuration: try await .init(config: events))
      if let delivered = events.string(forKey: "delivered") {
        let dispatcher = try Dispatcher(opened)
        try dispatcher.add(JSONLinesProvider(delivered))
        services.append(dispatcher)
      }
      tracker = opened
    }
    let router = Router(context: CallContext.self)
    router.add(middleware: Front())
    if let tracker {
      router.add(
        middleware: TrackRequestsMiddleware(
          tracker, fields: { _, context in context.requestID.map { ["request": .string($0)] } ?? [:] },
          user: { _, context in context.user }))
    }
    Orders(tracker: tracker).addRoutes(to: router)
    var logger = Logger(label: "orders")
    logger.logLevel = .warning
    let port = try config.requiredInt(forKey: "port")
    // A group ends its services in the reverse order: the dispatcher delivers what the last requests captured.
    let application = Application(
      router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)), services: services,
      logger: logger)
    try await application.runService()
    try tracker?.close()
  }
}

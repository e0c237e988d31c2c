// shop: a web shop of four requests, which the benchmark loads with Weir and without in turns.
import ArgumentParser
import Hummingbird
import Logging
import Weir
import WeirContracts

@main
struct Command: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "shop",
    abstract: "A web service of four requests; with --log it captures 1.25 events a request, with three bindings.",
    discussion: "With --log an inspector checks the events against a contract beside the requests.")

  @Option(help: "The port, on loopback.")
  var port: Int

  @Option(help: "Directory of a log. Without it, the same service without Weir.")
  var log: String?

  @Flag(help: "Without a log: with a middleware that reads what the one of Weir binds, and binds nothing.")
  var middleware = false

  func run() async throws {
    let tracker = try log.map { log in
      var configuration = Tracker.Configuration()
      configuration.byteLimit = 1 << 30
      configuration.atByteLimit = .dropOldest
      return try Tracker(directory: log, configuration: configuration)
    }
    let inspector = try tracker.map { try Inspector($0, contract: Shopping.contract) }
    let router = Router()
    if tracker != nil || middleware { router.add(middleware: RequestMiddleware(isBinding: tracker != nil)) }
    Shop(tracker: tracker).addRoutes(to: router)
    var logger = Logger(label: "shop")
    logger.logLevel = .warning
    let application = Application(
      router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)), logger: logger)
    try await application.runService()
    if let counts = try inspector?.inspect() {
      print("inspected \(counts.inspected), violating \(counts.violating), uninspected \(counts.uninspected)")
    }
    withExtendedLifetime(inspector) {}
    if let tracker { print("refused \(tracker.counters.dropped.values.reduce(0, +))") }
    try tracker?.close()
  }
}

// page: Sources/Weir/Weir.docc/Guides/Plans.md

#if HTTP && Configuration
  import Configuration
  import Foundation
  import Testing
  import Weir
  import WeirConfiguration
  import WeirDelivery
  import WeirHTTP

  @Suite struct PlansGuide {
    @Test func `a plan is read, added, written and configured`() async throws {
      let path = FileManager.default.temporaryDirectory.appending(path: "weir-guide-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(atPath: path) }
      let file = "\(path)/plan.json"
      try Data(#"{"providers": {"own": {"to": "http://localhost:1"}, "files": {"to": "out"}}}"#.utf8)
        .write(to: URL(filePath: file))
      let dispatcher = try Dispatcher(Tracker(directory: "\(path)/events"))
      do {
        // snippet
        let plan = try DeliveryPlan(contentsOf: file)
        try dispatcher.add(plan) { try HTTPProvider($0) }
        // end
      }
      #expect(dispatcher.providers == ["files", "own"])
      // snippet
      let mapper = EventMapper(.only(events: "checkout.*"), .snakeCase(), .titleCase())
      let plan = DeliveryPlan([
        DeliveryPlan.Entry("archive", to: DeliveryPlan.Destination("/var/lib/shop/archive")),
        DeliveryPlan.Entry("warehouse", mapper: mapper),
      ])
      let json = try plan.json()
      // end
      #expect(try DeliveryPlan(json: json)["warehouse"]?.closures == [])
      try await configured(by: file)
    }

    private func configured(by file: String) async throws {
      let environment = EnvironmentVariablesProvider(environmentVariables: [
        "DELIVERY_FILE": file, "DELIVERY_FLUSH_INTERVAL": "5s", "DELIVERY_PROVIDERS_OWN_KEY_ENV": "OWN_KEY",
        "DELIVERY_PROVIDERS_OWN_GROUPS": "company,team", "DELIVERY_PROVIDER_NAMES": "local",
        "DELIVERY_PROVIDERS_LOCAL_TO": "/tmp/events",
      ])
      let config = ConfigReader(provider: environment)
      // snippet
      let plan = try await DeliveryPlan(config: config.scoped(to: "delivery"))
      // end
      #expect(plan.entries.map(\.name) == ["own", "files", "local"])
      #expect(plan.entries.allSatisfy { $0.options.flush.interval == .seconds(5) })
      #expect(plan["own"]?.destination?.key == .environment("OWN_KEY"))
      #expect(plan["own"]?.destination?.groups == ["company", "team"])
      #expect(plan["local"]?.destination?.to == "/tmp/events")
    }
  }
#endif

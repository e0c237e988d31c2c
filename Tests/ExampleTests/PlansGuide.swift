// page: Sources/Weir/Weir.docc/Guides/Plans.md

#if HTTP
  import Foundation
  import Testing
  import Weir
  import WeirDelivery
  import WeirHTTP

  @Suite struct PlansGuide {
    @Test func `a plan is read, added and written`() throws {
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
    }
  }
#endif

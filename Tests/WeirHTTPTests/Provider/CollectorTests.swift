// Every preset against the collector, which was written from the vendors' documents by itself.

#if HTTP && Collector
  import Foundation
  import Testing
  import Weir
  import WeirCollector
  import WeirDelivery
  import WeirTesting

  import WeirHTTP

  /// Every preset against the collector, which reads each vendor's form by itself.
  @Suite struct CollectorTests {
    /// A collector on a free port, in a folder that is removed after.
    private func withCollector(
      _ faults: Faults = .none, _ body: (Collector, String) async throws -> Void
    ) async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "weir-\(UUID().uuidString)").path
      defer { try? FileManager.default.removeItem(atPath: folder) }
      var configuration = Collector.Configuration(directory: folder)
      configuration.faults = faults
      let collector = try Collector(configuration)
      let port = try await collector.start()
      do {
        try await body(collector, "http://127.0.0.1:\(port)")
        try await collector.stop()
      } catch {
        try await collector.stop()
        throw error
      }
    }

    private func provider(_ name: HTTPPresetName, _ endpoint: String) throws -> HTTPProvider {
      try HTTPProvider(try name.sample(endpoint: endpoint), configuration: .patient)
    }

    /// What it took, in the order of the captures: that of its log is that in which its lanes were drained, and it
    /// answers requests on several threads.
    private func inOrder(_ collector: Collector) throws -> [CollectedEvent] {
      try collector.events().enumerated().sorted { left, right in
        (left.element.received ?? .init(nanosecondsSince1970: 0), left.offset)
          < (right.element.received ?? .init(nanosecondsSince1970: 0), right.offset)
      }.map(\.element)
    }

    /// The id of a collected event: PostHog's are UUIDs.
    private func id(_ event: CollectedEvent) -> EventID? {
      event.id.flatMap { EventID($0) ?? UUID(uuidString: $0).flatMap { EventID($0) } }
    }

    @Test(arguments: HTTPPresetName.allCases)
    func `what is sent is taken as it is`(_ name: HTTPPresetName) async throws {
      try await withCollector { collector, endpoint in
        let provider = try provider(name, endpoint)
        let user = EventUser(id: "user-1", traits: ["plan": "pro"])
        let events = (0..<300).map { sampleEvent($0, ["order": .int(Int64($0))], user: $0 < 100 ? nil : user) }
        try await provider.identify(user)
        #expect(try await provider.deliver(events) == Array(repeating: .accepted, count: 300))
        await provider.shutdown()
        let taken = try inOrder(collector).filter { $0.type != "identify" && $0.name != "$identify" }
        #expect(taken.map { id($0) } == events.map(\.stored.id))
        let expected = name == .ga4 ? "checkout_completed" : "checkout.completed"
        #expect(taken.allSatisfy { $0.name == expected })
        #expect(try collector.rejected().isEmpty)
      }
    }

    /// Text, numbers and shapes that are hard to write down, in every vendor's form.
    @Test(arguments: HTTPPresetName.allCases)
    func `every preset keeps to the protocol`(_ name: HTTPPresetName) async throws {
      try await withCollector { collector, endpoint in
        try await ProviderConformance.check(
          [.name, .delivery, .verdictCount, .verdictValues, .order, .extremeValues, .associations, .cancellation],
          claims: [.keepsOrder], patience: .seconds(900),
          makeProvider: { try provider(name, endpoint) },
          delivered: { _ in
            try inOrder(collector).compactMap { event in
              if event.type == "identify" || event.name == "$identify" { return event.user.map { .associated($0) } }
              return id(event).map { .event($0) }
            }
          })
      }
    }

    /// Where it leads, everything is answered with a success, and nothing is kept.
    @Test(arguments: HTTPPresetName.allCases)
    func `a success behind a redirect does not count`(_ name: HTTPPresetName) async throws {
      try await withCollector(try Faults("redirect", seed: 1)) { collector, endpoint in
        let provider = try provider(name, endpoint)
        #expect(await thrown { try await provider.deliver([sampleEvent(0)]) } is DeliveryStopped)
        await provider.shutdown()
        #expect(try collector.events().isEmpty)
      }
    }

    @Test(arguments: ["status=500:1", "drop-answer:1", "cut:1"])
    func `the collector's faults are failures`(_ fault: String) async throws {
      try await withCollector(try Faults(fault, seed: 1)) { collector, endpoint in
        let provider = try provider(.segment, endpoint)
        #expect(await thrown { try await provider.deliver([sampleEvent(0)]) } is HTTPFailure)
        collector.setFaults(.none)
        #expect(try await provider.deliver([sampleEvent(0)]) == [.accepted])
        await provider.shutdown()
      }
    }
  }
#endif

// page: Sources/Weir/Weir.docc/Guides/Fleet.md

#if NATS
  import TestSupport
  import Testing
  import Weir
  import WeirDelivery
  import WeirFleet
  import WeirNATS

  struct FleetGuide {
    @Test func `a program delivers to a stream`() async throws {
      try await withDirectoryAsync { directory in
        let dispatcher = try Dispatcher(
          try Tracker(directory: directory + "/log", configuration: quiet()), configuration: dispatcherConfiguration())
        // snippet
        let stream = try NATSConfiguration("nats://n1,n2,n3", stream: "events")
        try dispatcher.add(batchesTo: try BrokerBatchProvider.nats(stream), options: .asParts)
        // end
        #expect(dispatcher.ledger["nats"] != nil)
        _ = await dispatcher.shutdown(budget: .zero)
      }
    }
  }
#endif

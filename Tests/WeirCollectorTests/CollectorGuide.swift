// page: Sources/Weir/Weir.docc/Guides/Collector.md

#if Collector
  import Foundation
  import Testing
  import Weir
  import WeirCollector

  @Suite struct CollectorGuide {
    @Test func `a collector runs in the process of a test`() async throws {
      let parent = FileManager.default.temporaryDirectory.appending(path: "weir-collector-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(
        atPath: parent, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      defer { try? FileManager.default.removeItem(atPath: parent) }
      let collected = parent + "/collected"
      // snippet
      var configuration = Collector.Configuration(directory: collected)
      configuration.faults = try Faults("status=503:0.1,drop-answer:0.05", seed: 7)
      let collector = try Collector(configuration)
      let port = try await collector.start()
      // … deliver to http://127.0.0.1:PORT …
      let ids = try collector.events().map(\.id)
      try await collector.stop()
      // end
      #expect(port > 0)
      #expect(ids.isEmpty)
    }
  }
#endif

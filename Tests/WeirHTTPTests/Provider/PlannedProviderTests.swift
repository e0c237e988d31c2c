// Providers of plans: what of an entry they need, and where they find their keys.

#if HTTP
  import Foundation
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  struct PlannedProviderTests {
    private func secret(_ text: String) throws -> Secret {
      let name = "WEIR_KEY_\(UUID().uuidString.prefix(8))"
      setenv(name, text, 1)
      defer { unsetenv(name) }
      return try Secret(at: .environment(name))
    }

    @Test func `a key is read without what is around it`() throws {
      #expect(try secret("  abc123 \n").withValue { $0 } == "abc123")
    }

    @Test(arguments: ["", " \n", "a b", "a\nb", "sEcReTé", "sEcReT\r\nX-Evil: 1"])
    func `a text that can't be a key is refused, and not repeated`(text: String) {
      let error = #expect(throws: WeirError.self) { try secret(text) }
      #expect(error?.message.contains("sEcReT") == false)
    }

    @Test func `a variable that is not set is an error`() {
      #expect(throws: WeirError.self) { try Secret(at: .environment("WEIR_NO_SUCH_KEY")) }
    }

    @Test func `a key is read from a file`() throws {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("weir-key-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      func read(_ bytes: [UInt8]) throws -> String {
        let file = folder.appendingPathComponent("key")
        try Data(bytes).write(to: file)
        return try Secret(at: .file(file.path)).withValue { $0 }
      }
      #expect(try read(Array("k1\n".utf8)) == "k1")
      #expect(try read(Array(repeating: 0x61, count: Secret.maximumBytes)).utf8.count == Secret.maximumBytes)
      #expect(throws: WeirError.self) { try read(Array(repeating: 0x61, count: Secret.maximumBytes + 1)) }
      #expect(throws: WeirError.self) { try read([0x61, 0xFF]) }
      #expect(throws: WeirError.self) { try read([]) }
      #expect(throws: WeirError.self) { try Secret(at: .file(folder.path)) }
      #expect(throws: WeirError.self) { try Secret(at: .file(folder.path + "/none")) }
    }

    @Test func `an entry makes a provider of its name, without a connection`() throws {
      var destination = DeliveryPlan.Destination("http://localhost:1")
      destination.preset = .segment
      #expect(try HTTPProvider(.init("shop", to: destination)).name == "shop")
      #expect(throws: WeirError.self) { try HTTPProvider(.init("shop")) }
      #expect(throws: WeirError.self) { try HTTPProvider(.init("shop", to: .init("out"))) }
      destination.key = .environment("WEIR_NO_SUCH_KEY")
      let error = #expect(throws: WeirError.self) { try HTTPProvider(.init("shop", to: destination)) }
      #expect(error?.message.contains("the key of shop: ") == true)
      destination.key = nil
      destination.preset = .mixpanel
      destination.user = "account"
      #expect(throws: WeirError.self) { try HTTPProvider(.init("shop", to: destination)) }
    }

    /// A call that is cancelled says nothing about an endpoint that hangs, so no second endpoint would get requests.
    @Test func `a request ends before its call does`() {
      let usual = HTTPConfiguration()
      let same = usual.fitting(DeliveryOptions().attemptTimeout)
      #expect((same.timeout, same.callTime) == (usual.timeout, usual.callTime))
      let short = usual.fitting(.seconds(6))
      #expect((short.timeout, short.callTime) == (.seconds(3), .seconds(2)))
      var long = HTTPConfiguration()
      (long.timeout, long.callTime) = (.seconds(1), .seconds(60))
      let fitted = long.fitting(.seconds(30))
      #expect((fitted.timeout, fitted.callTime) == (.seconds(1), .seconds(10)))
    }

    @Test(arguments: [
      ("G-ABC123", true), ("1:23:android:0aF", false), ("1:23:ios:0af", true), ("UA-1-1", false), ("", false),
    ])
    func `Google Analytics needs a data stream`(project: String, isFit: Bool) throws {
      var destination = DeliveryPlan.Destination("http://localhost:1")
      destination.preset = .ga4
      destination.project = project
      let entry = DeliveryPlan.Entry("shop", to: destination)
      guard !isFit else {
        #expect(try HTTPProvider(entry).name == "shop")
        return
      }
      let error = try #require(throws: WeirError.self) { try HTTPProvider(entry) }
      #expect(error.message.contains("G-ABC1234567"), "\(error.message)")
    }
  }
#endif

// Pseudonyms by a keyed hash, and those of a plan.

#if HTTP
  import Foundation
  import TestSupport
  import Testing
  import Weir
  import WeirDelivery
  import WeirHTTP

  @Suite struct KeyedHashTests {
    /// The values are OpenSSL's: `printf u1 | openssl dgst -sha256 -hmac key-0123456789abcdef`.
    @Test func `a pseudonym is the keyed hash of the id`() {
      let pseudonym = Pseudonym(key: Secret("key-0123456789abcdef"))
      #expect(pseudonym("u1") == "51219d1b8433916ff5c4bc2d3a9217d8")
      #expect(pseudonym("") == "")
      #expect(Pseudonym(key: Secret("key-0123456789abcdeF"))("u1") != pseudonym("u1"))
      #expect(pseudonym.fingerprint.hasPrefix("hmac-sha256 ") && !pseudonym.fingerprint.contains("0123456789"))
    }

    @Test func `a plan's provider gets pseudonyms, and no request has the true id`() async throws {
      let server = try TestServer(.answer(200, body: #"{"success":true}"#))
      defer { server.stop() }
      try await withDirectoryAsync { directory in
        let key = directory + "/key"
        try Data("key-0123456789abcdef\n".utf8).write(to: URL(filePath: key))
        let text = """
          {"providers": {"segment": {"to": "\(server.url)", "preset": "segment", "gzip": false,
           "pseudonym_key_file": "\(key)"}}}
          """
        let plan = try DeliveryPlan(json: Data(text.utf8))
        #expect(try DeliveryPlan(json: plan.json()).entries[0].destination == plan.entries[0].destination)
        let tracker = try Tracker(directory: directory + "/log")
        try tracker.associate("true-id", traits: ["plan": "pro"])
        _ = Bindings.with(user: "another-true-id", traits: ["plan": "free"]) { tracker.track("e", fields: [:]) }
        let dispatcher = try Dispatcher(tracker)
        try dispatcher.add(plan) { try HTTPProvider($0, configuration: .patient) }
        let run = Task { try await dispatcher.run(budget: .seconds(600)) }
        let report = await dispatcher.flush(timeout: .seconds(600))
        #expect(report.isComplete, "\(report)")
        run.cancel()
        _ = try await run.value
        let all = server.requests.map(\.text).joined()
        #expect(!all.contains("true-id"))
        let pseudonym = Pseudonym(key: Secret("key-0123456789abcdef"))
        #expect(all.contains(pseudonym("true-id")) && all.contains(pseudonym("another-true-id")))
      }
    }

    @Test(arguments: ["\"to\": \"files\"", "\"to\": \"http://127.0.0.1:1\", \"pseudonym_key_env\": \"X\""])
    func `a key of pseudonyms is for a URL, and given once`(_ keys: String) {
      let text = "{\"providers\": {\"a\": {\(keys), \"pseudonym_key_file\": \"k\"}}}"
      #expect(throws: WeirError.self) { try DeliveryPlan(json: Data(text.utf8)) }
    }

    @Test func `a missing key is named`() throws {
      let text = "{\"providers\": {\"a\": {\"to\": \"http://127.0.0.1:1\", \"pseudonym_key_env\": \"WEIR_NO_SUCH\"}}}"
      let plan = try DeliveryPlan(json: Data(text.utf8))
      let error = #expect(throws: WeirError.self) { try HTTPProvider(plan.entries[0]) }
      #expect(error?.message.contains("WEIR_NO_SUCH") == true)
    }
  }
#endif

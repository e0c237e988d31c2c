// HTTPProvider keeps to the protocol of providers.

#if HTTP
  import Foundation
  import Synchronization
  import Testing
  import Weir
  import WeirDelivery
  import WeirTesting

  import WeirHTTP

  /// The suite that every provider runs, against an endpoint that keeps what it takes.
  @Suite struct ConformanceTests {
    /// What an endpoint has, in order, each event once.
    private final class Store: Sendable {
      private let kept = Mutex<(entries: [ProviderConformance.Entry], ids: Set<String>)>(([], []))

      var entries: [ProviderConformance.Entry] { kept.withLock { $0.entries } }

      func keep(_ id: String) {
        kept.withLock { kept in
          guard kept.ids.insert(id).inserted, let id = EventID(id) else { return }
          kept.entries.append(.event(id))
        }
      }

      func keep(user: String) { kept.withLock { $0.entries.append(.associated(user)) } }
    }

    @Test func `a provider of JSON lines keeps to the protocol`() async throws {
      let store = Store()
      let server = try TestServer { request in
        var rejected: [String] = []
        for line in request.text.split(separator: "\n") {
          guard let event = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
            let id = event["id"] as? String
          else { return .answer(400) }
          if event["name"] as? String == "forbidden" {
            rejected.append(#"{"id":"\#(id)","reason":"forbidden"}"#)
          } else {
            store.keep(id)
          }
        }
        return .answer(200, body: #"{"rejected":[\#(rejected.joined(separator: ","))]}"#)
      }
      defer { server.stop() }
      try await ProviderConformance.check(
        unacceptable: (name: "forbidden", fields: [:]), patience: .seconds(900),
        makeProvider: { try HTTPProvider(JSONPreset(endpoint: server.url, form: .lines), configuration: .patient) },
        delivered: { _ in store.entries })
    }

    @Test func `a provider of Segment's calls keeps to the protocol`() async throws {
      let store = Store()
      let server = try TestServer { request in
        guard let batch = (request.json as? [String: Any])?["batch"] as? [[String: Any]] else { return .answer(400) }
        for call in batch {
          if let id = call["messageId"] as? String {
            store.keep(id)
          } else if let user = call["userId"] as? String {
            store.keep(user: user)
          }
        }
        return .answer(200, body: #"{"success":true}"#)
      }
      defer { server.stop() }
      try await ProviderConformance.check(
        unacceptable: (name: "large", fields: ["text": .string(String(repeating: "x", count: 33_000))]),
        patience: .seconds(900),
        makeProvider: {
          try HTTPProvider(
            SegmentPreset(writeKey: Secret("key-12345"), endpoint: server.url), configuration: .patient)
        },
        delivered: { _ in store.entries })
    }

    @Test func `a provider of Mixpanel's import keeps to the protocol`() async throws {
      let store = Store()
      let server = try TestServer { request in
        if request.path == "/engage" { return .answer(200, body: #"{"status":1}"#) }
        guard let events = request.json as? [[String: Any]] else { return .answer(400) }
        var failed: [String] = []
        for (index, event) in events.enumerated() {
          let id = (event["properties"] as? [String: Any])?["$insert_id"] as? String ?? ""
          if event["event"] as? String == "forbidden" {
            failed.append(#"{"index":\#(index),"insert_id":"\#(id)","field":"event","message":"forbidden"}"#)
          } else {
            store.keep(id)
          }
        }
        let imported = #""num_records_imported":\#(events.count - failed.count)"#
        guard !failed.isEmpty else { return .answer(200, body: "{\(imported)}") }
        return .answer(400, body: #"{\#(imported),"failed_records":[\#(failed.joined(separator: ","))]}"#)
      }
      defer { server.stop() }
      try await ProviderConformance.check(
        unacceptable: (name: "forbidden", fields: [:]), patience: .seconds(900),
        makeProvider: {
          let preset = MixpanelPreset(account: .project(token: Secret("key-12345")), endpoint: server.url)
          return try HTTPProvider(preset, configuration: .patient)
        },
        delivered: { _ in store.entries })
    }
  }
#endif

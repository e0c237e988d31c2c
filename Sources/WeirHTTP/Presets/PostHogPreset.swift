// PostHogPreset: PostHog's batch endpoint.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if HTTP
  public import WeirDelivery
  public import Weir

  /// PostHog's `/batch/`.
  ///
  /// Documented limit: 20 MB for each request. A 400 refuses a batch with an event that is too large, and splitting the
  /// batch finds the event.
  ///
  /// | PostHog's event | Weir's event |
  /// |---|---|
  /// | `event` | name |
  /// | `uuid` | id as a UUID; PostHog keeps one event for each id |
  /// | `timestamp` | time of the capture |
  /// | `distinct_id` | user; without a user, `weir-` and the opening that captured it, without a person profile |
  /// | `properties` | fields, bound fields, view and global fields |
  ///
  /// PostHog answers 200 even if it drops events over the project's quota, and reports that in `quota_limited`. Such
  /// events are retried. An association is sent as an event `$identify` that sets the person's properties.
  public struct PostHogPreset: HTTPPreset {
    public let providerName = "posthog"
    public let endpoint: String
    public let path = "/batch/"
    public let limits = HTTPLimits(events: 10_000, bytes: 20_000_000)

    private let apiKey: Secret

    /// Creates a preset for a project, by its API key. For the EU, use `https://eu.i.posthog.com`.
    public init(apiKey: Secret, endpoint: String = "https://us.i.posthog.com") {
      self.apiKey = apiKey
      self.endpoint = endpoint
    }

    public var secrets: [Secret] { [apiKey] }

    public func encode(_ event: PreparedEvent) throws -> [UInt8] {
      guard !event.name.isEmpty else { throw EventUnfit("the event has no name, which PostHog requires") }
      var properties = JSONObject(.vendor)
      properties.add("$lib", "weir")
      // Without this, each run of the program would become a person.
      if event.userID == nil { properties.add("$process_person_profile", .bool(false)) }
      properties.add(
        members: event.properties(reserved: ["$lib", "$process_person_profile", "distinct_id", "token"]))
      var object = JSONObject(.vendor)
      object.add("event", event.name)
      object.add("distinct_id", event.userID ?? event.anonymousID)
      object.add("uuid", event.stored.id.uuid.uuidString.lowercased())
      object.add("timestamp", event.stored.time.description)
      object.add("properties", json: properties.bytes())
      return object.bytes()
    }

    public func post(_ batch: HTTPBatch) -> HTTPPost {
      HTTPPost(headers: [.json], body: batch.body(open: opening, separator: ",", close: "]}"))
    }

    private var opening: String {
      var text: [UInt8] = []
      apiKey.withValue { EventJSON().append($0, to: &text) }
      return #"{"api_key":\#(String(decoding: text, as: UTF8.self)),"batch":["#
    }

    public func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      let reading = try answer.acknowledgedWithObject(batch)
      guard (200...299).contains(answer.status), let json = answer.json else { return reading }
      let limited = (json["quota_limited"]?.array ?? []).compactMap(\.text)
      if limited.contains("events") { throw HTTPFailure("the project is over its quota of events (\(answer.summary))") }
      if json["status"]?.integer == 0 { throw HTTPFailure(answer.summary) }
      return reading
    }

    public func identify(_ user: EventUser) -> HTTPPost? {
      var object = JSONObject(.vendor)
      object.add("event", "$identify")
      object.add("distinct_id", user.id)
      object.add("properties", .object(["$lib": "weir", "$set": .object(user.traits.withUniqueNames)]))
      return HTTPPost(headers: [.json], body: Array(opening.utf8) + object.bytes() + Array("]}".utf8))
    }
  }
#endif

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
  /// | `properties` | fields, bound fields, view, global fields and annotations |
  ///
  /// PostHog answers 200 even if it drops events over the project's quota, and reports that in `quota_limited`. Such
  /// events are retried. A user whose traits PostHog was not told becomes an event `$identify` before the user's event,
  /// in the same request, which sets the person's properties; each of the user's groups becomes an event
  /// `$groupidentify`.
  public struct PostHogPreset: HTTPPreset {
    public let providerName = "posthog"
    public let endpoint: String
    public let path = "/batch/"
    public let limits = HTTPLimits(events: 10_000, bytes: 20_000_000)

    private let apiKey: Secret
    private let groups: [String]

    /// Creates a preset for a project.
    ///
    /// - Parameters:
    ///   - apiKey: The project's API key.
    ///   - endpoint: The address. For the EU, use `https://eu.i.posthog.com`.
    ///   - groups: The traits that are groups of the user, such as `company`: an id, or an object with `id` and what is
    ///     known about the group.
    public init(apiKey: Secret, endpoint: String = "https://us.i.posthog.com", groups: [String] = []) {
      self.apiKey = apiKey
      self.endpoint = endpoint
      self.groups = groups
    }

    public var secrets: [Secret] { [apiKey] }

    public func encode(_ event: PreparedEvent) throws -> [UInt8] {
      guard !event.name.isEmpty else { throw EventUnfit("the event has no name, which PostHog requires") }
      var properties = JSONObject(.vendor)
      properties.add("$lib", "weir")
      // Without this, each run of the program would become a person.
      if event.userID == nil { properties.add("$process_person_profile", .bool(false)) }
      if let groups = event.context.user?.groupIDs(groups) { properties.add("$groups", groups) }
      properties.add(
        members: event.properties(reserved: ["$lib", "$process_person_profile", "$groups", "distinct_id", "token"]))
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

    public func identification(of user: EventUser, before event: PreparedEvent?) -> [[UInt8]] {
      var parts = [change("$identify", of: user, ["$set": .object(user.traits.withUniqueNames)], before: event)]
      for group in user.groups(groups) {
        let properties: FieldObject = [
          "$group_type": .string(group.kind), "$group_key": .string(group.id),
          "$group_set": .object(group.traits.withUniqueNames),
        ]
        parts.append(change("$groupidentify", of: user, properties, before: event))
      }
      return parts
    }

    private func change(
      _ name: String, of user: EventUser, _ properties: FieldObject, before event: PreparedEvent?
    ) -> [UInt8] {
      var object = JSONObject(.vendor)
      object.add("event", name)
      object.add("distinct_id", user.id)
      if let event {
        // The id is the same whenever the part is sent again, and differs from the ids of the event and of other
        // groups.
        let kind = "\(event.stored.id) \(name) \(properties["$group_type"].map { "\($0)" } ?? "")"
        object.add(
          "uuid",
          EventID(opening: FNV1a.hash64(kind.utf8), sequence: event.stored.id.sequence).uuid.uuidString.lowercased())
        object.add("timestamp", event.stored.time.description)
      }
      object.add(
        "properties", .object(FieldObject([("$lib", .string("weir"))] + properties.map { ($0.name, $0.value) })))
      return object.bytes()
    }
  }
#endif

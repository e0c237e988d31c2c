// AmplitudePreset: Amplitude's HTTP V2 API.

#if HTTP
  public import WeirDelivery
  public import Weir

  /// Amplitude's `/2/httpapi`.
  ///
  /// Documented limits: less than 1 MB and fewer than 2,000 events for each request. Compression is not documented, so
  /// bodies are not compressed.
  ///
  /// | Amplitude's event | Weir's event |
  /// |---|---|
  /// | `event_type` | name |
  /// | `insert_id` | id; Amplitude drops events that it received in the last 7 days |
  /// | `time` | time of the capture, in milliseconds |
  /// | `user_id`, or else `device_id` | user, or else `weir-` and the opening that captured the event |
  /// | `event_properties` | fields, bound fields, view, global fields and annotations |
  ///
  /// A 400 lists the events with missing or invalid fields, and those of silenced devices. These are rejected.
  /// Amplitude then accepts no event of the request, so the others are sent again at once. A 429 lists the events of
  /// users with too many events, which wait 30 s. A user whose traits Amplitude was not told becomes an event
  /// `$identify` before the user's event, in the same request, which sets the user's properties; each of the user's
  /// groups becomes an event `$groupidentify`.
  public struct AmplitudePreset: HTTPPreset {
    public let providerName = "amplitude"
    public let endpoint: String
    public let path = "/2/httpapi"
    public let limits = HTTPLimits(events: 1_999, bytes: 999_999)
    public let takesGzip = false

    private let apiKey: Secret
    private let groups: [String]

    /// Creates a preset for a project.
    ///
    /// - Parameters:
    ///   - apiKey: The project's API key.
    ///   - endpoint: The address. For the EU, use `https://api.eu.amplitude.com`.
    ///   - groups: The traits that are groups of the user, such as `company`: an id, or an object with `id` and what is
    ///     known about the group.
    public init(apiKey: Secret, endpoint: String = "https://api2.amplitude.com", groups: [String] = []) {
      self.apiKey = apiKey
      self.endpoint = endpoint
      self.groups = groups
    }

    public var secrets: [Secret] { [apiKey] }

    public func encode(_ event: PreparedEvent) throws -> [UInt8] {
      guard !event.name.isEmpty else { throw EventUnfit("the event has no name, which Amplitude requires") }
      var object = JSONObject(.vendor)
      object.add("event_type", event.name)
      if let user = event.userID {
        object.add("user_id", user)
      } else {
        object.add("device_id", event.anonymousID)
      }
      object.add("time", .int(event.milliseconds))
      object.add("insert_id", event.stored.id.description)
      object.add("event_properties", .object(event.properties()))
      if let groups = event.context.user?.groupIDs(groups) { object.add("groups", groups) }
      return object.bytes()
    }

    public func post(_ batch: HTTPBatch) -> HTTPPost {
      let key = keyText
      // Without this option, Amplitude removes ids of fewer than five letters, and drops their events.
      return HTTPPost(
        headers: [.json],
        body: batch.body(
          open: #"{"api_key":\#(key),"options":{"min_id_length":1},"events":["#, separator: ",", close: "]}"))
    }

    private var keyText: String {
      var text: [UInt8] = []
      apiKey.withValue { EventJSON().append($0, to: &text) }
      return String(decoding: text, as: UTF8.self)
    }

    public func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      switch answer.status {
      case 400: return try invalid(answer, batch)
      case 429: return try throttled(answer, batch)
      default:
        let reading = try answer.acknowledgedWithObject(batch)
        if let count = answer.json?["events_ingested"]?.integer, count > batch.partCount { throw answer.notTheVendors }
        return reading
      }
    }

    private func invalid(_ answer: HTTPAnswer, _ batch: HTTPBatch) throws -> HTTPReading {
      guard let json = answer.json else { throw answer.refusal }
      try checkKey(json, answer)
      let error = json["error"]?.text ?? "refused"
      var reasons: [Int: String] = [:]
      for (list, what) in [("events_with_missing_fields", "missing"), ("events_with_invalid_fields", "invalid")] {
        for (field, indices) in json[list]?.members ?? [] {
          for index in indices.array ?? [] {
            guard let place = index.integer.flatMap(batch.event(inPlace:)) else { throw BatchRefused(answer.summary) }
            reasons[place] = [reasons[place], "\(what) \(field)"].compactMap { $0 }.joined(separator: ", ")
          }
        }
      }
      for index in json["silenced_events"]?.array ?? [] {
        guard let place = index.integer.flatMap(batch.event(inPlace:)) else { throw BatchRefused(answer.summary) }
        reasons[place] = reasons[place] ?? "its device is silenced"
      }
      // No event is named; the halves of the batch will show which it is.
      guard !reasons.isEmpty else { throw BatchRefused(answer.summary) }
      return HTTPReading(
        batch.events.indices.map { reasons[$0].map { .rejected("\(error): \($0)") } ?? .retry(after: .zero) })
    }

    /// Stops delivery if a 400 says that the key is wrong or missing.
    private func checkKey(_ json: JSONValue, _ answer: HTTPAnswer) throws {
      if json["error"]?.text?.lowercased().hasPrefix("invalid api key") == true
        || json["missing_field"]?.text == "api_key"
      {
        throw DeliveryStopped("the key is not accepted (\(answer.summary)); set the right one")
      }
    }

    /// Returns retries for the events of users or devices that send too fast, with the delay that Amplitude documents.
    /// Amplitude accepts no event of the request.
    private func throttled(_ answer: HTTPAnswer, _ batch: HTTPBatch) throws -> HTTPReading {
      let listed = (answer.json?["throttled_events"]?.array ?? []).compactMap(\.integer)
      let places = Set(listed.compactMap(batch.event(inPlace:)))
      guard !places.isEmpty else { return try answer.standardReading(of: batch) }
      let pause = answer.retryAfter ?? .seconds(30)
      return HTTPReading(batch.events.indices.map { .retry(after: places.contains($0) ? pause : .zero) })
    }

    public func identification(of user: EventUser, before event: PreparedEvent?) -> [[UInt8]] {
      var object = change("$identify", of: user, before: event)
      object.add("user_properties", .object(["$set": .object(user.traits.withUniqueNames)]))
      if let ids = user.groupIDs(groups) { object.add("groups", ids) }
      var parts = [object.bytes()]
      for group in user.groups(groups) where !group.traits.isEmpty {
        var object = change("$groupidentify", of: user, in: group, before: event)
        object.add("groups", .object([group.kind: .string(group.id)]))
        object.add("group_properties", .object(["$set": .object(group.traits.withUniqueNames)]))
        parts.append(object.bytes())
      }
      return parts
    }

    private func change(
      _ type: String, of user: EventUser, in group: UserGroup? = nil, before event: PreparedEvent?
    ) -> JSONObject {
      var object = JSONObject(.vendor)
      object.add("event_type", type)
      object.add("user_id", user.id)
      if let event {
        object.add("time", .int(event.milliseconds))
        object.add(
          "insert_id", ([event.stored.id.description, type] + [group?.kind].compactMap { $0 }).joined(separator: "-"))
      }
      return object
    }

    public func readIdentify(_ answer: HTTPAnswer) throws {
      if answer.status == 400, let json = answer.json { try checkKey(json, answer) }
      let reading = try answer.standardReading(of: HTTPBatch(events: [], encoded: []))
      guard (200...299).contains(answer.status) else { throw HTTPFailure(reading.notice ?? answer.summary) }
    }
  }
#endif

// SegmentPreset: Segment's HTTP Tracking API, and compatible servers.

#if HTTP
  public import WeirDelivery
  public import Weir

  /// Segment's `/v1/batch`, and that of compatible servers (RudderStack, Jitsu, Freshpaint).
  ///
  /// Documented limits: 500 KB and 2,500 events for each request, 32 KB for each event. Segment answers 200 to requests
  /// beyond these limits and to events without a user, and drops the events. Therefore this preset cuts such requests,
  /// and rejects events that are too large.
  ///
  /// An event of the kind `EventKind.pageView` becomes a `page` call, or a `screen` call if the event has a text in the
  /// field `screen` and none in the field `page`. Any other event becomes a `track` call:
  ///
  /// | call | event |
  /// |---|---|
  /// | `messageId` | id; Segment drops repeated events |
  /// | `timestamp` | time of the capture |
  /// | `userId`, or else `anonymousId` | user, or else `weir-` and the opening that captured the event |
  /// | `event`, or `name` of a page or screen | name; for a page or screen, the text in the field `page` or `screen` |
  /// | `properties` | fields, bound fields, view, global fields and annotations |
  /// | `context.traits` | the user's traits |
  /// | `context.weir` | name and offset |
  ///
  /// A user whose traits Segment was not told becomes an `identify` call before the user's event, in the same request;
  /// each of the user's groups becomes a `group` call. A 400 refuses the batch.
  ///
  /// A request has the time at which the request is made, `sentAt`. Segment subtracts the difference between `sentAt`
  /// and Segment's clock from the times of the events. So a clock that is as wrong at the capture as at the sending
  /// does no harm. ``post(_:)`` reads the clock for this.
  public struct SegmentPreset: HTTPPreset {
    public let providerName = "segment"
    public let endpoint: String
    public let path = "/v1/batch"
    public let limits = HTTPLimits(events: 2_500, bytes: 500_000, eventBytes: 32 << 10)

    private let writeKey: Secret
    private let groups: [String]
    private let now: @Sendable () -> Timestamp

    /// Creates a preset for a source.
    ///
    /// - Parameters:
    ///   - writeKey: The source's write key.
    ///   - endpoint: The address. For the EU, use `https://events.eu1.segmentapis.com`.
    ///   - groups: The traits that are groups of the user, such as `company`: an id, or an object with `id` and what is
    ///     known about the group. Segment knows the id of one group an event, the first.
    public init(writeKey: Secret, endpoint: String = "https://api.segment.io", groups: [String] = []) {
      self.init(writeKey: writeKey, endpoint: endpoint, groups: groups, now: { .now })
    }

    init(
      writeKey: Secret, endpoint: String = "https://api.segment.io", groups: [String] = [],
      now: @escaping @Sendable () -> Timestamp
    ) {
      self.writeKey = writeKey
      self.endpoint = endpoint
      self.groups = groups
      self.now = now
    }

    public var secrets: [Secret] { [writeKey] }

    public func encode(_ event: PreparedEvent) throws -> [UInt8] {
      let view = event.kind == .pageView ? Self.view(event) : nil
      var call = JSONObject(.vendor)
      call.add("type", view?.call ?? "track")
      call.add("messageId", event.stored.id.description)
      call.add("timestamp", event.stored.time.description)
      if let user = event.userID {
        call.add("userId", user)
      } else {
        call.add("anonymousId", event.anonymousID)
      }
      let name = view?.name ?? event.name
      guard !name.isEmpty else { throw EventUnfit("the event has no name, which Segment requires") }
      call.add(view == nil ? "event" : "name", name)
      call.add("properties", .object(event.properties()))
      var context = FieldObject([
        ("library", .object(["name": "weir"])),
        ("weir", .object(["event": .string(event.name), "offset": .uint(event.stored.offset)])),
      ])
      if let user = event.context.user, !user.traits.isEmpty {
        context["traits"] = .object(user.traits.withUniqueNames)
        if let group = user.groups(groups).first { context["groupId"] = .string(group.id) }
      }
      call.add("context", .object(context))
      return call.bytes()
    }

    /// The call for an event that shows a page or a screen, and the name of the page or screen.
    private static func view(_ event: PreparedEvent) -> (call: String, name: String?) {
      for call in ["page", "screen"] {
        if case .string(let name)? = event.fields[call], !name.isEmpty { return (call, name) }
      }
      return ("page", nil)
    }

    public func post(_ batch: HTTPBatch) -> HTTPPost {
      post(batch.body(open: #"{"batch":["#, separator: ",", close: #"],"sentAt":"\#(now())"}"#))
    }

    public func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      if (200...299).contains(answer.status), !answer.body.isEmpty {
        if answer.json?["success"]?.bool == false { throw BatchRefused(answer.summary) }
        // Segment answers with an object. Some compatible servers answer with this word.
        let isWord = answer.body.count < 10 && answer.text.lowercased().contains("ok")
        guard answer.json?.isObject == true || isWord else { throw answer.notTheVendors }
      }
      return try answer.standardReading(of: batch)
    }

    public func identification(of user: EventUser, before event: PreparedEvent?) -> [[UInt8]] {
      var calls = [call("identify", of: user, user.traits, before: event)]
      for group in user.groups(groups) { calls.append(call("group", of: user, group.traits, in: group, before: event)) }
      return calls
    }

    private func call(
      _ type: String, of user: EventUser, _ traits: FieldObject, in group: UserGroup? = nil,
      before event: PreparedEvent?
    ) -> [UInt8] {
      var call = JSONObject(.vendor)
      call.add("type", type)
      if let event {
        call.add(
          "messageId", ([event.stored.id.description, type] + [group?.kind].compactMap { $0 }).joined(separator: "-"))
        call.add("timestamp", event.stored.time.description)
      }
      call.add("userId", user.id)
      if let group { call.add("groupId", group.id) }
      call.add("traits", .object(traits.withUniqueNames))
      call.add("context", .object(["library": ["name": "weir"]]))
      return call.bytes()
    }

    private func post(_ body: [UInt8]) -> HTTPPost {
      // The key is the user of basic authentication, with an empty password.
      let authorization = writeKey.withValue { HTTPHeader.basic(user: $0, password: Secret("")) }
      return HTTPPost(headers: [.json, HTTPHeader("authorization", secret: authorization.value)], body: body)
    }
  }
#endif

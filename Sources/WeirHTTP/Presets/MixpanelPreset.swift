// MixpanelPreset: Mixpanel's event import.

#if HTTP
  public import WeirDelivery
  public import Weir

  /// Mixpanel's `/import`, in strict mode.
  ///
  /// Documented limits: 2,000 events and 10 MB for each request, 1 MB for each event.
  ///
  /// | Mixpanel's event | Weir's event |
  /// |---|---|
  /// | `event` | name |
  /// | `$insert_id` | id; Mixpanel keeps one event for each id |
  /// | `time` | time of the capture, in milliseconds |
  /// | `distinct_id` | user; empty without a user, which Mixpanel excludes from user reports |
  /// | other properties | fields, bound fields, view, global fields and annotations |
  ///
  /// A 400 names the events that failed. These are rejected, and the others are imported. A 400 that names no event, or
  /// events that were not sent, refuses the batch, and its halves show which event is at fault.
  ///
  /// The profiles of users whose traits Mixpanel was not told are set through `/engage` before the request with the
  /// users' events, and the profiles of their groups through `/groups`, if there is a project token. Of a user who
  /// changes within one request, Mixpanel is told the latest.
  public struct MixpanelPreset: HTTPPreset {
    /// The account that imports.
    public struct Account: Sendable {
      let user: String
      let password: Secret
      let project: String?
      let token: Secret?

      /// A service account for a project. Its token is needed only for the profiles of users and groups.
      public static func service(user: String, secret: Secret, project: String, token: Secret? = nil) -> Account {
        Account(user: user, password: secret, project: project, token: token)
      }

      /// A project, by its token.
      public static func project(token: Secret) -> Account {
        Account(user: "", password: Secret(""), project: nil, token: token)
      }

      var authorization: HTTPHeader {
        guard project == nil, let token else { return .basic(user: user, password: password) }
        return HTTPHeader(
          "authorization", secret: token.withValue { HTTPHeader.basic(user: $0, password: Secret("")).value })
      }
    }

    public let providerName = "mixpanel"
    public let endpoint: String
    public let path = "/import"
    public let limits = HTTPLimits(events: 2_000, bytes: 10_000_000, eventBytes: (1 << 20) - 1)

    private let account: Account
    private let groups: [String]

    /// Creates a preset for an account.
    ///
    /// - Parameters:
    ///   - account: The account that imports.
    ///   - endpoint: The address. For the EU, use `https://api-eu.mixpanel.com`, for India
    ///     `https://api-in.mixpanel.com`.
    ///   - groups: The traits that are groups of the user, such as `company`: an id, or an object with `id` and what is
    ///     known about the group. The trait's name is the project's group key.
    public init(account: Account, endpoint: String = "https://api.mixpanel.com", groups: [String] = []) {
      self.account = account
      self.endpoint = endpoint
      self.groups = groups
    }

    public var secrets: [Secret] {
      [account.password, account.token].compactMap { $0 }.filter { !$0.isEmpty }
    }

    public func encode(_ event: PreparedEvent) throws -> [UInt8] {
      guard !event.name.isEmpty else { throw EventUnfit("the event has no name, which Mixpanel requires") }
      var properties = JSONObject(.vendor)
      properties.add("time", .int(event.milliseconds))
      properties.add("distinct_id", event.userID ?? "")
      properties.add("$insert_id", event.stored.id.description)
      let ids = event.context.user?.groups(groups) ?? []
      for group in ids { properties.add(group.kind, group.id) }
      properties.add(
        members: event.properties(reserved: ["time", "distinct_id", "$insert_id", "token"] + ids.map(\.kind)))
      var object = JSONObject(.vendor)
      object.add("event", event.name)
      object.add("properties", json: properties.bytes())
      return object.bytes()
    }

    public func post(_ batch: HTTPBatch) -> HTTPPost {
      var query = [(name: "strict", value: "1")]
      if let project = account.project { query.append(("project_id", project)) }
      return HTTPPost(
        query: query, headers: [.json, account.authorization],
        body: batch.body(open: "[", separator: ",", close: "]"))
    }

    public func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      switch answer.status {
      case 200...299:
        let reading = try answer.acknowledgedWithObject(batch)
        if let imported = answer.json?["num_records_imported"]?.integer, imported != batch.count {
          throw HTTPFailure("\(imported) events were imported of \(batch.count) (\(answer.summary))")
        }
        return reading
      case 400: return try failures(in: answer, of: batch)
      default: return try answer.standardReading(of: batch)
      }
    }

    /// Returns rejections of the named events. All other events were imported. If the numbers don't agree, the answer
    /// is ignored.
    private func failures(in answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      guard let json = answer.json, let failed = json["failed_records"]?.array, !failed.isEmpty else {
        throw answer.refusal
      }
      var reading = HTTPReading(.accepted, count: batch.count)
      var places = Set<Int>()
      for record in failed {
        guard let place = place(of: record, in: batch) else { throw BatchRefused(answer.summary) }
        let field = record["field"]?.text.map { "\($0): " } ?? ""
        let reason = field + (record["message"]?.text ?? "failed validation")
        // An event may fail because of several fields.
        if places.insert(place).inserted {
          reading.verdicts[place] = .rejected(reason)
        } else if case .rejected(let before) = reading.verdicts[place] {
          reading.verdicts[place] = .rejected("\(before); \(reason)")
        }
      }
      if let imported = json["num_records_imported"]?.integer, imported != batch.count - places.count {
        throw BatchRefused(answer.summary)
      }
      return reading
    }

    /// Returns the index of a failed event, by its id if there is one. The id must agree with the index.
    private func place(of record: JSONValue, in batch: HTTPBatch) -> Int? {
      let index = record["index"]?.integer.flatMap { batch.events.indices.contains($0) ? $0 : nil }
      guard let id = record["insert_id"]?.text ?? record["$insert_id"]?.text, !id.isEmpty else { return index }
      if let index, batch.events[index].stored.id.description == id { return index }
      return record["index"] == nil ? batch.events.firstIndex { $0.stored.id.description == id } : nil
    }

    public func identify(_ users: [EventUser]) -> [HTTPPost] {
      guard let token = account.token else { return [] }
      let profiles = users.map { user in
        var traits = user.traits.withUniqueNames
        for group in user.groups(groups) { traits[group.kind] = .string(group.id) }
        return profile(token, [("$distinct_id", user.id)], traits)
      }
      let known = users.flatMap { $0.groups(groups) }.filter { !$0.traits.isEmpty }
      let groupProfiles = known.map { profile(token, [("$group_key", $0.kind), ("$group_id", $0.id)], $0.traits) }
      // Mixpanel takes 2,000 profiles of users, and 200 of groups, in a request.
      return posts("/engage", profiles, most: 2_000) + posts("/groups", groupProfiles, most: 200)
    }

    private func profile(_ token: Secret, _ ids: [(String, String)], _ traits: FieldObject) -> [UInt8] {
      var profile = JSONObject(.vendor)
      token.withValue { profile.add("$token", $0) }
      for (name, id) in ids { profile.add(name, id) }
      profile.add("$set", .object(traits.withUniqueNames))
      return profile.bytes()
    }

    private func posts(_ path: String, _ profiles: [[UInt8]], most: Int) -> [HTTPPost] {
      stride(from: 0, to: profiles.count, by: most).map { start in
        let part = profiles[start..<min(start + most, profiles.count)]
        return HTTPPost(
          path: path, query: [("verbose", "1")], headers: [.json],
          body: Array("[".utf8) + part.joined(separator: [UInt8(ascii: ",")]) + Array("]".utf8))
      }
    }

    public func readIdentify(_ answer: HTTPAnswer) throws {
      if (200...299).contains(answer.status), answer.json?["status"]?.integer == 0 || answer.body == [0x30] {
        throw BatchRefused(answer.summary)
      }
      let reading = try answer.standardReading(of: HTTPBatch(events: [], encoded: []))
      guard (200...299).contains(answer.status) else { throw HTTPFailure(reading.notice ?? answer.summary) }
    }
  }
#endif

// GA4Preset: the Measurement Protocol of Google Analytics 4.

#if HTTP
  public import WeirDelivery
  import Weir

  /// Google Analytics 4: the Measurement Protocol's `/mp/collect`.
  ///
  /// Documented limits: 25 events and less than 130 kB for each request. Compression is not documented, so bodies are
  /// not compressed. A request is about one client, so a request only has the events of one client and one user.
  ///
  /// | Google's request | Weir's event |
  /// |---|---|
  /// | `client_id` of a web stream | the field `client_id`, or else two numbers: see below |
  /// | `app_instance_id` of an app stream | the field `app_instance_id`, which is required |
  /// | `user_id` | user |
  /// | `user_properties` | the user's traits |
  /// | `name` | name; `.`, `-`, `/`, `:` and spaces become `_` |
  /// | `timestamp_micros` | time of the capture, in microseconds |
  /// | parameter `weir_id` | id; Google recognises no repeated event |
  /// | parameter `weir_name` | name, if `name` is another |
  /// | parameter `engagement_time_msec` | the field of this name, or else 1: see below |
  /// | other parameters | fields, bound fields, view and global fields; then annotations, where there is room |
  /// | parameter `weir_traits` | the traits that are cut or left out, on events that tell of a user: see below |
  ///
  /// The client's id is a field of the event, a bound field or a global field. Without the field, a web stream gets two
  /// numbers that are derived from the user's id or, without a user, from the opening that captured the event. Google's
  /// reports leave out users without `engagement_time_msec`. They also need the parameter `session_id`: bind a field of
  /// this name, with the number of the session.
  ///
  /// Nested objects become parameters such as `price_amount`, `true` and `false` become texts, and null is left out. An
  /// array becomes its JSON text; an array of objects named `items` stays, for Google's events of sales.
  ///
  /// Google reports success for every request, also for events that Google drops. This preset rejects an event that
  /// Google would drop, or would keep without a part: a reserved or invalid name, more than 25 parameters, a value that
  /// is too long, an event that was captured more than 72 hours ago. ``encode(_:)`` reads the clock for this.
  ///
  /// A trait never costs an event. A text of more than 36 characters is cut, as Google's own libraries do. A trait with
  /// a reserved or invalid name, or a name of more than 24 characters, any other value that is too long, and the traits
  /// after the first 25 are left out. The event that tells of the user (`PreparedEvent.identifies`) has the parameter
  /// `weir_traits`, if it has room for one: such as `bio: cut; user_id: left out`.
  ///
  /// The API secret is a part of the URL, as Google requires. No error, log or report of Weir contains the secret.
  /// Servers and proxies log URLs.
  public struct GA4Preset: HTTPPreset {
    /// The data stream that gets the events.
    public enum Stream: Hashable, Sendable {
      /// A web stream, by its measurement ID (`G-…`).
      case web(measurementID: String)
      /// An app stream, by its Firebase app ID (`1:…:android:…`).
      case app(firebaseAppID: String)
    }

    public let providerName = "ga4"
    public let endpoint: String
    public let limits = HTTPLimits(events: 25, bytes: 129_999)
    public let takesGzip = false

    private let stream: Stream
    private let apiSecret: Secret
    private let adConsent: Bool?
    private let isDebug: Bool
    private let now: @Sendable () -> Timestamp

    /// Creates a preset for a data stream.
    ///
    /// - Parameters:
    ///   - stream: The data stream.
    ///   - apiSecret: The stream's API secret for the Measurement Protocol.
    ///   - endpoint: The address. For the EU, use `https://region1.google-analytics.com`.
    ///   - adConsent: The users' consent to use the data for advertising, and to personalise it. `nil` leaves the
    ///     consent to what Google knows of the client.
    ///   - debug: Whether events go to Google's validation server (`/debug/mp/collect`), which says what is wrong with
    ///     each event and **keeps none**. An address with this path has the same effect. Deliver under another name
    ///     than the real provider's: validated events count as accepted.
    public init(
      stream: Stream, apiSecret: Secret, endpoint: String = "https://www.google-analytics.com",
      adConsent: Bool? = nil, debug: Bool = false
    ) {
      self.init(
        stream: stream, apiSecret: apiSecret, endpoint: endpoint, adConsent: adConsent, debug: debug, now: { .now })
    }

    init(
      stream: Stream, apiSecret: Secret, endpoint: String, adConsent: Bool? = nil, debug: Bool = false,
      now: @escaping @Sendable () -> Timestamp
    ) {
      self.stream = stream
      self.apiSecret = apiSecret
      self.endpoint = endpoint
      self.adConsent = adConsent
      let place = endpoint.firstRange(of: "://").map { endpoint[$0.upperBound...] } ?? endpoint[...]
      isDebug = debug || place.drop { $0 != "/" }.hasPrefix("/debug/")
      self.now = now
    }

    public var path: String { isDebug ? "/debug/mp/collect" : "/mp/collect" }

    public var secrets: [Secret] { [apiSecret] }

    // MARK: Requests

    public func encode(_ event: PreparedEvent) throws -> [UInt8] {
      _ = try client(of: event)
      try checkTime(of: event)
      let name = try GA4Names.event(event.name, isApp: isApp)
      var object = JSONObject(.vendor)
      object.add("name", name)
      object.add("timestamp_micros", .int(Self.microseconds(event.stored.time)))
      object.add("params", json: try parameters(of: event, named: name))
      return object.bytes()
    }

    public func sharedPart(of event: PreparedEvent) -> [UInt8] {
      // What can't be in a request makes the event unfit, see encode(_:).
      guard let client = try? client(of: event) else { return [] }
      var object = JSONObject(.vendor)
      object.add(clientName, client)
      if let user = event.userID { object.add("user_id", user) }
      if let json = userProperties(of: event).json { object.add("user_properties", json: json) }
      if let adConsent {
        let word = FieldValue.string(adConsent ? "GRANTED" : "DENIED")
        object.add("consent", .object(["ad_user_data": word, "ad_personalization": word]))
      }
      if isDebug { object.add("validation_behavior", "ENFORCE_RECOMMENDATIONS") }
      return Array(object.bytes().dropFirst().dropLast()) + [UInt8(ascii: ",")]
    }

    public func post(_ batch: HTTPBatch) -> HTTPPost {
      let shared = batch.events.first.map { sharedPart(of: $0) } ?? []
      let opening = "{" + String(decoding: shared, as: UTF8.self) + #""events":["#
      let query: (String, String) =
        switch stream {
        case .web(let id): ("measurement_id", id)
        case .app(let id): ("firebase_app_id", id)
        }
      return HTTPPost(
        query: [query], secretQuery: [("api_secret", apiSecret)], headers: [.json],
        body: batch.body(open: opening, separator: ",", close: "]}"))
    }

    private var isApp: Bool { if case .app = stream { true } else { false } }

    private var clientName: String { isApp ? "app_instance_id" : "client_id" }

    /// Returns the id of the client that the event is about.
    private func client(of event: PreparedEvent) throws -> String {
      if let user = event.userID, user.utf16.count > GA4Names.userIDLength {
        throw EventUnfit(
          "the user's id has \(user.utf16.count) characters; the limit of Google Analytics is \(GA4Names.userIDLength)")
      }
      let places = [event.fields, event.context.fields, event.context.globals]
      if let given = places.lazy.compactMap({ $0[clientName] }).first(where: { $0 != .null }) {
        if case .string(let id) = given, isApp ? !id.isEmpty : Self.isClientID(id) { return id }
        throw EventUnfit(
          isApp
            ? "the field app_instance_id is no text; set the id that the Firebase SDK gives"
            : "the field client_id is not two positive numbers with a period in between; set the id of the tag, as in "
              + "the cookie _ga")
      }
      guard !isApp else {
        throw EventUnfit(
          "the event has no field app_instance_id, which an app stream requires; bind the id that the Firebase SDK "
            + "gives")
      }
      let number = event.userID.map { FNV1a.hash64($0.utf8) } ?? event.stored.id.opening
      return "\(max(number >> 32, 1)).\(max(number & 0xFFFF_FFFF, 1))"
    }

    private static func isClientID(_ text: String) -> Bool {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      return parts.count == 2
        && parts.allSatisfy { part in
          (1...20).contains(part.utf8.count) && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
            && part.contains { $0 != "0" }
        }
    }

    private static let oldest: Int64 = 72 * 3_600 * 1_000_000_000

    private func checkTime(of event: PreparedEvent) throws {
      let (age, overflow) = now().nanosecondsSince1970.subtractingReportingOverflow(
        event.stored.time.nanosecondsSince1970)
      guard overflow ? now() > event.stored.time : age > Self.oldest else { return }
      throw EventUnfit(
        "the event is of \(event.stored.time), more than 72 hours ago; Google Analytics would give it another time")
    }

    private static func microseconds(_ time: Timestamp) -> Int64 {
      let (quotient, rest) = time.nanosecondsSince1970.quotientAndRemainder(dividingBy: 1_000)
      return rest < 0 ? quotient - 1 : quotient
    }

    private func parameters(of event: PreparedEvent, named name: String) throws -> [UInt8] {
      var object = JSONObject(.vendor)
      var names = UniqueNames(["weir_id", "weir_name"])
      var count = 1
      object.add("weir_id", event.stored.id.description)
      if name != event.name {
        object.add("weir_name", event.name)
        count += 1
      }
      var isEngaged = false
      // What Weir adds must not cost the event. So annotations are cut, and added only where there is room.
      var plain = event
      plain.annotations = []
      for leaf in FieldObject(plain.properties().filter { $0.name != clientName }).leaves {
        let mapped = names.unique(try GA4Names.parameter(leaf.name))
        guard let value = try GA4Values.parameter(leaf.value, mapped) else { continue }
        // The suffix that makes the name unique makes it longer.
        _ = try GA4Names.parameter(mapped)
        object.add(mapped, value)
        isEngaged = isEngaged || mapped == "engagement_time_msec"
        count += 1
      }
      if !isEngaged {
        object.add("engagement_time_msec", .int(1))
        count += 1
      }
      guard count <= GA4Values.count else {
        throw EventUnfit(
          "the event has \(count) parameters, and the limit of Google Analytics is \(GA4Values.count); keep some with "
            + "EventMapper.only(fields:)")
      }
      var added = Array(event.annotationProperties)
      let altered = event.identifies ? userProperties(of: event).altered : []
      if !altered.isEmpty {
        added.append(.init(name: "weir_traits", value: .array(altered.map { .string($0) })))
      }
      for member in added.prefix(GA4Values.count - count) {
        object.add(names.unique(member.name), Self.text(of: member.value))
      }
      return object.bytes()
    }

    /// The texts of an annotation, cut to the length of a parameter's value.
    private static func text(of annotation: FieldValue) -> String {
      var parts: [String] = []
      switch annotation {
      case .string(let text): parts = [text]
      case .array(let texts): parts = texts.compactMap { if case .string(let text) = $0 { text } else { nil } }
      default: break
      }
      return parts.joined(separator: "; ").cut(toCharacters: GA4Values.length)
    }

    /// Returns the traits as Google's user properties, `nil` if there are none; and the traits that Google does not
    /// take as they are, each as name and what became of it.
    private func userProperties(of event: PreparedEvent) -> (json: [UInt8]?, altered: [String]) {
      guard event.userID != nil, let traits = event.context.user?.traits, !traits.isEmpty else { return (nil, []) }
      var object = JSONObject(.vendor)
      var names = UniqueNames([])
      var count = 0
      var altered: [String] = []
      for leaf in traits.leaves where !leaf.value.isNothing {
        // The suffix that makes the name unique makes it longer.
        guard count < GA4Values.count, let mapped = try? GA4Names.userProperty(leaf.name),
          let name = try? GA4Names.userProperty(names.unique(mapped)),
          let found = GA4Values.userProperty(leaf.value, name)
        else {
          altered.append("\(leaf.name): left out")
          continue
        }
        object.add(name, .object(["value": found.value]))
        if found.isCut { altered.append("\(leaf.name): cut") }
        count += 1
      }
      return (count == 0 ? nil : object.bytes(), altered)
    }

    // MARK: Answers

    public func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      var reading = try answer.standardReading(of: batch)
      guard isDebug, (200...299).contains(answer.status) else { return reading }
      guard let json = answer.json, json.isObject else { throw answer.notTheVendors }
      var reasons: [Int: String] = [:]
      for message in json["validationMessages"]?.array ?? [] {
        let text = message["description"]?.text ?? "refused without a description"
        let reason = message["validationCode"]?.text.map { "\($0): \(text)" } ?? text
        // About the client, the user or an event that is not named: the halves of the batch show which it is.
        guard let place = Self.place(of: message), batch.events.indices.contains(place) else {
          throw BatchRefused(reason)
        }
        reasons[place] = reasons[place].map { "\($0); \(reason)" } ?? reason
      }
      for (place, reason) in reasons { reading.verdicts[place] = .rejected(reason) }
      return reading
    }

    /// Returns the index of the event that a message of the validation server is about: from the path, or else from the
    /// description; `nil` if neither has an index.
    private static func place(of message: JSONValue) -> Int? {
      let path = message["fieldPath"]?.text ?? ""
      if let found = path.firstMatch(of: #/^events\[([0-9]{1,9})\]/#) { return Int(found.1) }
      let text = message["description"]?.text ?? ""
      return text.firstMatch(of: #/at index: \[([0-9]{1,9})\]/#).flatMap { Int($0.1) }
    }
  }

  extension GA4Preset.Stream {
    /// Parses the id of a data stream. Throws `invalid` unless the id has one of the two forms.
    init(_ text: String) throws(WeirError) {
      if text.wholeMatch(of: #/G-[A-Z0-9]{1,32}/#) != nil {
        self = .web(measurementID: text)
      } else if text.wholeMatch(of: #/[0-9]+:[0-9]+:[a-z]+:[0-9a-f]+/#) != nil {
        self = .app(firebaseAppID: text)
      } else {
        throw WeirError(
          .invalid,
          text.isEmpty
            ? "the preset ga4 needs a project: the data stream's measurement ID, such as G-ABC1234567, or its Firebase "
              + "app ID"
            : "the project \(text.debugDescription) is no data stream of Google Analytics 4; use a measurement ID, "
              + "such as G-ABC1234567, or a Firebase app ID, such as 1:1234567890:android:0123456789abcdef")
      }
    }
  }
#endif

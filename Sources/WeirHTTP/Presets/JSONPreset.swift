// JSONPreset: events as JSON, for your own endpoint.

#if HTTP
  public import WeirDelivery
  import Weir

  /// Sends events as JSON (`EventJSON`) to your own endpoint.
  ///
  /// Each request has an `Idempotency-Key`, which is the same if and only if the same events are sent together again.
  /// Each event has its `id`. The status decides about the events, by ``HTTPAnswer/standardReading(of:)``. An endpoint
  /// that accepts only some events answers 200 with
  ///
  /// ```json
  /// {"accepted": 98, "rejected": [{"id": "0123…", "reason": "no such product"}], "retry": [{"id": "4567…"}]}
  /// ```
  ///
  /// and has accepted all other events. `index`, counted from 0, may replace `id`, and `accepted` may be missing. An
  /// answer is ignored, and all events are retried, if it names an event that was not sent, has a different number in
  /// `accepted`, or is unreadable JSON. An address without a path gets `/events`.
  public struct JSONPreset: HTTPPreset, LinesPreset {
    /// The format of a body.
    public enum Form: Hashable, Sendable {
      /// One array: `application/json`.
      case array
      /// One event on each line: `application/x-ndjson`.
      case lines
    }

    /// The authorization of requests.
    public enum Authorization: Sendable {
      case none
      /// `Authorization: Bearer …`.
      case bearer(Secret)
      /// `Authorization: Basic …`.
      case basic(user: String, password: Secret)
      /// A header of your own.
      case header(String, Secret)

      fileprivate var header: HTTPHeader? {
        switch self {
        case .none: nil
        case .bearer(let token): .bearer(token)
        case .basic(let user, let password): .basic(user: user, password: password)
        case .header(let name, let value): HTTPHeader(name, secret: value)
        }
      }

      fileprivate var secret: Secret? {
        switch self {
        case .none: nil
        case .bearer(let secret), .basic(_, let secret), .header(_, let secret): secret
        }
      }
    }

    public let providerName = "http"
    public let endpoint: String
    public let path = "/events"
    public let limits: HTTPLimits
    public let takesGzip: Bool

    private let form: Form
    private let authorization: Authorization

    /// Creates a preset for an endpoint.
    public init(
      endpoint: String, form: Form = .array, authorization: Authorization = .none, takesGzip: Bool = true,
      limits: HTTPLimits = HTTPLimits()
    ) {
      self.endpoint = endpoint
      self.form = form
      self.authorization = authorization
      self.takesGzip = takesGzip
      self.limits = limits
    }

    public var secrets: [Secret] { [authorization.secret].compactMap { $0 } }

    public func encode(_ event: PreparedEvent) throws -> [UInt8] { EventJSON.object(event) }

    var frame: (open: String, separator: String, close: String) {
      switch form {
      case .array: ("[", ",", "]")
      case .lines: ("", "\n", "\n")
      }
    }

    public func post(_ batch: HTTPBatch) -> HTTPPost {
      let (open, separator, close) = frame
      return post(batch.body(open: open, separator: separator, close: close), key: batch.idempotencyKey)
    }

    func post(_ body: [UInt8], key: String) -> HTTPPost {
      let content = form == .array ? HTTPHeader.json : .content("application/x-ndjson")
      let others = [HTTPHeader("idempotency-key", key), authorization.header].compactMap { $0 }
      return HTTPPost(headers: [content] + others, body: body)
    }

    public func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      var reading = try answer.standardReading(of: batch)
      guard (200...299).contains(answer.status) else { return reading }
      guard let json = answer.json else {
        // Truncated or garbled: the missing part may name events that the endpoint does not have.
        if answer.isMeantAsJSON { throw HTTPFailure("the answer's JSON can't be read (\(answer.summary))") }
        return reading
      }
      func list(_ name: String) throws -> [JSONValue] {
        guard let value = json[name], !value.isNull else { return [] }
        guard let entries = value.array else {
          throw HTTPFailure("\(name) is no list, so its events are unknown (\(answer.summary))")
        }
        return entries
      }
      let rejected = try list("rejected")
      let retried = try list("retry")
      // Most answers name no event.
      let ids = retried.isEmpty && rejected.isEmpty ? [] : batch.events.map(\.id.description)
      let places = Dictionary(zip(ids, ids.indices)) { first, _ in first }
      func place(_ entry: JSONValue) throws -> Int {
        if let id = entry["id"]?.text {
          if let place = places[id] { return place }
        } else if let index = entry["index"]?.integer, ids.indices.contains(index) {
          return index
        }
        throw HTTPFailure("the answer names an event that was not sent (\(answer.summary))")
      }
      for entry in retried { reading.verdicts[try place(entry)] = .retry(after: answer.retryAfter) }
      for entry in rejected {
        reading.verdicts[try place(entry)] = .rejected(entry["reason"]?.text ?? "rejected without a reason")
      }
      let accepted = reading.verdicts.count { $0 == .accepted }
      if let count = json["accepted"]?.integer, count != accepted {
        throw HTTPFailure("the endpoint accepted \(count) of \(accepted) events (\(answer.summary))")
      }
      return reading
    }
  }
#endif

// HTTPAnswer: an endpoint's answer, and its meaning unless the vendor defines another.

#if HTTP
  import WeirDelivery
  public import Weir

  /// An answer of an endpoint.
  public struct HTTPAnswer: Hashable, Sendable {
    /// The status code.
    public var status: Int

    /// Names, in lower case, and values.
    public var headers: [Header]

    /// The decompressed body, at most ``HTTPConfiguration/maximumAnswerBytes``.
    public var body: [UInt8]

    /// The time at which the answer arrived.
    public var time: Timestamp

    /// One header of an answer.
    public struct Header: Hashable, Sendable {
      let name: String
      let value: String
    }

    /// Creates an answer.
    public init(
      status: Int, headers: [(String, String)] = [], body: [UInt8] = [],
      time: Timestamp = Timestamp(nanosecondsSince1970: 0)
    ) {
      self.status = status
      self.headers = headers.map { Header(name: $0.0.lowercased(), value: $0.1) }
      self.body = body
      self.time = time
    }

    /// The value of a header, by its name in any case. If there are several, the first.
    public subscript(header: String) -> String? {
      let name = header.lowercased()
      return headers.first { $0.name == name }?.value
    }

    /// The body as text, for errors. Invalid UTF-8 is replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON; `nil` if the body is no JSON.
    var json: JSONValue? { JSONValue(body) }

    /// The delay that the endpoint requests with `Retry-After`, in seconds or as a date; `nil` if there is none. A date
    /// is compared with the answer's own `Date`, if there is one, so that the clocks need not agree. Never negative,
    /// and at most a week, so that no header blocks delivery forever.
    public var retryAfter: Duration? {
      guard let value = self["retry-after"] else { return nil }
      let most = 7 * 86_400.0
      if let seconds = Double(value), seconds.isFinite {
        return .milliseconds(Int64((min(max(seconds, 0), most) * 1_000).rounded()))
      }
      guard let then = HTTPDate.secondsSince1970(value) else { return nil }
      let now = self["date"].flatMap { HTTPDate.secondsSince1970($0) } ?? Int(time.nanosecondsSince1970 / 1_000_000_000)
      return .seconds(min(max(then - now, 0), Int(most)))
    }

    /// The status and the beginning of the body, as the end of a sentence.
    public var summary: String {
      let reason = HTTPAnswer.phrases[status].map { " \($0)" } ?? ""
      var words = text[...]
      while words.last?.isWhitespace == true { words.removeLast() }
      return words.isEmpty ? "\(status)\(reason)" : "\(status)\(reason): \(words)"
    }

    private static let phrases: [Int: String] = [
      301: "Moved Permanently", 302: "Found", 303: "See Other", 307: "Temporary Redirect", 308: "Permanent Redirect",
      400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
      405: "Method Not Allowed", 407: "Proxy Authentication Required", 408: "Request Timeout", 410: "Gone",
      413: "Content Too Large", 415: "Unsupported Media Type", 422: "Unprocessable Content", 429: "Too Many Requests",
      500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    ]
  }

  /// The error of a missing answer, or of an answer that says nothing about the events. All events must be retried.
  public struct HTTPFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The problem, without credentials.
    public var reason: String

    /// Whether the request's time ran out before the answer arrived.
    var isLate = false

    /// Creates a failure with this reason.
    public init(_ reason: String) {
      self.reason = reason
    }

    /// Creates a failure whose reason is that the time ran out.
    static func late(_ reason: String) -> HTTPFailure {
      var failure = HTTPFailure(reason)
      failure.isLate = true
      return failure
    }

    public var description: String { reason }
  }

  extension HTTPAnswer {
    /// Whether the answer says that the request took too long, on its way or behind a gateway.
    var isLate: Bool { status == 408 || status == 504 }

    /// The standard meaning of the status, unless the vendor defines another:
    ///
    /// | status | meaning |
    /// |---|---|
    /// | 200–299 | all are accepted; if the body is a web page, which no event endpoint returns: ``HTTPFailure`` |
    /// | 401, 403, 407 | the key is wrong: `DeliveryStopped` |
    /// | 404, 405, 410, 421, 501, 505, 300–399 | the address is wrong: `DeliveryStopped` |
    /// | 402 | the endpoint requires payment: `DeliveryStopped` |
    /// | 415 | the format is wrong, for example gzip: `DeliveryStopped` |
    /// | 408, 409, 425, 429, 500–599 | all events must be retried, not before `Retry-After` |
    /// | other 400–499 | `BatchRefused`; if the body is a web page and the status is not 413: `DeliveryStopped` |
    /// | anything else | no answer to the request: ``HTTPFailure`` |
    ///
    /// 413 is a refusal like any other, because the halves of the batch are smaller. A web page comes from a proxy, and
    /// is about the request, not about its events.
    public func standardReading(of batch: HTTPBatch) throws -> HTTPReading {
      switch status {
      case 200...299:
        // A network that requires a login answers like this to any request.
        if isWebPage { throw HTTPFailure("a web page instead of an answer (\(summary))") }
        return HTTPReading(.accepted, count: batch.count)
      case 300...399: throw redirected
      case 401, 403: throw DeliveryStopped("the key is not accepted (\(summary)); set the right one")
      case 407: throw DeliveryStopped("the proxy does not accept the user and password (\(summary))")
      case 402: throw DeliveryStopped("the endpoint requires payment (\(summary))")
      case 404, 405, 410, 421, 501, 505:
        throw DeliveryStopped("there is no such endpoint (\(summary)); set the right address")
      case 415:
        throw DeliveryStopped("the endpoint does not accept this format (\(summary)); try without compression")
      case 408, 409, 425, 429, 500...599: return try toBeRetried(batch)
      case 400...499: throw refusal
      default: throw HTTPFailure("an answer with the unexpected status \(status)")
      }
    }

    /// Returns what a configured rule for the status says about the batch, whatever the body says.
    func reading(by rule: HTTPStatusRules.Meaning, of batch: HTTPBatch) throws -> HTTPReading {
      switch rule {
      case .accept: return HTTPReading(.accepted, count: batch.count)
      case .retry: return try toBeRetried(batch)
      case .reject: throw BatchRefused(summary)
      case .stop: throw DeliveryStopped("the status rules stop delivery at this answer (\(summary))")
      }
    }

    /// Returns retries of all events with the requested delay. If the endpoint requests none, throws the answer's text,
    /// which says more than a verdict.
    func toBeRetried(_ batch: HTTPBatch) throws -> HTTPReading {
      if let retryAfter { return HTTPReading(.retry(after: retryAfter), count: batch.count) }
      throw HTTPFailure(summary)
    }

    /// The error to throw if the vendor refuses the batch. A web page does not come from the vendor: delivery stops or,
    /// if the server itself failed, all events are retried.
    var refusal: any Error {
      guard status != 413, isPage else { return BatchRefused(summary) }
      if status >= 500 || status == 408 || status == 409 || status == 425 { return notTheVendors }
      return DeliveryStopped(
        "a web page that is not the endpoint's refuses the request (\(summary)); check the address, and any proxy in "
          + "between")
    }

    /// Returns the standard reading for a vendor that always acknowledges with a JSON object. An answer with any other
    /// body does not come from the vendor.
    func acknowledgedWithObject(_ batch: HTTPBatch) throws -> HTTPReading {
      if (200...299).contains(status), json?.isObject != true { throw notTheVendors }
      return try standardReading(of: batch)
    }

    /// Whether the body is, or starts like, JSON, so that the answer says more than its status.
    var isMeantAsJSON: Bool {
      guard let first = body.first(where: { $0 > 0x20 }) else { return false }
      return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        || self["content-type"]?.lowercased().contains("json") == true
    }

    /// The error of an answer that does not come from the vendor. All events must be retried.
    var notTheVendors: HTTPFailure { HTTPFailure("an answer that is not the vendor's (\(summary))") }

    private var isWebPage: Bool { isCalledPage || isPage }

    private var isCalledPage: Bool { self["content-type"]?.lowercased().hasPrefix("text/html") == true }

    /// Decided by the bytes, because many frameworks also label text and JSON as a web page.
    private var isPage: Bool {
      let start = text.prefix(200).drop { $0.isWhitespace || $0 == "\u{FEFF}" }.lowercased()
      return start.hasPrefix("<!doctype html") || start.hasPrefix("<html") || isCalledPage && start.hasPrefix("<")
    }

    private var redirected: DeliveryStopped {
      let place = self["location"].map { HTTPEndpoint.printable($0) } ?? "nowhere"
      return DeliveryStopped("the endpoint redirects to \(place) (\(status)); set the address")
    }
  }
#endif

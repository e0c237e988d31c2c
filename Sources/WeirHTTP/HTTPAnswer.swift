// HTTPAnswer: what an endpoint answered, and what that means where the vendor says nothing else.

#if HTTP
  import WeirDelivery
  public import Weir

  /// An answer of an endpoint.
  public struct HTTPAnswer: Hashable, Sendable {
    /// The status code.
    public var status: Int

    /// Names, in lower case, and values.
    public var headers: [Header]

    /// The body, uncompressed; at most ``HTTPConfiguration/maximumAnswerBytes``.
    public var body: [UInt8]

    /// When it came.
    public var time: Timestamp

    /// One header of an answer.
    public struct Header: Hashable, Sendable {
      let name: String
      let value: String
    }

    /// An answer.
    public init(
      status: Int, headers: [(String, String)] = [], body: [UInt8] = [],
      time: Timestamp = Timestamp(nanosecondsSince1970: 0)
    ) {
      self.status = status
      self.headers = headers.map { Header(name: $0.0.lowercased(), value: $0.1) }
      self.body = body
      self.time = time
    }

    /// The value of a header, by its name in any case; of several, the first.
    public subscript(header: String) -> String? {
      let name = header.lowercased()
      return headers.first { $0.name == name }?.value
    }

    /// The body as text, as an error can show it: bytes that are no UTF-8 replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON; nil if it is none.
    var json: JSONValue? { JSONValue(body) }

    /// How long the endpoint asks to be left alone, by its `Retry-After`, in seconds or as a date; nil if it does not
    /// say. A date is taken from the answer's own `Date`, if it has one, so that clocks need not agree. Never negative,
    /// and a week at most: no header holds delivery up for ever.
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

  /// An answer, or the want of one, that says nothing of the events: all are to be given again.
  public struct HTTPFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened, without credentials.
    public var reason: String

    /// The time for the request was over before its answer was there.
    var isLate = false

    /// A failure for this reason.
    public init(_ reason: String) {
      self.reason = reason
    }

    /// A failure for this reason, which is that the time was over.
    static func late(_ reason: String) -> HTTPFailure {
      var failure = HTTPFailure(reason)
      failure.isLate = true
      return failure
    }

    public var description: String { reason }
  }

  extension HTTPAnswer {
    /// Whether it says that the request took too long on its way, or behind a gateway.
    var isLate: Bool { status == 408 || status == 504 }

    /// What the status means where the vendor says nothing else:
    ///
    /// | status | meaning |
    /// |---|---|
    /// | 200–299 | all are accepted; with a web page for a body, which no endpoint for events has: ``HTTPFailure`` |
    /// | 401, 403, 407 | the key is wrong: ``DeliveryStopped`` |
    /// | 404, 405, 410, 421, 501, 505, 300–399 | the address is wrong: ``DeliveryStopped`` |
    /// | 402 | somebody must pay first: ``DeliveryStopped`` |
    /// | 415 | the form is wrong, gzip for one: ``DeliveryStopped`` |
    /// | 408, 409, 425, 429, 500–599 | all are to be retried, not before `Retry-After` |
    /// | other 400–499 | ``BatchRefused``; with a web page for a body: ``DeliveryStopped``, unless it is 413 |
    /// | anything else | no answer to the request: ``HTTPFailure`` |
    ///
    /// 413 is a refusal like any other: the halves of the batch are smaller. A web page is what a proxy on the way says,
    /// of the request and not of its events.
    public func standardReading(of batch: HTTPBatch) throws -> HTTPReading {
      switch status {
      case 200...299:
        // A network that wants somebody to log in first answers so, whatever was sent to whom.
        if isWebPage { throw HTTPFailure("a web page instead of an answer (\(summary))") }
        return HTTPReading(.accepted, count: batch.count)
      case 300...399: throw redirected
      case 401, 403: throw DeliveryStopped("the key is not accepted (\(summary)); set the right one")
      case 407: throw DeliveryStopped("the proxy does not accept the user and password (\(summary))")
      case 402: throw DeliveryStopped("the endpoint wants to be paid first (\(summary))")
      case 404, 405, 410, 421, 501, 505:
        throw DeliveryStopped("there is no such endpoint (\(summary)); set the right address")
      case 415:
        throw DeliveryStopped("the endpoint does not take this form (\(summary)); try without compression")
      case 408, 409, 425, 429, 500...599: return try toBeRetried(batch)
      case 400...499: throw refusal
      default: throw HTTPFailure("an answer with the status \(status), which means nothing here")
      }
    }

    /// All are to be given again. With what the endpoint asked for, if it did; else the words of the answer, which say
    /// more than a verdict can, are thrown.
    func toBeRetried(_ batch: HTTPBatch) throws -> HTTPReading {
      if let retryAfter { return HTTPReading(.retry(after: retryAfter), count: batch.count) }
      throw HTTPFailure(summary)
    }

    /// What is thrown where the vendor refuses the batch. What has a web page for its body does not come from the vendor:
    /// delivery stops, or, where the server itself failed, all are to be given again.
    var refusal: any Error {
      guard status != 413, isPage else { return BatchRefused(summary) }
      if status >= 500 || status == 408 || status == 409 || status == 425 { return notTheVendors }
      return DeliveryStopped(
        "a web page refuses, which does not come from the endpoint (\(summary)); see whether the address is right, "
          + "and what a proxy on the way wants")
    }

    /// The same, for a vendor that acknowledges with a JSON object and nothing else: what has another body did not come
    /// from it.
    func acknowledgedWithObject(_ batch: HTTPBatch) throws -> HTTPReading {
      if (200...299).contains(status), json?.isObject != true { throw notTheVendors }
      return try standardReading(of: batch)
    }

    /// Whether the body is, or begins as, JSON: an answer that has more to say than its status.
    var isMeantAsJSON: Bool {
      guard let first = body.first(where: { $0 > 0x20 }) else { return false }
      return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        || self["content-type"]?.lowercased().contains("json") == true
    }

    /// An answer that did not come from where the request was meant to go: all are to be given again.
    var notTheVendors: HTTPFailure { HTTPFailure("an answer that is not the vendor's (\(summary))") }

    private var isWebPage: Bool { isCalledPage || isPage }

    private var isCalledPage: Bool { self["content-type"]?.lowercased().hasPrefix("text/html") == true }

    /// By its bytes: many a framework calls text and JSON a web page, too.
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

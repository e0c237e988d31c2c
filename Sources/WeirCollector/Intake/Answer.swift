// Answer: what goes back to the client, before any fault is put into it.

#if Collector
  import WeirJSON
  import Weir

  struct Answer: Sendable {
    var status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    /// The connection is closed after it: what is still to come of the request is not wanted.
    var closes = false

    init(_ status: Int, _ headers: [(name: String, value: String)] = [], _ body: [UInt8] = []) {
      self.status = status
      self.headers = headers
      self.body = body
    }

    static func json(_ status: Int, _ object: FieldObject) -> Answer {
      var body: [UInt8] = []
      JSONText.append(object, to: &body)
      return Answer(status, [("Content-Type", "application/json")], body)
    }

    static func text(_ status: Int, _ text: String) -> Answer {
      Answer(status, [("Content-Type", "text/plain; charset=utf-8")], Array(text.utf8))
    }

    /// The same, with the client asked to come again after so many seconds.
    func retry(after seconds: Int) -> Answer {
      var answer = self
      answer.headers.append(("Retry-After", String(seconds)))
      return answer
    }

    func closing() -> Answer {
      var answer = self
      answer.closes = true
      return answer
    }

    /// The words of a status, as vendors put them into their bodies.
    static func words(_ status: Int) -> String {
      switch status {
      case 200: "OK"
      case 201: "Created"
      case 400: "Bad Request"
      case 401: "Unauthorized"
      case 403: "Forbidden"
      case 404: "Not Found"
      case 405: "Method Not Allowed"
      case 408: "Request Timeout"
      case 409: "Conflict"
      case 413: "Request Entity Too Large"
      case 415: "Unsupported Media Type"
      case 422: "Unprocessable Content"
      case 429: "Too Many Requests"
      case 500: "Internal Server Error"
      case 502: "Bad Gateway"
      case 503: "Service Unavailable"
      case 504: "Gateway Timeout"
      case 507: "Insufficient Storage"
      default: "Status \(status)"
      }
    }
  }
#endif

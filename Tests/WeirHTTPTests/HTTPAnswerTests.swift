// What a status means where the vendor says nothing else, and how long an endpoint asks to be left alone.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  import WeirHTTP

  @Suite struct HTTPAnswerTests {
    private func outcome(_ answer: HTTPAnswer) throws -> Outcome {
      try Outcome(StandardPreset(), answer)
    }

    @Test(arguments: [
      (200, Outcome.accepted), (204, .accepted), (299, .accepted), (301, .stopped), (304, .stopped), (400, .refused),
      (401, .stopped), (402, .stopped), (403, .stopped), (404, .stopped), (405, .stopped), (406, .refused),
      (407, .stopped), (408, .failed), (409, .failed), (410, .stopped), (411, .refused), (413, .refused),
      (415, .stopped), (421, .stopped), (422, .refused), (425, .failed), (429, .failed), (451, .refused),
      (500, .failed), (501, .stopped), (502, .failed), (503, .failed), (504, .failed), (505, .stopped),
      (599, .failed), (100, .failed), (600, .failed), (999, .failed),
    ])
    func `a status means what HTTP says of it`(_ status: Int, _ expected: Outcome) throws {
      #expect(try outcome(answer(status, "words")) == expected)
    }

    @Test(arguments: [408, 409, 425, 429, 500, 503])
    func `a pause that is asked for is kept`(_ status: Int) throws {
      #expect(try outcome(answer(status, "", ("Retry-After", "17"))) == .retry(17))
    }

    @Test func `a pause after success or refusal changes nothing`() throws {
      #expect(try outcome(answer(200, "", ("Retry-After", "17"))) == .accepted)
      #expect(try outcome(answer(400, "", ("Retry-After", "17"))) == .refused)
    }

    @Test(arguments: [
      ("0", Duration.zero), ("30", .seconds(30)), ("1.5", .milliseconds(1_500)), ("-5", .zero),
      ("99999999999999999999", .seconds(604_800)), ("1e300", .seconds(604_800)),
    ])
    func `a pause is read in seconds`(_ text: String, _ expected: Duration) {
      #expect(answer(503, "", ("retry-after", text)).retryAfter == expected)
    }

    @Test(arguments: ["nan", "inf", "soon", "", "Sun, 99 Nov 1994 08:49:37 GMT"])
    func `a pause that can't be one is passed over`(_ text: String) {
      #expect(answer(503, "", ("retry-after", text)).retryAfter == nil)
    }

    @Test func `a date counts from the answer's own`() {
      let date = ("Retry-After", "Sun, 06 Nov 1994 08:50:37 GMT")
      #expect(answer(503, "", date, ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")).retryAfter == .seconds(60))
      // Already over.
      #expect(answer(503, "", date, ("Date", "Sun, 06 Nov 1994 09:49:37 GMT")).retryAfter == .zero)
    }

    @Test func `a date counts from when the answer came if that has none`() {
      var late = answer(503, "", ("Retry-After", "Sun, 06 Nov 1994 08:50:37 GMT"))
      late.time = Timestamp(nanosecondsSince1970: 784_111_777 * 1_000_000_000)
      #expect(late.retryAfter == .seconds(60))
    }

    @Test(arguments: [
      answer(200, "<!DOCTYPE html><title>Log in"), answer(200, "\n <HTML>"),
      answer(204, "", ("content-type", "text/html; x")),
    ])
    func `a web page acknowledges nothing`(_ answer: HTTPAnswer) throws {
      #expect(try outcome(answer) == .failed)
    }

    /// What nginx says of a request without TLS, or without the certificate that it wants.
    private static let page = "<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>"

    @Test(arguments: HTTPPresetName.allCases)
    func `a web page is no vendor's refusal`(_ name: HTTPPresetName) throws {
      let preset = try name.sample(endpoint: "http://127.0.0.1:1")
      for status in [400, 406, 411, 422, 426, 431] {
        let outcome = try Outcome(preset, answer(status, Self.page, ("content-type", "text/html")))
        #expect(outcome == .stopped, "\(name): \(status)")
      }
      // Where the server behind it failed, or was too slow, that may be over soon.
      for status in [408, 409, 425, 500, 502, 503, 504] {
        #expect(try Outcome(preset, answer(status, Self.page)) == .failed, "\(name): \(status)")
      }
      // A proxy's limit of size is a limit: the halves are smaller.
      #expect(try Outcome(preset, answer(413, Self.page, ("content-type", "text/html"))) == .refused, "\(name)")
    }

    @Test(arguments: [
      answer(400, "bad event", ("content-type", "text/html; charset=utf-8")),
      answer(400, #"{"error":"bad"}"#, ("content-type", "text/html")), answer(400, "", ("content-type", "text/html")),
      answer(400, "a < b"),
    ])
    func `an answer that is only called a page refuses`(_ answer: HTTPAnswer) throws {
      #expect(try outcome(answer) == .refused)
    }

    @Test(arguments: ["\u{FEFF}<!DOCTYPE html>", " \n<HTML lang=en>"])
    func `pages are known by their beginning`(_ page: String) throws {
      #expect(try outcome(answer(400, page)) == .stopped)
    }

    @Test func `headers are found in any case`() {
      #expect(answer(200, "", ("X-Thing", "1"), ("x-thing", "2"))["X-THING"] == "1")
    }

    @Test func `the words of an answer end with the last one`() {
      #expect(answer(404, "nothing here \r\n").summary == "404 Not Found: nothing here")
      #expect(answer(404, " \n").summary == "404 Not Found")
    }

    @Test func `a redirect says where it leads, without the query`() throws {
      let redirect = answer(302, "", ("Location", "https://user:pass@login.example.com/in?token=abc#x"))
      #expect(throws: DeliveryStopped("the endpoint redirects to https://login.example.com/in (302); set the address"))
      {
        try redirect.standardReading(of: sampleBatch(1, for: StandardPreset()))
      }
    }
  }

  /// A preset with nothing of its own.
  struct StandardPreset: HTTPPreset {
    let providerName = "standard"
    var endpoint = "http://127.0.0.1:1"
    var limits = HTTPLimits()
    var takesGzip = true
    var secrets: [Secret] = []
    var headers: [HTTPHeader] = []
    /// Whether a request is about one user.
    var sharesUsers = false

    func sharedPart(of event: PreparedEvent) -> [UInt8] {
      sharesUsers ? Array((event.context.user?.id ?? "").utf8) : []
    }

    func encode(_ event: PreparedEvent) throws -> [UInt8] {
      if event.name == "unfit" { throw EventUnfit("unfit for this") }
      return Array("\(event.stored.id)".utf8)
    }

    func post(_ batch: HTTPBatch) -> HTTPPost {
      let shared = { (batch: HTTPBatch) in
        String(decoding: batch.events.first.map { sharedPart(of: $0) } ?? [], as: UTF8.self)
      }
      return HTTPPost(
        headers: [.content("text/plain")] + headers,
        body: batch.body(open: "<" + shared(batch), separator: "\n", close: ">"))
    }
  }
#endif

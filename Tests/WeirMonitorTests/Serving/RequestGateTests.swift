// RequestGate and MonitorSession: one test a rule. Each fails if its rule is taken out of the gate.

#if Monitor
  import Foundation
  import HTTPTypes
  import Testing

  @testable import WeirMonitor

  @Suite struct RequestGateTests {
    private let session = MonitorSession(key: Array(repeating: 7, count: 32), scope: "a")

    private func gate(host: String = "127.0.0.1", remote: Bool = false) -> RequestGate {
      RequestGate(session: session, host: host, port: 4400, allowsRemote: remote)
    }

    private func request(
      _ method: HTTPRequest.Method = .get, host: String? = "127.0.0.1:4400", cookie: Bool = true,
      _ headers: [(String, String)] = []
    ) -> HTTPRequest {
      var request = HTTPRequest(method: method, scheme: "http", authority: host, path: "/")
      if cookie, let value = session.exchange(session.currentToken) {
        request.headerFields[.cookie] = "other=1; \(MonitorSession.cookieName(port: 4400))=\(value)"
      }
      for (name, value) in headers { request.headerFields[HTTPField.Name(name)!] = value }
      return request
    }

    private func status(_ request: HTTPRequest, _ gate: RequestGate? = nil) -> Int? {
      do throws(RequestGate.Refusal) {
        _ = try (gate ?? self.gate()).check(request, token: nil)
        return nil
      } catch {
        return error.status.code
      }
    }

    @Test func `a request with a cookie enters`() {
      #expect(status(request()) == nil)
      #expect(status(request(host: "localhost:4400")) == nil)
      #expect(status(request(host: "[::1]:4400")) == nil)
    }

    @Test func `a request for two hosts is refused`() {
      #expect(status(request(host: "127.0.0.1:4400", [("Host", "evil.example")])) == 421)
    }

    @Test(arguments: [HTTPRequest.Method.head, .post, .put, .delete, .patch, .options])
    func `only reading is possible`(_ method: HTTPRequest.Method) {
      #expect(status(request(method)) == 405)
    }

    @Test(arguments: [
      nil, "", "evil.example", "evil.example:4400", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:4401",
      "localhost.evil.example:4400",
      "127.0.0.1.evil.example:4400", "[::2]:4400", "192.168.0.7:4400", "127.0.0.1:4400@evil.example", "::1:4400",
    ])
    func `a name server can't make this server another`(_ host: String?) {
      #expect(status(request(host: host)) == 421)
    }

    @Test func `another address is this server only if it was asked for`() {
      #expect(status(request(host: "10.0.0.5:4400"), gate(host: "0.0.0.0", remote: true)) == nil)
      #expect(status(request(host: "10.0.0.5:4400"), gate(host: "0.0.0.0", remote: false)) == 421)
      #expect(status(request(host: "evil.example:4400"), gate(host: "0.0.0.0", remote: true)) == 421)
      #expect(status(request(host: "shop.internal:4400"), gate(host: "shop.internal", remote: true)) == nil)
    }

    @Test(arguments: [
      ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Site", ""),
      ("Origin", "http://evil.example"), ("Origin", "null"), ("Origin", "http://127.0.0.1:4401"),
      ("Origin", "https://127.0.0.1:4400"),
    ])
    func `another site's script gets nothing`(_ name: String, _ value: String) {
      #expect(status(request([(name, value)])) == 403)
    }

    private func request(_ headers: [(String, String)]) -> HTTPRequest { request(.get, headers) }
    private func request(_ method: HTTPRequest.Method, _ headers: [(String, String)]) -> HTTPRequest {
      request(method, host: "127.0.0.1:4400", cookie: true, headers)
    }

    @Test func `the own page's requests enter`() {
      #expect(status(request([("Sec-Fetch-Site", "same-origin"), ("Origin", "http://127.0.0.1:4400")])) == nil)
      #expect(status(request([("Sec-Fetch-Site", "none")])) == nil)
    }

    @Test func `nobody enters without a cookie`() {
      #expect(status(request(cookie: false)) == 403)
      for value in ["", "1.x", "99999999999.AAAA", "\(Int64.max).", "x"] {
        let cookie = ("Cookie", "\(MonitorSession.cookieName(port: 4400))=\(value)")
        #expect(status(request(.get, host: "127.0.0.1:4400", cookie: false, [cookie])) == 403)
      }
    }

    @Test func `a token works once, and the next one is another`() throws {
      let token = session.currentToken
      #expect(session.exchange("") == nil)
      #expect(session.exchange(token + "x") == nil)
      let cookie = try #require(session.exchange(token))
      #expect(session.exchange(token) == nil)
      #expect(session.currentToken != token)
      #expect(session.accepts(cookie))
    }

    @Test func `a cookie is of one key and one scope, and ends`() throws {
      let now = Date(timeIntervalSince1970: 1_800_000_000)
      let cookie = try #require(session.exchange(session.currentToken, now: now))
      #expect(session.accepts(cookie, now: now))
      #expect(!session.accepts(cookie, now: now.addingTimeInterval(12 * 3600)))
      #expect(!MonitorSession(key: Array(repeating: 8, count: 32), scope: "a").accepts(cookie, now: now))
      #expect(!MonitorSession(key: Array(repeating: 7, count: 32), scope: "b").accepts(cookie, now: now))
      // The end can't be moved.
      let later = "1900000000" + cookie.drop { $0 != "." }
      #expect(!session.accepts(later, now: now))
    }

    @Test func `a browser that has a cookie uses up no token`() throws {
      let token = session.currentToken
      let signedIn = request()
      let next = session.currentToken
      #expect(next != token)
      #expect(try gate().check(signedIn, token: next) == .withoutToken)
      #expect(try gate().check(signedIn, token: "old") == .withoutToken)
      #expect(session.currentToken == next)
    }
  }
#endif

// RequestGate: whether a request is answered at all. The page MonitorProtocol has the rules, and what each is against.

#if Monitor
  import HTTPTypes

  /// Checks each request before a route sees it.
  struct RequestGate: Sendable {
    /// Why a request is not answered.
    struct Refusal: Error, Hashable {
      var status: HTTPResponse.Status
      var message: String
    }

    /// What a request may do.
    enum Pass: Hashable {
      /// The request is answered.
      case enter
      /// The request had the token: it gets this cookie, and is sent to the same address without the token.
      case exchange(cookie: String)
      /// The request has a cookie already: it is sent to the same address without the token, which is not used.
      case withoutToken
    }

    let session: MonitorSession
    /// The names under which the monitor may be asked, beside the loopback ones.
    let host: String
    let port: Int
    /// Whether other machines may ask, by an address in digits.
    let allowsRemote: Bool

    func check(_ request: HTTPRequest, token: String?) throws(Refusal) -> Pass {
      try checkMethod(request)
      try checkHost(request)
      try checkSite(request)
      if let token {
        if hasCookie(request) { return .withoutToken }
        guard let cookie = session.exchange(token) else {
          throw Refusal(
            status: .forbidden,
            message: "this address was used before, or is of a monitor that has ended; open the last address that "
              + "the monitor printed")
        }
        return .exchange(cookie: cookie)
      }
      guard hasCookie(request) else {
        throw Refusal(
          status: .forbidden, message: "the session is over, or never began; open the address that the monitor printed")
      }
      return .enter
    }

    private func checkMethod(_ request: HTTPRequest) throws(Refusal) {
      guard request.method == .get else {
        throw Refusal(status: .methodNotAllowed, message: "the monitor only reads; ask with GET")
      }
    }

    /// A name server of an attacker can make the browser take this server for the attacker's: then `Host` tells.
    private func checkHost(_ request: HTTPRequest) throws(Refusal) {
      guard request.headerFields[.host] == nil, request.path?.hasPrefix("/") == true, let authority = request.authority,
        let (name, port) = HostName.split(authority), port == self.port, isOwn(name)
      else {
        throw Refusal(
          status: .misdirectedRequest,
          message: "the monitor is not \(String((request.authority ?? "").prefix(100))); ask for the address that the "
            + "monitor printed")
      }
    }

    private func isOwn(_ name: String) -> Bool {
      HostName.isLoopback(name) || name == host.lowercased() || allowsRemote && HostName.isAddress(name)
    }

    private func checkSite(_ request: HTTPRequest) throws(Refusal) {
      let site = request.headerFields[.secFetchSite]
      let origin = request.headerFields[.origin]
      let isOurs = site == nil || site == "same-origin" || site == "none"
      let isOwnOrigin = origin == nil || origin == "http://\(request.authority ?? "")"
      guard isOurs, isOwnOrigin else {
        throw Refusal(status: .forbidden, message: "another site asks; open the monitor's address in a tab of its own")
      }
    }

    private func hasCookie(_ request: HTTPRequest) -> Bool {
      let name = MonitorSession.cookieName(port: port)
      return request.headerFields[values: .cookie].contains { header in
        header.split(separator: ";").contains { pair in
          let pair = pair.drop { $0 == " " }
          guard pair.hasPrefix(name + "=") else { return false }
          return session.accepts(String(pair.dropFirst(name.utf8.count + 1)))
        }
      }
    }
  }

  extension HTTPField.Name {
    /// A second one: the first is the request's authority.
    static let host = HTTPField.Name("Host")!
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
    static let lastEventID = HTTPField.Name("Last-Event-ID")!
  }
#endif

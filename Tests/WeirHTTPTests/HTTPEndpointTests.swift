// Addresses: which are taken, what of them shows, and where a redirect may lead.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  @Suite struct HTTPEndpointTests {
    private func endpoint(_ text: String) throws -> HTTPEndpoint {
      try HTTPEndpoint(text, defaultPath: "/v1/batch")
    }

    @Test func `an address without a path gets the vendor's`() throws {
      #expect(try endpoint("https://api.example.com").url() == "https://api.example.com/v1/batch")
      #expect(try endpoint("https://api.example.com/").url() == "https://api.example.com/v1/batch")
      #expect(try endpoint("HTTP://127.0.0.1:8080/in").url() == "http://127.0.0.1:8080/in")
      #expect(try endpoint("http://[::1]:80").url() == "http://[::1]:80/v1/batch")
    }

    @Test(arguments: [
      "", "example.com", "/v1", "ftp://example.com", "http://", "http:///path", "file:///etc/passwd",
      "http://example.com:0/", "http://example.com:99999/", "javascript:alert(1)", "http:// example.com",
    ])
    func `any other address is refused without repeating secrets`(_ text: String) {
      #expect(throws: WeirError.self) { try endpoint(text) }
      do {
        _ = try HTTPEndpoint("ftp://user:hunter22@example.com/?token=abcdefgh", defaultPath: "/")
      } catch {
        #expect(!error.message.contains("hunter22"))
        #expect(!error.message.contains("abcdefgh"))
        #expect(error.message.contains("ftp://example.com/"))
      }
    }

    @Test func `user and password become a header, and show nowhere`() throws {
      let endpoint = try endpoint("https://user:hunter22@example.com/in?token=abcdefgh&a=1#part")
      #expect(endpoint.url() == "https://example.com/in?token=abcdefgh&a=1")
      #expect("\(endpoint)" == "https://example.com/in")
      #expect(endpoint.authorization == .basic(user: "user", password: Secret("hunter22")))
      #expect(Set(endpoint.secrets) == [Secret("hunter22"), Secret("abcdefgh")])
      // A server repeats the address as it is written.
      let written = try self.endpoint("https://example.com/in?api_key=a%2Fb&page=abcd&s=long%2Bsession")
      #expect(Set(written.secrets) == Set(["a/b", "a%2Fb", "long+session", "long%2Bsession"].map { Secret($0) }))
      // A user without a password is often the key.
      #expect(try self.endpoint("https://key-12345@example.com").secrets == [Secret("key-12345")])
    }

    @Test func `queries are added and escaped`() throws {
      let url = try endpoint("https://example.com/in?a=1").url(query: [("query", "INSERT INTO `t` & +;é")])
      #expect(url == "https://example.com/in?a=1&query=INSERT%20INTO%20%60t%60%20%26%20%2B%3B%C3%A9")
      #expect(try endpoint("https://example.com/in").url(path: "/engage") == "https://example.com/engage")
    }

    @Test func `redirects stay on the host`() throws {
      let endpoint = try endpoint("https://example.com/batch")
      #expect(endpoint.redirected(to: "/batch/")?.url() == "https://example.com/batch/")
      #expect(endpoint.redirected(to: "https://EXAMPLE.com:443/b?x=1")?.url() == "https://example.com/b?x=1")
      for elsewhere in [
        "https://example.org/batch", "http://example.com/batch", "https://example.com:444/batch", "//example.org/",
        "https://user@example.org/", "", "?x=1",
      ] {
        #expect(endpoint.redirected(to: elsewhere) == nil, "\(elsewhere)")
      }
    }
  }
#endif

// Keys show in no text, and what a server says is made fit to be shown.

#if HTTP
  import Foundation
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  @Suite struct SecretTests {
    @Test func `a secret shows in no way of printing`() {
      let secret = Secret("s3cr3t-value")
      var dumped = ""
      dump((secret, [secret], HTTPHeader.bearer(secret)), to: &dumped)
      for text in [
        "\(secret)", String(reflecting: secret), String(describing: Optional(secret)), dumped, "\([secret: 1])",
        "\(HTTPHeader.bearer(secret))", String(reflecting: HTTPHeader.bearer(secret)),
        "\(JSONPreset.Authorization.bearer(secret))", String(reflecting: SegmentPreset(writeKey: secret)),
      ] {
        #expect(!text.contains("s3cr3t"))
      }
      #expect(secret.withValue { $0 } == "s3cr3t-value")
    }

    @Test func `a secret loses the space around it`() {
      #expect(Secret(" key\r\n") == Secret("key"))
      #expect(Secret(" \n").isEmpty)
    }

    @Test func `a secret comes from the environment`() {
      setenv("WEIR_TEST_SECRET", "key\n", 1)
      #expect(Secret(environment: "WEIR_TEST_SECRET") == Secret("key"))
      setenv("WEIR_TEST_SECRET", "", 1)
      #expect(Secret(environment: "WEIR_TEST_SECRET") == nil)
      #expect(Secret(environment: "WEIR_TEST_NO_SUCH") == nil)
    }

    @Test func `a header carries a secret`() {
      let value = HTTPHeader.basic(user: "abc123", password: Secret("")).value.withValue { $0 }
      #expect(value == "Basic YWJjMTIzOg==")
      #expect(HTTPHeader.bearer(Secret("t")).value.withValue { $0 } == "Bearer t")
    }
  }

  @Suite struct HeaderTests {
    /// What came after a line break would be taken for another header.
    @Test(arguments: ["hunter22\r\nx-evil: 1", "hunter22\nx", "hunter22\u{0}x", "hunter22\u{7f}x"])
    func `a key that no header can have is refused, and not repeated`(_ key: String) throws {
      let presets: [any HTTPPreset] = [
        JSONPreset(endpoint: "http://127.0.0.1:1", authorization: .bearer(Secret(key))),
        ClickHousePreset(table: "t", password: Secret(key)),
      ]
      for preset in presets {
        let error = try #require(throws: WeirError.self) { try HTTPProvider(preset) }
        #expect(error.code == .invalid, "\(error)")
        #expect(!error.message.contains("hunter22"), "\(error)")
      }
      var configuration = HTTPConfiguration()
      configuration.headers = [HTTPHeader("x-key", key)]
      #expect(throws: WeirError.self) {
        try HTTPProvider(endpoint: "http://127.0.0.1:1", configuration: configuration)
      }
      configuration.headers = [HTTPHeader("x key", "v")]
      #expect(throws: WeirError.self) {
        try HTTPProvider(endpoint: "http://127.0.0.1:1", configuration: configuration)
      }
    }

    @Test func `any other key is taken`() throws {
      for key in ["a b", "é", "a\tb", "a:b=+/"] {
        #expect(HTTPHeader("X-Key_1", key).isSendable, "\(key)")
      }
    }
  }

  @Suite struct ScrubberTests {
    private let scrubber = Scrubber([Secret("key-12345"), Secret("key-12345-longer"), Secret("abc"), Secret("")])

    @Test func `a key is taken out wherever it is`() {
      #expect(scrubber.clean("bad key-12345, not key-12345-longer") == "bad [secret], not [secret]")
    }

    @Test(arguments: [
      "k%2F1%2B%C3%A9%28%29~", "k%2f1%2b%c3%a9%28%29~", "k/1%2B%C3%A9%28%29~", "k%2F1%2B%C3%A9()~",
      "ay8xK8OpKCl+", "ay8xK8OpKCl-", "ay8xK8OpKCl+Og==", "ay8xK8OpKCl-Og",
    ])
    func `a key in another form is taken out`(_ form: String) {
      let scrubber = Scrubber([Secret("k/1+é()~")])
      let clean = scrubber.clean("GET /?key=\(form) was refused")
      #expect(clean.hasPrefix("GET /?key=[secret]"), "\(clean)")
      #expect(clean.hasSuffix(" was refused"), "\(clean)")
      #expect(clean.count <= "GET /?key=[secret]== was refused".count, "\(clean)")
    }

    @Test(arguments: [
      #"k\/1&<'\"\\z"#, #"k/1&<'\"\\z"#, #"k/1\u0026\u003c'\"\\z"#, #"k/1\u0026\u003c\u0027\"\\z"#,
      #"k/1&amp;&lt;'"\z"#,
      #"k/1&amp;&lt;&#39;&quot;\z"#, #"k/1&amp;&lt;&#x27;&quot;\z"#, #"k/1&amp;&lt;&#039;&quot;\z"#,
      #"k/1&amp;&lt;&#39;&#34;\z"#,
    ])
    func `a key in a text of JSON or of a web page is taken out`(_ form: String) {
      let scrubber = Scrubber([Secret(#"k/1&<'"\z"#)])
      #expect(scrubber.clean("the key \(form) is wrong") == "the key [secret] is wrong")
    }

    @Test func `a key that is too short to tell from a word is left`() {
      #expect(scrubber.clean("abc") == "abc")
    }

    @Test func `control characters and line ends are replaced`() {
      #expect(scrubber.clean("a\u{1b}[31m\r\n\tb\u{0}c\u{202e}d\u{2028}e") == "a [31m b c d e")
    }

    @Test func `a text is cut at 500 characters`() {
      #expect(scrubber.clean(String(repeating: "é", count: 500)).count == 500)
      let cut = scrubber.clean(String(repeating: "é", count: 501))
      #expect(cut.count == 500)
      #expect(cut.hasSuffix("…"))
    }

    @Test func `a key that is cut is not shown in part`() {
      // The key lies across the 500th character.
      let text = String(repeating: "x", count: 495) + "key-12345"
      #expect(!scrubber.clean(text).contains("key"))
    }

    @Test func `a rejection keeps a reason`() {
      #expect(scrubber.clean(Verdict.rejected("\u{0}")) == .rejected(" "))
      #expect(scrubber.clean(Verdict.rejected("")) == .rejected("rejected without a reason"))
      #expect(scrubber.clean(Verdict.accepted) == .accepted)
    }

    @Test func `an error stays what it is`() {
      #expect(scrubber.clean(BatchRefused("key-12345")) as? BatchRefused == BatchRefused("[secret]"))
      #expect(scrubber.clean(DeliveryStopped("key-12345")) as? DeliveryStopped == DeliveryStopped("[secret]"))
      #expect(scrubber.clean(HTTPFailure("key-12345")) as? HTTPFailure == HTTPFailure("[secret]"))
      #expect(scrubber.clean(CancellationError()) is CancellationError)
      struct Other: Error { let text = "key-12345" }
      #expect("\(scrubber.clean(Other()))".contains("key-12345") == false)
    }
  }
#endif

// Certificates that are trusted and those that are not, on both sides.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if HTTP
  import NIOSSL
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  @Suite(.enabled(if: TestCertificate.canBeMade, "skipped: \(TestCertificate.tool) is needed to make certificates"))
  struct TLSTests {
    /// Delivers to a server.
    private func deliver(
      to server: TLSServer, _ configure: (inout HTTPConfiguration) -> Void
    ) async throws -> [Verdict] {
      var configuration = HTTPConfiguration.patient
      configure(&configuration)
      let provider = try HTTPProvider(endpoint: server.url, configuration: configuration)
      do {
        let verdicts = try await provider.deliver([sampleEvent(0)])
        await provider.shutdown()
        await server.stop()
        return verdicts
      } catch {
        await provider.shutdown()
        await server.stop()
        throw error
      }
    }

    /// Delivers to a server with a certificate for `subject`.
    private func deliver(
      subject: String = "IP:127.0.0.1", _ configure: (TestCertificate, inout HTTPConfiguration) -> Void
    ) async throws -> [Verdict] {
      let certificate = try TestCertificate(subject: subject)
      defer { certificate.remove() }
      return try await deliver(to: TLSServer(certificate)) { configure(certificate, &$0) }
    }

    /// Why a delivery stops.
    private func reason(_ delivery: () async throws -> [Verdict]) async -> String {
      let error = await thrown { try await delivery() }
      return (error as? DeliveryStopped)?.reason ?? "not stopped, but: \(error.map { "\($0)" } ?? "delivered")"
    }

    @Test func `a certificate that nobody trusts stops delivery`() async throws {
      let reason = await reason { try await deliver { _, _ in } }
      #expect(reason == "the endpoint's certificate is not trusted; set the authorities that sign it")
    }

    @Test func `a certificate that is trusted is taken`() async throws {
      #expect(try await deliver { $1.tls.authorities = $0.certificate } == [.accepted])
    }

    @Test func `a certificate that a trusted authority signed is taken`() async throws {
      let authority = try TestCertificate()
      let certificate = try TestCertificate(signedBy: authority)
      defer { for one in [authority, certificate] { one.remove() } }
      let verdicts = try await deliver(to: TLSServer(certificate)) { $0.tls.authorities = authority.certificate }
      #expect(verdicts == [.accepted])
    }

    @Test func `a certificate for another host stops delivery`() async throws {
      let reason = await reason {
        try await deliver(subject: "DNS:weir.invalid") { $1.tls.authorities = $0.certificate }
      }
      #expect(reason.hasPrefix("the endpoint's certificate is not for this host"), "\(reason)")
    }

    @Test func `a certificate that has expired is said to have`() async throws {
      let authority = try TestCertificate()
      let certificate = try TestCertificate(days: -1, signedBy: authority)
      defer { for one in [authority, certificate] { one.remove() } }
      for authorities in [authority.certificate, nil] {
        let reason = await reason {
          try await deliver(to: TLSServer(certificate)) { $0.tls.authorities = authorities }
        }
        let words = /^the endpoint's certificate expired at 20[-0-9T:.]+Z; the endpoint must renew it$/
        #expect(reason.contains(words), "\(reason)")
      }
    }

    @Test func `an authority that has expired is said to have`() async throws {
      let authority = try TestCertificate(days: -1)
      let certificate = try TestCertificate(signedBy: authority)
      defer { for one in [authority, certificate] { one.remove() } }
      let reason = await reason {
        try await deliver(to: TLSServer(certificate)) { $0.tls.authorities = authority.certificate }
      }
      #expect(reason.contains("\(authority.certificate) has an authority that expired at 20"), "\(reason)")
    }

    @Test func `a certificate that is not valid yet is said not to be`() throws {
      let certificate = try TestCertificate()
      defer { certificate.remove() }
      let shown = try NIOSSLCertificate.fromPEMFile(certificate.certificate)
      let reason = UntrustedCertificate.reason(shown: shown, authorities: nil, now: 1_000_000_000)
      #expect(reason.contains(/^the endpoint's certificate is valid only from 20.* on; check .* clock$/), "\(reason)")
    }

    @Test func `a client's own certificate is shown`() async throws {
      let authority = try TestCertificate()
      let server = try TestCertificate()
      let own = try TestCertificate(signedBy: authority)
      defer { for one in [authority, server, own] { one.remove() } }
      let both = try own.file(
        "both.pem",
        try String(contentsOfFile: own.key, encoding: .utf8)
          + String(contentsOfFile: own.certificate, encoding: .utf8))
      for version in [TLSVersion.tlsv12, .tlsv13] {
        for (certificate, key) in [(own.certificate, own.key), (both, nil)] {
          let verdicts = try await deliver(to: TLSServer(server, wanting: authority, upTo: version)) {
            $0.tls.authorities = server.certificate
            $0.tls.certificate = certificate
            $0.tls.privateKey = key
          }
          #expect(verdicts == [.accepted])
        }
      }
    }

    @Test func `a server that wants a certificate stops delivery if it gets none, or another`() async throws {
      let authority = try TestCertificate()
      let server = try TestCertificate()
      defer { for one in [authority, server] { one.remove() } }
      for version in [TLSVersion.tlsv12, .tlsv13] {
        for own in [nil, server] {
          let error = await thrown {
            try await deliver(to: TLSServer(server, wanting: authority, upTo: version)) {
              $0.tls.authorities = server.certificate
              $0.tls.certificate = own?.certificate
              $0.tls.privateKey = own?.key
            }
          }
          // What a server of TLS 1.2 says has more than one meaning, so delivery does not stop for it.
          #expect(error is DeliveryStopped || version == .tlsv12 && own == nil, "\(error.map { "\($0)" } ?? "none")")
          #expect(error.map { "\($0)" }?.contains("this program") == true)
        }
      }
    }

    @Test func `files that can't be used stop delivery, and are named`() async throws {
      let certificate = try TestCertificate()
      let other = try TestCertificate()
      defer { for one in [certificate, other] { one.remove() } }
      let nothing = try certificate.file("nothing.pem", "")
      let text = try certificate.file("text.pem", "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")
      let folder = certificate.folder
      func tls(_ certificate: String?, _ key: String?, authorities: String? = nil) -> HTTPConfiguration.TLS {
        var tls = HTTPConfiguration.TLS()
        (tls.authorities, tls.certificate, tls.privateKey) = (authorities, certificate, key)
        return tls
      }
      let own = certificate.certificate
      let cases = [
        (tls(nil, nil, authorities: "/no/such.pem"), "/no/such.pem can't be read: No such file or directory"),
        (tls(nil, nil, authorities: folder), "\(folder) is no regular file"),
        (tls(nil, nil, authorities: nothing), "\(nothing) holds no certificate"),
        (tls(nil, nil, authorities: certificate.key), "\(certificate.key) holds no certificate"),
        (tls(text, nil), "\(text) holds no certificate"), (tls("/no/such.pem", nil), "/no/such.pem can't be read"),
        (tls(own, "/no/such.pem"), "/no/such.pem can't be read"), (tls(own, text), "\(text) holds no private key"),
        (tls(own, nil), "\(own) holds no private key"), (tls(nil, certificate.key), "without a certificate; set both"),
        (tls(own, other.key), "the private key in \(other.key) does not match the certificate in \(own)"),
      ]
      let server = try await TLSServer(certificate)
      for (tls, words) in cases {
        let error = #expect(throws: WeirError.self) { try tls.check() }
        #expect(error?.code == .invalid, "\(error?.message ?? "none")")
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "none")")
        var configuration = HTTPConfiguration.patient
        configuration.tls = tls
        let provider = try HTTPProvider(endpoint: server.url, configuration: configuration)
        let reason = await reason { try await provider.deliver([sampleEvent(0)]) }
        #expect(reason == error?.message)
        await provider.shutdown()
      }
      await server.stop()
    }

    @Test func `a server without TLS is a failure`() async throws {
      let server = try TestServer(.raw("HTTP/1.1 400 Bad Request\r\n\r\n"))
      defer { server.stop() }
      var configuration = HTTPConfiguration.patient
      configuration.connectTimeout = .milliseconds(300)
      let provider = try HTTPProvider(endpoint: "https://127.0.0.1:\(server.port)", configuration: configuration)
      #expect(await thrown { try await provider.deliver([sampleEvent(0)]) } is HTTPFailure)
      await provider.shutdown()
    }

    /// Its state machines end the process for statuses that HTTP/1.1 can't even have.
    @Test func `a server that would rather speak HTTP 2 is not taken at its word`() async throws {
      let certificate = try TestCertificate()
      defer { certificate.remove() }
      let verdicts = try await deliver(to: TLSServer(certificate, protocols: ["h2", "http/1.1"])) {
        $0.tls.authorities = certificate.certificate
      }
      #expect(verdicts == [.accepted])
    }
  }
#endif

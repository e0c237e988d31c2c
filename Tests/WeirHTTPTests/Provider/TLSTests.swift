// Certificates that are trusted and those that are not.

#if HTTP
  import Testing
  import Weir

  @testable import WeirHTTP

  @Suite(.enabled(if: TestCertificate.canBeMade, "skipped: \(TestCertificate.tool) is needed to make certificates"))
  struct TLSTests {
    /// Delivers to a server with a certificate for `subject`.
    private func deliver(
      subject: String = "IP:127.0.0.1", _ configure: (TestCertificate, inout HTTPConfiguration) -> Void
    ) async throws -> [Verdict] {
      let certificate = try TestCertificate(subject: subject)
      defer { certificate.remove() }
      let server = try await TLSServer(certificate)
      var configuration = HTTPConfiguration.patient
      configure(certificate, &configuration)
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

    @Test func aCertificateThatNobodyTrustsStops() async throws {
      let error = await thrown { try await deliver { _, _ in } }
      #expect((error as? DeliveryStopped)?.reason.contains("not trusted") == true, "\(error.map { "\($0)" } ?? "none")")
    }

    @Test func oneThatIsTrustedIsTaken() async throws {
      #expect(try await deliver { $1.tls.authorities = $0.certificate } == [.accepted])
    }

    @Test func oneForAnotherHostStops() async throws {
      let error = await thrown {
        try await deliver(subject: "DNS:weir.invalid") { $1.tls.authorities = $0.certificate }
      }
      #expect(error is DeliveryStopped, "\(error.map { "\($0)" } ?? "none")")
    }

    @Test func aCertificateOfItsOwnIsShown() async throws {
      let verdicts = try await deliver { certificate, configuration in
        configuration.tls.authorities = certificate.certificate
        configuration.tls.certificate = certificate.certificate
        configuration.tls.privateKey = certificate.key
      }
      #expect(verdicts == [.accepted])
    }

    @Test func filesThatCantBeReadStop() async throws {
      for path in [\HTTPConfiguration.TLS.authorities, \.certificate, \.privateKey] {
        let error = await thrown { try await deliver { $1.tls[keyPath: path] = "/no/such/file.pem" } }
        #expect(error is DeliveryStopped, "\(error.map { "\($0)" } ?? "none")")
      }
    }

    @Test func aServerWithoutTLSIsAFailure() async throws {
      let server = try TestServer(.raw("HTTP/1.1 400 Bad Request\r\n\r\n"))
      defer { server.stop() }
      var configuration = HTTPConfiguration.patient
      configuration.connectTimeout = .milliseconds(300)
      let provider = try HTTPProvider(endpoint: "https://127.0.0.1:\(server.port)", configuration: configuration)
      #expect(await thrown { try await provider.deliver([sampleEvent(0)]) } is HTTPFailure)
      await provider.shutdown()
    }
  }
#endif

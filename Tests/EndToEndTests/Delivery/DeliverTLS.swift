// DeliverTLS.swift: `weir deliver` to endpoints with certificates: what it is told to trust, and what it shows.
import Foundation
import Testing

#if HTTP
  extension EndToEnd {
    @Suite(.enabled(if: OpenSSL.isThere, "skipped: \(OpenSSL.tool) is needed to make certificates"))
    struct DeliverTLS {
      @Test func `an authority and a certificate are taken from files, and without them the reason is told`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...10))
        let authority = try OpenSSL.certificate(scratch("authority"))
        let own = try OpenSSL.certificate(scratch("own"), signedBy: authority)
        let shown = try OpenSSL.certificate(scratch("server"), signedBy: authority)
        let server = try OpenSSL.server(shown, wanting: authority)
        defer { _ = try? server.child.kill() }
        let deliver = ["deliver", scratch("log"), "--to", "https://127.0.0.1:\(server.port)/in", "--name", "tls"]

        let distrusted = try Tool.run(deliver + ["--budget", "900s"])
        #expect(distrusted.code == 6, "\(distrusted.errors)")
        #expect(distrusted.errors.contains("not trusted"), "\(distrusted.errors)")
        let bare = try Tool.run(deliver + ["--cacert", authority.certificate, "--budget", "900s"])
        #expect(bare.code == 6, "\(bare.errors)")
        #expect(bare.errors.contains("requires a certificate of this program"), "\(bare.errors)")

        let arguments = deliver + ["--cert", own.certificate, "--cert-key", own.key]
        let delivery = try Child(Tool.path, arguments, environment: ["SSL_CERT_FILE": authority.certificate])
        // The server says to the client what it is given here, and prints what the client sends.
        try server.child.waitUntil { $0.output.contains("fields".utf8) }
        server.child.send(Data("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".utf8))
        try delivery.waitUntil { child in
          server.child.serve(until: Moment.now)
          return !child.output.isEmpty
        }
        let last = try delivery.wait()
        #expect(last.code == 0, "\(last.text)\(last.errors)")
        #expect(last.text.contains("10 acknowledged"), "\(last.text)\(last.errors)")
      }

      @Test func `a file that can't be used is named before anything is touched`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...10))
        let before = try Files.fingerprint(scratch("log"))
        let one = try OpenSSL.certificate(scratch("one"))
        let other = try OpenSSL.certificate(scratch("other"))
        let none = scratch("none.pem")
        let pipe = scratch("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let cases: [([String], String?, String)] = [
          (["--cacert", none], nil, "--cacert: \(none) can't be read: No such file or directory"),
          ([], none, "SSL_CERT_FILE: \(none) can't be read"),
          (["--cacert", pipe], nil, "\(pipe) is no regular file"),
          (["--cacert", one.key], nil, "\(one.key) holds no certificate"),
          (["--cert", one.certificate], nil, "--cert: \(one.certificate) holds no private key"),
          (["--cert", one.certificate, "--cert-key", other.key], nil, "\(other.key) does not match"),
          (["--cert-key", one.key], nil, "--cert-key needs --cert"),
        ]
        for (arguments, variable, words) in cases {
          let environment = variable.map { ["SSL_CERT_FILE": $0] } ?? [:]
          let deliver = ["deliver", scratch("log"), "--to", "https://127.0.0.1:1/in"] + arguments
          let outcome = try Child(Tool.path, deliver, environment: environment).wait()
          #expect(outcome.code == 2, "\(arguments): \(outcome.errors)")
          #expect(outcome.complaints.count == 1, "\(arguments): \(outcome.errors)")
          #expect(outcome.errors.contains(words), "\(arguments): \(outcome.errors)")
        }
        #expect(try Files.fingerprint(scratch("log")) == before)
      }
    }
  }

  /// The tool openssl: makes certificates, and serves with them.
  enum OpenSSL {
    static let tool = "/usr/bin/openssl"
    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: tool) }

    struct Certificate {
      var certificate: String
      var key: String
    }

    /// A certificate for 127.0.0.1 in a folder of its own, signed by itself or by an authority.
    static func certificate(_ folder: String, signedBy authority: Certificate? = nil) throws -> Certificate {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let made = Certificate(certificate: "\(folder)/certificate.pem", key: "\(folder)/key.pem")
      let name = URL(fileURLWithPath: folder).lastPathComponent
      try run([
        "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=weir \(name)",
        "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", made.key,
        "-out", "\(folder)/request.pem",
      ])
      let signer = authority.map { ["-CA", $0.certificate, "-CAkey", $0.key, "-CAcreateserial"] }
      try run(
        ["x509", "-req", "-in", "\(folder)/request.pem", "-days", "2", "-copy_extensions", "copy", "-out"]
          + [made.certificate] + (signer ?? ["-signkey", made.key]))
      return made
    }

    private static func run(_ arguments: [String]) throws {
      try Tool.require(Child(tool, arguments).wait(), code: 0, "openssl \(arguments[0])")
    }

    /// A server that wants a certificate of the client's, prints what it is sent, and sends what it is given.
    static func server(_ own: Certificate, wanting authority: Certificate) throws -> (child: Child, port: Int) {
      let child = try Child(
        tool,
        [
          "s_server", "-accept", "127.0.0.1:0", "-cert", own.certificate, "-key", own.key, "-Verify", "2",
          "-verify_return_error", "-CAfile", authority.certificate, "-alpn", "http/1.1",
        ], input: .pipe)
      let address = /ACCEPT 127\.0\.0\.1:([0-9]+)/
      try child.waitUntil { String(decoding: $0.output, as: UTF8.self).contains(address) }
      guard let match = String(decoding: child.output, as: UTF8.self).firstMatch(of: address),
        let port = Int(match.1)
      else { throw ChildProblem(description: "openssl s_server does not listen: \(try child.kill().errors)") }
      return (child, port)
    }
  }
#endif

// TLSServer: a server with TLS on loopback, and certificates made for it by the tool openssl.

#if HTTP
  import Foundation
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL

  /// A certificate for 127.0.0.1, and its key, in PEM files of a folder of their own.
  struct TestCertificate {
    static let tool = "/usr/bin/openssl"
    /// Without the tool these tests are skipped, and the run says so.
    static var canBeMade: Bool { FileManager.default.isExecutableFile(atPath: tool) }

    let folder: String
    var certificate: String { folder + "/certificate.pem" }
    var key: String { folder + "/key.pem" }

    /// One that signed itself, or that an authority signed; for another host than 127.0.0.1 if one is given; expired if
    /// its days are negative.
    init(subject: String = "IP:127.0.0.1", days: Int = 2, signedBy authority: TestCertificate? = nil) throws {
      let name = "weir-\(UUID().uuidString)"
      folder = FileManager.default.temporaryDirectory.appending(path: name).path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let request = folder + "/request.pem"
      try Self.run([
        "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=\(name)", "-addext",
        "subjectAltName=\(subject)", "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", key, "-out", request,
      ])
      let signer = authority.map { ["-CA", $0.certificate, "-CAkey", $0.key, "-CAcreateserial"] } ?? ["-signkey", key]
      try Self.run(
        ["x509", "-req", "-in", request, "-days", "\(days)", "-copy_extensions", "copy", "-out", certificate] + signer)
    }

    private static func run(_ arguments: [String]) throws {
      let process = Process()
      process.executableURL = URL(filePath: tool)
      process.arguments = arguments
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else { throw CocoaError(.featureUnsupported) }
    }

    /// A file beside it.
    func file(_ name: String, _ text: String) throws -> String {
      try text.write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
      return "\(folder)/\(name)"
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }
  }

  /// Answers 200 to every request.
  struct TLSServer {
    private let channel: any Channel
    var url: String { "https://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    /// Wants a certificate of the client's that `authority` signed, if there is one.
    init(
      _ certificate: TestCertificate, wanting authority: TestCertificate? = nil, upTo version: TLSVersion? = nil,
      protocols: [String] = []
    ) async throws {
      let chain = try NIOSSLCertificate.fromPEMFile(certificate.certificate).map {
        NIOSSLCertificateSource.certificate($0)
      }
      let key = try NIOSSLPrivateKey(file: certificate.key, format: .pem)
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain, privateKey: .privateKey(key))
      configuration.maximumTLSVersion = version
      configuration.applicationProtocols = protocols
      if let authority {
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .file(authority.certificate)
      }
      let context = try NIOSSLContext(configuration: configuration)
      channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
            try pipeline.configureHTTPServerPipeline()
            try pipeline.addHandler(Answer())
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
    }

    func stop() async { try? await channel.close() }

    private final class Answer: ChannelInboundHandler {
      typealias InboundIn = HTTPServerRequestPart
      typealias OutboundOut = HTTPServerResponsePart

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      }
    }
  }
#endif

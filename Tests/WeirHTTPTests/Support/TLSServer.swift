// TLSServer: a server with TLS on loopback, and certificates made for it by the tool openssl.

#if HTTP
  import Foundation
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL

  /// A certificate that signed itself, for 127.0.0.1, and its key, in PEM files of a folder of their own.
  struct TestCertificate {
    static let tool = "/usr/bin/openssl"
    /// Without the tool these tests are skipped, and the run says so.
    static var canBeMade: Bool { FileManager.default.isExecutableFile(atPath: tool) }

    let folder: String
    var certificate: String { folder + "/certificate.pem" }
    var key: String { folder + "/key.pem" }

    /// For another host than 127.0.0.1 if one is given.
    init(subject: String = "IP:127.0.0.1") throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "weir-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let process = Process()
      process.executableURL = URL(filePath: Self.tool)
      process.arguments = [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
        "/CN=weir", "-addext", "subjectAltName=\(subject)", "-keyout", key, "-out", certificate,
      ]
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else { throw CocoaError(.featureUnsupported) }
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }
  }

  /// Answers 200 to every request.
  struct TLSServer {
    private let channel: any Channel
    var url: String { "https://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    init(_ certificate: TestCertificate) async throws {
      let chain = try NIOSSLCertificate.fromPEMFile(certificate.certificate).map {
        NIOSSLCertificateSource.certificate($0)
      }
      let key = try NIOSSLPrivateKey(file: certificate.key, format: .pem)
      let context = try NIOSSLContext(
        configuration: .makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key)))
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

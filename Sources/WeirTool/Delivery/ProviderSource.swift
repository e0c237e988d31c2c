// ProviderSource: creates the providers that a command line names.

#if Tool
  import Foundation
  import Weir
  import WeirDelivery

  #if HTTP
    import WeirHTTP
  #endif

  /// Creates new providers for each log, because a provider belongs to one dispatcher and is shut down with it.
  struct ProviderSource: Sendable {
    let addresses: [ProviderOptions.Named]
    private let options: Options

    /// The options that all providers share.
    private struct Options: Sendable {
      var preset: PresetName
      var key: String?
      var user: String
      var project: String
      var table: String
      var usesGzip: Bool
      var usesLZ4: Bool
      /// PEM files: the trusted certificate authorities, the client certificate, and its private key.
      var authorities: String?
      var certificate: String?
      var certificateKey: String?
    }

    /// Reads the key, and checks that every provider can be created, so that a mistake is reported before any change.
    init(_ given: ProviderOptions, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
      addresses = try given.addresses()
      let named = environment["SSL_CERT_FILE"].flatMap { $0.isEmpty ? nil : $0 }
      options = Options(
        preset: given.preset, key: try given.key?.read(), user: given.user, project: given.project, table: given.table,
        usesGzip: given.gzip, usesLZ4: given.lz4, authorities: given.authorities ?? named,
        certificate: given.certificate, certificateKey: given.certificateKey)
      _ = try providers()
      #if HTTP
        guard addresses.contains(where: \.address.isEncrypted) else { return }
        var trust = HTTPConfiguration.TLS()
        trust.authorities = options.authorities
        try Self.check(trust, given.authorities == nil ? "SSL_CERT_FILE" : "--cacert")
        var own = HTTPConfiguration.TLS()
        (own.certificate, own.privateKey) = (options.certificate, options.certificateKey)
        try Self.check(own, "--cert")
      #endif
    }

    func providers() throws -> [any Provider] {
      try addresses.map { named in
        switch named.address {
        case .files(let path): files(path, named.name)
        case .endpoint(let url): try endpoint(url, named.name)
        }
      }
    }

    private func files(_ path: String, _ name: String) -> any Provider {
      var files = JSONLinesProvider.Options()
      files.isCompressed = options.usesLZ4
      files.logger = nil
      return JSONLinesProvider(path, name: name, options: files)
    }

    #if HTTP
      private static func check(_ tls: HTTPConfiguration.TLS, _ option: String) throws {
        do throws(WeirError) {
          try tls.check()
        } catch {
          throw ToolError("\(option): \(error.message)")
        }
      }

      private func endpoint(_ url: String, _ name: String) throws -> any Provider {
        guard let preset = HTTPPresetName(rawValue: options.preset.rawValue) else {
          throw ToolError("--preset \(options.preset.rawValue) is not in this build of weir; build weir again")
        }
        var configuration = HTTPConfiguration()
        configuration.compression = options.usesGzip ? .gzip : .identity
        configuration.logger = nil
        configuration.tls.authorities = options.authorities
        configuration.tls.certificate = options.certificate
        configuration.tls.privateKey = options.certificateKey
        return try HTTPProvider(
          preset.preset(
            endpoint: url, key: options.key.map { Secret($0) }, user: options.user, project: options.project,
            table: options.table),
          name: name, configuration: configuration)
      }
    #else
      private func endpoint(_ url: String, _ name: String) throws -> any Provider {
        throw ToolError(
          "this build of weir has no delivery over HTTP; build one with: swift build -c release --product weir "
            + "--traits HTTP, or give a path")
      }
    #endif
  }
#endif

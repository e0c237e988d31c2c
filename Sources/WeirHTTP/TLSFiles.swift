// TLSFiles: reads the certificates and the key that a configuration names.

#if HTTP
  import NIOSSL
  package import Weir

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  extension HTTPConfiguration.TLS {
    /// Reads the files. Throws `invalid`, with the file and the problem, if they can't be used for connections.
    package func check() throws(WeirError) { _ = try clientConfiguration() }

    func clientConfiguration() throws(WeirError) -> TLSConfiguration {
      var tls = TLSConfiguration.makeClientConfiguration()
      if let authorities { tls.trustRoots = .certificates(try Self.certificates(in: authorities)) }
      guard let certificate else {
        guard let privateKey else { return tls }
        throw WeirError(.invalid, "the private key \(privateKey) is set without a certificate; set both")
      }
      tls.certificateChain = try Self.certificates(in: certificate).map { .certificate($0) }
      let keyFile = privateKey ?? certificate
      do {
        let bytes = try Self.bytes(of: keyFile)
        tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: bytes, format: .pem) { $0([UInt8]()) })
      } catch let error as WeirError {
        throw error
      } catch {
        throw WeirError(
          .invalid,
          "\(keyFile) holds no private key in PEM format, or one with a passphrase; set a file with an unencrypted key")
      }
      do {
        _ = try NIOSSLContext(configuration: tls)
      } catch {
        throw WeirError(
          .invalid,
          "the private key in \(keyFile) does not match the certificate in \(certificate); set a matching pair")
      }
      return tls
    }

    /// Returns the certificates in a PEM file; at least one.
    static func certificates(in file: String) throws(WeirError) -> [NIOSSLCertificate] {
      let bytes = try bytes(of: file)
      guard let certificates = try? NIOSSLCertificate.fromPEMBytes(bytes), !certificates.isEmpty else {
        throw WeirError(.invalid, "\(file) holds no certificate in PEM format; set a file that does")
      }
      return certificates
    }

    /// More than the size of any bundle of authorities.
    private static let mostBytes = 16 << 20

    private static func bytes(of file: String) throws(WeirError) -> [UInt8] {
      // Non-blocking, because opening a pipe would wait for its writer.
      let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      guard descriptor >= 0 else { throw unreadable(file, errno) }
      defer { close(descriptor) }
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw unreadable(file, errno) }
      guard status.st_mode & S_IFMT == S_IFREG else {
        throw WeirError(.invalid, "\(file) is no regular file; set a regular file")
      }
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      while bytes.count <= mostBytes {
        let count = read(descriptor, &buffer, buffer.count)
        if count == 0 { return bytes }
        guard count > 0 else {
          if errno == EINTR { continue }
          throw unreadable(file, errno)
        }
        bytes += buffer[..<count]
      }
      throw WeirError(.invalid, "\(file) is too long for certificates or a key; set the right file")
    }

    private static func unreadable(_ file: String, _ number: Int32) -> WeirError {
      WeirError(.invalid, "\(file) can't be read: \(String(cString: strerror(number))); set the right file")
    }
  }
#endif

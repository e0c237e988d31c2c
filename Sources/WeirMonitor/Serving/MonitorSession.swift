// MonitorSession: who may look: a token in the first address is exchanged for a signed cookie.

#if Monitor
  import Crypto
  import Foundation
  import Synchronization
  import Weir

  /// The token and the cookies of a monitor.
  ///
  /// A token is 32 random bytes. It stands in the address that is printed, and so may end up in histories and logs:
  /// therefore it is worth one use. The browser that used it has a cookie, which no script can read and which no other
  /// site's request carries. Jupyter's way, but with a token that does not stay valid.
  final class MonitorSession: Sendable {
    /// How long a cookie is valid.
    static let lifetime = Duration.seconds(12 * 3600)
    private static let tokenBytes = 32

    private let key: [UInt8]
    private let token: Mutex<String>

    /// Signs with this key.
    init(key: [UInt8]) {
      self.key = key
      token = Mutex(Self.randomToken())
    }

    private static func randomToken() -> String {
      let bytes = SymmetricKey(size: .init(bitCount: tokenBytes * 8)).withUnsafeBytes { Array($0) }
      return base64URL(bytes)
    }

    /// The token that is valid at present.
    var currentToken: String { token.withLock { $0 } }

    /// Takes a token: returns the cookie's value for it, or `nil` if the token is not valid. The next token is another
    /// one.
    func exchange(_ offered: String, port: Int, now: Date = Date()) -> String? {
      let isTaken = token.withLock { token in
        guard Self.areEqual(offered, token) else { return false }
        token = Self.randomToken()
        return true
      }
      return isTaken ? cookie(port: port, until: now.addingTimeInterval(Double(Self.lifetime.components.seconds))) : nil
    }

    /// Whether a cookie's value was made by ``exchange(_:port:now:)`` with the same key, for the same port, and is not
    /// too old.
    func accepts(_ value: String, port: Int, now: Date = Date()) -> Bool {
      guard let dot = value.firstIndex(of: "."), let end = Int64(value[..<dot]) else { return false }
      let isGenuine = Self.areEqual(value, cookie(port: port, end: end))
      return isGenuine && Double(end) > now.timeIntervalSince1970
    }

    /// The cookie's name. Ports of one host share their cookies.
    static func cookieName(port: Int) -> String { "weir-monitor-\(port)" }

    private func cookie(port: Int, until end: Date) -> String {
      cookie(port: port, end: Int64(end.timeIntervalSince1970))
    }

    private func cookie(port: Int, end: Int64) -> String {
      let code = HMAC<SHA256>.authenticationCode(
        for: Data("weir monitor \(port) \(end)".utf8), using: SymmetricKey(data: key))
      return "\(end).\(Self.base64URL(Array(code)))"
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
      Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Compares in a time that tells nothing about where two texts differ.
    private static func areEqual(_ left: String, _ right: String) -> Bool {
      let left = Array(left.utf8)
      let right = Array(right.utf8)
      guard left.count == right.count else { return false }
      return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
  }

  extension MonitorSession {
    private static let keyBytes = 32

    /// Signs with a new key, or with the key in a file, which is made if it does not exist.
    ///
    /// Throws if the file can't be read or made, is not 32 bytes long, or may be read by others.
    convenience init(keyFile: String?) throws(WeirError) {
      guard let keyFile else {
        self.init(key: SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) })
        return
      }
      self.init(key: try Self.key(in: keyFile))
    }

    private static func key(in path: String) throws(WeirError) -> [UInt8] {
      let made = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
      let files = FileManager.default
      do {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
        try files.createDirectory(
          at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        if !files.fileExists(atPath: path) {
          // Another monitor that starts now may make it first: then that one counts.
          let own = path + ".\(ProcessInfo.processInfo.processIdentifier)"
          guard files.createFile(atPath: own, contents: made, attributes: [.posixPermissions: 0o600]) else {
            throw CocoaError(.fileWriteUnknown)
          }
          defer { try? files.removeItem(atPath: own) }
          do { try files.linkItem(atPath: own, toPath: path) } catch  where files.fileExists(atPath: path) {}
        }
        let mode = (try files.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue ?? 0
        let key = try Data(contentsOf: URL(fileURLWithPath: path))
        guard key.count == keyBytes, mode & 0o077 == 0 else {
          throw WeirError(
            .invalid, "\(path) is no key of the monitor, or others may read it; remove the file, and it is made anew",
            path: path)
        }
        return [UInt8](key)
      } catch let error as WeirError {
        throw error
      } catch {
        throw WeirError(
          .io, "the monitor's key \(path) can't be read or made: \(error.localizedDescription)", path: path)
      }
    }
  }
#endif

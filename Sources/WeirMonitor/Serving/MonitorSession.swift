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
    private let scope: String
    private let token: Mutex<String>

    /// Signs with this key. A cookie is good for a monitor of the same scope alone: what is shown, and to whom.
    init(key: [UInt8], scope: String) {
      self.key = key
      self.scope = scope
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
    func exchange(_ offered: String, now: Date = Date()) -> String? {
      let isTaken = token.withLock { token in
        guard Self.areEqual(offered, token) else { return false }
        token = Self.randomToken()
        return true
      }
      return isTaken ? cookie(until: now.addingTimeInterval(Double(Self.lifetime.components.seconds))) : nil
    }

    /// Whether a cookie's value was made by ``exchange(_:now:)`` with the same key, for the same scope, and is not too old.
    func accepts(_ value: String, now: Date = Date()) -> Bool {
      guard let dot = value.firstIndex(of: "."), let end = Int64(value[..<dot]) else { return false }
      let isGenuine = Self.areEqual(value, cookie(end: end))
      return isGenuine && Double(end) > now.timeIntervalSince1970
    }

    /// The cookie's name. Ports of one host share their cookies.
    static func cookieName(port: Int) -> String { "weir-monitor-\(port)" }

    private func cookie(until end: Date) -> String { cookie(end: Int64(end.timeIntervalSince1970)) }

    private func cookie(end: Int64) -> String {
      let code = HMAC<SHA256>.authenticationCode(
        for: Data("weir monitor \(end) \(scope)".utf8), using: SymmetricKey(data: key))
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
    /// Throws if the file can't be read or made, is no plain file of 32 bytes of this user, or may be read by others.
    convenience init(keyFile: String?, scope: String) throws(WeirError) {
      let key = try keyFile.map { path throws(WeirError) in try Self.key(in: path) } ?? Self.randomKey()
      self.init(key: key, scope: scope)
    }

    private static func randomKey() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) } }

    private static func key(in path: String) throws(WeirError) -> [UInt8] {
      let calls = SystemCalls()
      let url = URL(fileURLWithPath: path)
      let name = url.lastPathComponent
      try calls.makeDirectories(url.deletingLastPathComponent().path)
      let directory = try calls.openDirectory(url.deletingLastPathComponent().path)
      if try calls.open(name, in: directory, forWriting: false) == nil {
        // Under another name first: another monitor that starts now finds it whole, or makes it.
        let own = "\(name).\(getpid())"
        try calls.unlink(own, in: directory)
        try calls.write(try calls.create(own, in: directory), randomKey(), at: 0)
        try calls.rename(own, to: name, in: directory)
      }
      guard let file = try calls.open(name, in: directory, forWriting: false), calls.isPrivate(file),
        try calls.byteCount(of: file) == keyBytes
      else {
        throw WeirError(
          .invalid,
          "\(path) is no key of this user's monitor, or others may read it; remove the file, and it is made anew",
          path: path)
      }
      return try calls.read(file, keyBytes, at: 0)
    }
  }
#endif

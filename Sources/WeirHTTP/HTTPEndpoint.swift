// HTTPEndpoint: a validated address, whose description contains no secrets.

#if HTTP
  import Weir
  import WeirDelivery

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// The address of an endpoint. Its description has neither user and password nor the query, which may contain keys.
  struct HTTPEndpoint: Hashable, Sendable, CustomStringConvertible {
    private var components: URLComponents
    /// The address's user and password, as a header.
    let authorization: HTTPHeader?
    /// The values that must not be shown: the password, and the values of the query.
    let secrets: [Secret]

    /// Parses an address. Throws `invalid` unless the text is an `http` or `https` URL with a host.
    init(_ text: String, defaultPath: String) throws(WeirError) {
      guard var components = URLComponents(string: text), let scheme = components.scheme?.lowercased(),
        scheme == "http" || scheme == "https", let host = components.host, !host.isEmpty,
        components.port.map({ (1...65_535).contains($0) }) ?? true
      else {
        throw WeirError(
          .invalid,
          "\(Self.printable(text)) is no HTTP address; use one like https://api.example.com/v1/batch")
      }
      components.scheme = scheme
      let user = components.user ?? ""
      let password = Secret(components.password ?? "")
      authorization = user.isEmpty && password.isEmpty ? nil : .basic(user: user, password: password)
      // A user without a password is often the key. Beside a password, it is a name, and may be an ordinary word.
      let key = password.isEmpty ? Secret(user) : password
      secrets = [key].filter { !$0.isEmpty } + Self.secrets(inQueryOf: components)
      components.user = nil
      components.password = nil
      components.fragment = nil
      if components.percentEncodedPath.isEmpty || components.percentEncodedPath == "/" {
        components.percentEncodedPath = defaultPath
      }
      self.components = components
    }

    /// Returns the secret values of the query, both decoded and as written in the address, because a server may repeat
    /// either form: long values, and values of parameters that are keys by their name. Other values may be ordinary
    /// words.
    private static func secrets(inQueryOf components: URLComponents) -> [Secret] {
      let written = (components.percentEncodedQueryItems ?? []).map { ($0.name.lowercased(), $0.value ?? "") }
      let meant = (components.queryItems ?? []).map { ($0.name.lowercased(), $0.value ?? "") }
      let words = ["key", "token", "secret", "pass", "auth", "sig", "code"]
      let found = (written + meant).filter { name, value in
        value.utf8.count >= 8 || !value.isEmpty && words.contains { name.contains($0) }
      }
      return Set(found.map { Secret($0.1) }).sorted { $0.withValue { $0 } < $1.withValue { $0 } }
    }

    /// Returns the complete address, optionally with another path and further query items.
    func url(path: String? = nil, query: [(name: String, value: String)] = []) -> String {
      var all = components
      if let path { all.percentEncodedPath = path }
      if !query.isEmpty {
        let more = query.map { "\(Self.escaped($0.name))=\(Self.escaped($0.value))" }.joined(separator: "&")
        all.percentEncodedQuery = [all.percentEncodedQuery, more].compactMap { $0 }.joined(separator: "&")
      }
      return all.string ?? ""
    }

    /// Returns the address of something below this one. `path` needs no escapes.
    func url(below path: String) -> String {
      let base = components.percentEncodedPath
      return url(path: (base.hasSuffix("/") ? base : base + "/") + path)
    }

    /// Returns the endpoint of a redirect if it has the same scheme, host and port; otherwise `nil`.
    func redirected(to location: String) -> HTTPEndpoint? {
      var next = self
      if location.hasPrefix("/"), !location.hasPrefix("//") {
        guard let target = URLComponents(string: location) else { return nil }
        next.components.percentEncodedPath = target.percentEncodedPath
        if let query = target.percentEncodedQuery { next.components.percentEncodedQuery = query }
        return next
      }
      guard let target = URLComponents(string: location), target.scheme?.lowercased() == components.scheme,
        target.host?.lowercased() == components.host?.lowercased(), target.portOrDefault == components.portOrDefault
      else { return nil }
      next.components.percentEncodedPath = target.percentEncodedPath
      if let query = target.percentEncodedQuery { next.components.percentEncodedQuery = query }
      return next
    }

    /// The host. An IPv6 address has no brackets.
    var host: String { String((components.host ?? "").drop { $0 == "[" }.prefix { $0 != "]" }) }

    var port: Int { components.portOrDefault }

    var description: String { Self.printable(url()) }

    /// Returns an address without user, password, query and fragment.
    static func printable(_ text: String) -> String {
      guard var components = URLComponents(string: text) else { return "the given text" }
      components.user = nil
      components.password = nil
      components.query = nil
      components.fragment = nil
      return components.string ?? "the given text"
    }

    /// Percent-encodes everything except RFC 3986's unreserved characters, because some servers interpret `+` and `;`.
    private static func escaped(_ text: String) -> String {
      var escaped = ""
      for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
          UInt8(ascii: "~"):
          escaped.unicodeScalars.append(Unicode.Scalar(byte))
        default:
          let digits = String(byte, radix: 16, uppercase: true)
          escaped += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
        }
      }
      return escaped
    }
  }

  extension URLComponents {
    fileprivate var portOrDefault: Int { port ?? (scheme?.lowercased() == "https" ? 443 : 80) }
  }
#endif

// HTTPEndpoint: an address, checked, that prints without what is secret in it.

#if HTTP
  import Weir

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Where requests go. Its description has neither user and password nor the query, which may hold keys.
  struct HTTPEndpoint: Hashable, Sendable, CustomStringConvertible {
    private var components: URLComponents
    /// User and password of the address, as a header.
    let authorization: HTTPHeader?
    /// What must not show: the password, and the values of the query.
    let secrets: [Secret]

    /// Throws `invalid` for anything but a URL of `http` or `https` with a host.
    init(_ text: String, defaultPath: String) throws(WeirError) {
      guard var components = URLComponents(string: text), let scheme = components.scheme?.lowercased(),
        scheme == "http" || scheme == "https", let host = components.host, !host.isEmpty,
        components.port.map({ (1...65_535).contains($0) }) ?? true
      else {
        throw WeirError(
          .invalid,
          "\(Self.printable(text)) is no address for HTTP; it must be like https://api.example.com/v1/batch")
      }
      components.scheme = scheme
      let user = components.user ?? ""
      let password = Secret(components.password ?? "")
      authorization = user.isEmpty && password.isEmpty ? nil : .basic(user: user, password: password)
      // A user without a password is often the key; beside one it is a name, and may be a word like any other.
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

    /// The values of the query, as they are and as they stand in the address, which a server may repeat: long ones, and
    /// those that are keys by their name. Others are words like any other.
    private static func secrets(inQueryOf components: URLComponents) -> [Secret] {
      let written = (components.percentEncodedQueryItems ?? []).map { ($0.name.lowercased(), $0.value ?? "") }
      let meant = (components.queryItems ?? []).map { ($0.name.lowercased(), $0.value ?? "") }
      let words = ["key", "token", "secret", "pass", "auth", "sig", "code"]
      let found = (written + meant).filter { name, value in
        value.utf8.count >= 8 || !value.isEmpty && words.contains { name.contains($0) }
      }
      return Set(found.map { Secret($0.1) }).sorted { $0.withValue { $0 } < $1.withValue { $0 } }
    }

    /// The whole address, with another path and more of a query if there are any.
    func url(path: String? = nil, query: [(name: String, value: String)] = []) -> String {
      var all = components
      if let path { all.percentEncodedPath = path }
      if !query.isEmpty {
        let more = query.map { "\(Self.escaped($0.name))=\(Self.escaped($0.value))" }.joined(separator: "&")
        all.percentEncodedQuery = [all.percentEncodedQuery, more].compactMap { $0 }.joined(separator: "&")
      }
      return all.string ?? ""
    }

    /// The endpoint that an answer redirects to, if that is on the same host, by the same scheme and port.
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

    /// The host, an address of IPv6 without its brackets.
    var host: String { String((components.host ?? "").drop { $0 == "[" }.prefix { $0 != "]" }) }

    var port: Int { components.portOrDefault }

    var description: String { Self.printable(url()) }

    /// An address without user, password, query and fragment.
    static func printable(_ text: String) -> String {
      guard var components = URLComponents(string: text) else { return "what is given" }
      components.user = nil
      components.password = nil
      components.query = nil
      components.fragment = nil
      return components.string ?? "what is given"
    }

    /// Percent-encoded but for what RFC 3986 calls unreserved: `+` and `;` mean something else to some servers.
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

// DestinationCheck: finds addresses that no delivery could use, in plans and on the tool's command line.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension DeliveryPlan.Destination {
  /// Returns what is wrong with ``to``; `nil` if nothing is. `name` is what the user calls it, and `keys` where keys
  /// belong.
  package func problem(as name: String, keys: String) -> String? {
    guard let mark = to.firstRange(of: "://") else {
      guard !to.isEmpty else { return "\(name) is empty; give a URL or a path" }
      // Taken as a path, the address would create a directory, and all events would count as delivered.
      guard looksLikeHost else { return nil }
      return "\(name) \(to) may be a URL or a directory; write \(asURL) for a URL, or ./\(to) for a directory"
    }
    let scheme = to[..<mark.lowerBound].lowercased()
    guard scheme == "http" || scheme == "https" else {
      return "\(name) \(shown) is neither http nor https; give a URL or a path"
    }
    let authority = to[mark.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard !authority.contains("@") else {
      return "\(name) contains a user or a key before the host; give the key with \(keys)"
    }
    // A port alone is no host, and neither is an address in brackets that do not close.
    let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } : authority.prefix { $0 != ":" }
    // For a port number that is too large, Foundation says that the URL has no port.
    let port = authority.dropFirst(host.count).drop { $0 == "]" }.dropFirst()
    guard let url = URL(string: to), let known = url.host, !known.isEmpty, !host.isEmpty,
      port.isEmpty || (1...65_535).contains(Int(port) ?? 0)
    else {
      return "\(name) \(shown) is no URL; a URL is such as http://localhost:8080/v1/batch"
    }
    return nil
  }

  /// The address for messages, without parts that may be a key: the user before the host, and the query.
  package var shown: String {
    let plain = to.prefix { $0 != "?" && $0 != "#" }
    guard let mark = plain.firstRange(of: "://"), let at = plain[mark.upperBound...].lastIndex(of: "@") else {
      return String(plain)
    }
    return String(plain[..<mark.upperBound] + plain[plain.index(after: at)...])
  }

  /// Whether ``to`` is an incomplete address: a host with a port, or a scheme with too few slashes.
  private var looksLikeHost: Bool {
    let first = to.prefix { $0 != "/" }
    guard let colon = first.lastIndex(of: ":") else { return false }
    let port = first[first.index(after: colon)...]
    if port.isEmpty { return ["http", "https"].contains(first[..<colon].lowercased()) }
    return colon > first.startIndex && port.count <= 5 && port.allSatisfy { $0.isASCII && $0.isNumber }
  }

  /// The URL that a text without `://` was probably meant as.
  private var asURL: String {
    guard let colon = to.firstIndex(of: ":"), ["http", "https"].contains(to[..<colon].lowercased()) else {
      return "http://\(to)"
    }
    return "\(to[..<colon])://\(to[to.index(after: colon)...].drop { $0 == "/" })"
  }
}

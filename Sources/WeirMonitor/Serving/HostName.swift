// HostName: names and addresses of machines, as they stand in addresses and in the header Host.

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

enum HostName {
  /// Whether only this machine reaches an address.
  static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || host == "::1" || isIPv4(host) && host.hasPrefix("127.")
  }

  /// Whether a host is an address in digits. No name server can make a browser send such a `Host` to another machine.
  static func isAddress(_ host: String) -> Bool { isIPv4(host) || isIPv6(host) }

  private static func isIPv4(_ host: String) -> Bool {
    var address = in_addr()
    return inet_pton(AF_INET, host, &address) == 1
  }

  private static func isIPv6(_ host: String) -> Bool {
    var address = in6_addr()
    return inet_pton(AF_INET6, host, &address) == 1
  }

  /// The host in an address: IPv6 in brackets.
  static func inAddress(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

  /// Splits `[::1]:4100` or `localhost:4100`; without a port, port 80. `nil` for anything else.
  static func split(_ authority: String) -> (host: String, port: Int)? {
    var host = authority[...]
    var port = 80
    if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
      let digits = authority[authority.index(after: colon)...]
      guard let number = UInt16(digits), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      host = authority[..<colon]
      port = Int(number)
    }
    if host.hasPrefix("["), host.hasSuffix("]") { return (String(host.dropFirst().dropLast()), port) }
    return host.contains(":") || host.isEmpty ? nil : (host.lowercased(), port)
  }
}

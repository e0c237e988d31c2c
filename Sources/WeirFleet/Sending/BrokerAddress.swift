// BrokerAddress: the address of a broker: nats://host:port,host:port or kafka://host:port/topic.

package import Weir

/// The address of a broker.
package struct BrokerAddress: Hashable, Sendable {
  package var scheme: String
  /// Each as `host:port`.
  package var hosts: [String]
  /// What follows the hosts, without the slash.
  package var path: String

  /// Parses `scheme://host[:port][,host[:port]…][/path]`. Throws `invalid` for another form, and for an address with a
  /// user or a key, which others would see.
  package init(_ text: String, schemes: [String], port: Int) throws(WeirError) {
    let example = "\(schemes[0])://host:\(port)"
    guard let mark = text.firstRange(of: "://") else {
      throw WeirError(.invalid, "\(text.debugDescription) is no address of a broker; write \(example)")
    }
    scheme = text[..<mark.lowerBound].lowercased()
    guard schemes.contains(scheme) else {
      throw WeirError(.invalid, "\(scheme)://… is not \(schemes.joined(separator: ":// or "))://; write \(example)")
    }
    let rest = text[mark.upperBound...]
    let hosts = rest.prefix { $0 != "/" }
    guard !rest.contains("@") else {
      throw WeirError(
        .invalid,
        "the address of a broker contains a user or a key, which every list of processes shows; leave the "
          + "part before @ out, and give it apart")
    }
    self.hosts = []
    for part in hosts.split(separator: ",", omittingEmptySubsequences: false) {
      self.hosts.append(try Self.host(part, port: port, example))
    }
    path = String(rest.dropFirst(hosts.count).drop { $0 == "/" })
  }

  private static func host(_ text: Substring, port: Int, _ example: String) throws(WeirError) -> String {
    let isBracketed = text.hasPrefix("[")
    let name = isBracketed ? text.prefix { $0 != "]" } + "]" : text.prefix { $0 != ":" }
    let after = text.dropFirst(name.count)
    let number = after.isEmpty ? port : Int(after.dropFirst())
    let isName = !name.isEmpty && name.allSatisfy { $0.isASCII && !$0.isWhitespace && $0 != "?" && $0 != "#" }
    guard isName, after.isEmpty || after.hasPrefix(":"), let number, (1...65_535).contains(number) else {
      throw WeirError(.invalid, "\(text.debugDescription) is no host of a broker; write \(example)")
    }
    return "\(name):\(number)"
  }

  /// The address for messages.
  package var shown: String {
    "\(scheme)://\(hosts.joined(separator: ","))" + (path.isEmpty ? "" : "/\(path)")
  }
}

// ProviderAddress: the destination of a delivery, as named on the command line: a URL or a path.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir

  /// The form in which a provider over HTTP takes events.
  enum PresetName: String, CaseIterable, ExpressibleByArgument, Sendable {
    case json, jsonl, segment, mixpanel, amplitude, posthog, clickhouse, otlp
  }

  enum ProviderAddress: Equatable, Sendable {
    /// A directory for files of JSON Lines.
    case files(String)
    /// An endpoint.
    case endpoint(String)

    /// Parses the argument of `--to`. Throws for an address that no delivery could use, and for an address with a key.
    init(_ text: String) throws(ToolError) {
      guard let mark = text.range(of: "://") else {
        guard !text.isEmpty else { throw ToolError("--to is empty; give a URL or a path") }
        // Taken as a path, the address would create a directory, and all events would count as delivered.
        guard !Self.looksLikeHost(text) else {
          let name = Terminal.printable(text)
          throw ToolError(
            "--to \(name) may be a URL or a directory; write \(Self.asURL(name)) for a URL, or ./\(name) for a "
              + "directory")
        }
        self = .files(text)
        return
      }
      let scheme = text[..<mark.lowerBound].lowercased()
      guard scheme == "http" || scheme == "https" else {
        throw ToolError("--to \(Terminal.printable(Self.shown(text))) is neither http nor https; give a URL or a path")
      }
      let rest = text[mark.upperBound...]
      let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
      guard !authority.contains("@") else {
        throw ToolError("--to contains a user or a key before the host; give the key with --key-file or --key-env")
      }
      guard let parsed = URLComponents(string: text), let host = parsed.host, !host.isEmpty else {
        throw ToolError(
          "--to \(Terminal.printable(Self.shown(text))) is no URL; a URL is such as http://localhost:8080/v1/batch")
      }
      self = .endpoint(text)
    }

    /// Returns whether the text is an incomplete address: a host with a port, or a scheme with too few slashes.
    private static func looksLikeHost(_ text: String) -> Bool {
      let first = text.prefix { $0 != "/" }
      guard let colon = first.lastIndex(of: ":") else { return false }
      let port = first[first.index(after: colon)...]
      if port.isEmpty { return ["http", "https"].contains(first[..<colon].lowercased()) }
      return colon > first.startIndex && port.count <= 5 && port.allSatisfy { $0.isASCII && $0.isNumber }
    }

    /// Returns the URL that a text without `://` was probably meant as.
    private static func asURL(_ text: String) -> String {
      guard let colon = text.firstIndex(of: ":"), ["http", "https"].contains(text[..<colon].lowercased()) else {
        return "http://\(text)"
      }
      return "\(text[..<colon])://\(text[text.index(after: colon)...].drop { $0 == "/" })"
    }

    /// Whether the address is a URL with a query.
    var hasQuery: Bool {
      if case .endpoint(let url) = self { url.prefix { $0 != "#" }.contains("?") } else { false }
    }

    var isEndpoint: Bool {
      if case .endpoint = self { true } else { false }
    }

    /// Whether the endpoint uses TLS.
    var isEncrypted: Bool {
      if case .endpoint(let url) = self { url.lowercased().hasPrefix("https:") } else { false }
    }

    /// The address for messages, without parts that may be a key: the user before the host, and the query.
    var shown: String {
      switch self {
      case .files(let path): path
      case .endpoint(let url): Self.shown(url)
      }
    }

    private static func shown(_ url: String) -> String {
      let plain = url.prefix { $0 != "?" && $0 != "#" }
      guard let mark = plain.range(of: "://"), let at = plain[mark.upperBound...].lastIndex(of: "@") else {
        return String(plain)
      }
      return String(plain[..<mark.upperBound] + plain[plain.index(after: at)...])
    }

    /// Returns the default name of the provider's cursor. The name is the same for the same provider, and different for
    /// different providers, because each provider needs its own cursor. `place` distinguishes providers with one
    /// address: a table, a project. A key does not distinguish providers, because a key may change.
    func name(_ preset: PresetName, place: [String] = []) -> String {
      switch self {
      case .files(let path):
        let absolute = URL(fileURLWithPath: path).standardizedFileURL.path
        return Self.name("files", (absolute as NSString).lastPathComponent, absolute)
      case .endpoint(let url):
        let whole = ([preset.rawValue + Self.shown(url)] + place).joined(separator: "\n")
        return Self.name(preset.rawValue, URLComponents(string: url)?.host ?? "", whole)
      }
    }

    private static func name(_ kind: String, _ readable: String, _ whole: String) -> String {
      let words = readable.unicodeScalars.map { scalar -> Character in
        let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
        return isPlain ? Character(scalar) : "-"
      }
      let digits = String(FNV1a.hash32(whole.utf8), radix: 16)
      return "\(kind)-\(String(words.prefix(40)))-\(String(repeating: "0", count: 8 - digits.count))\(digits)"
    }
  }
#endif

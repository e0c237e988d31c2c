// ProviderAddress.swift: where events are delivered to, as it is named on the command line: a URL or a path.

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

    /// Takes what `--to` was given. Throws for an address that no delivery could use, and for a key in it.
    init(_ text: String) throws(ToolError) {
      guard let mark = text.range(of: "://") else {
        guard !text.isEmpty else { throw ToolError("--to is empty; give a URL or a path") }
        // Taken for a path it would get a directory of that name, and all would count as delivered.
        guard !Self.looksLikeHost(text) else {
          throw ToolError(
            "--to \(Terminal.printable(text)) is a path as it stands; write http://\(Terminal.printable(text)), "
              + "or ./\(Terminal.printable(text)) for a directory")
        }
        self = .files(text)
        return
      }
      let scheme = text[..<mark.lowerBound].lowercased()
      guard scheme == "http" || scheme == "https" else {
        throw ToolError("--to \(Terminal.printable(Self.shown(text))) is neither http nor https, nor a path")
      }
      let rest = text[mark.upperBound...]
      let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
      guard !authority.contains("@") else {
        throw ToolError("--to has a user or a key before its host; give the key with --key-file or --key-env")
      }
      guard let parsed = URLComponents(string: text), let host = parsed.host, !host.isEmpty else {
        throw ToolError(
          "--to \(Terminal.printable(Self.shown(text))) is no URL; such as http://localhost:8080/v1/batch")
      }
      self = .endpoint(text)
    }

    /// Whether it is a host with a port, or a scheme with too few slashes: an address that was not written out.
    private static func looksLikeHost(_ text: String) -> Bool {
      let first = text.prefix { $0 != "/" }
      guard let colon = first.lastIndex(of: ":") else { return false }
      let port = first[first.index(after: colon)...]
      if port.isEmpty { return ["http", "https"].contains(first[..<colon].lowercased()) }
      return colon > first.startIndex && port.count <= 5 && port.allSatisfy { $0.isASCII && $0.isNumber }
    }

    /// Whether it is a URL with a query.
    var hasQuery: Bool {
      if case .endpoint(let url) = self { url.prefix { $0 != "#" }.contains("?") } else { false }
    }

    var isEndpoint: Bool {
      if case .endpoint = self { true } else { false }
    }

    /// Whether it is spoken to over TLS.
    var isEncrypted: Bool {
      if case .endpoint(let url) = self { url.lowercased().hasPrefix("https:") } else { false }
    }

    /// For messages: without what may be a key, in front of the host or in a query.
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

    /// The name of its cursor where none is given. The same for the same provider, another one for another: what one
    /// has been given says nothing of what the other one has. `place` is what tells providers of one address apart:
    /// a table, a project. A key does not, which changes while the provider stays.
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
      // FNV-1a: tells providers apart, and guards against nothing.
      let hash = whole.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
      let digits = String(hash, radix: 16)
      return "\(kind)-\(String(words.prefix(40)))-\(String(repeating: "0", count: 8 - digits.count))\(digits)"
    }
  }
#endif

// ProviderAddress: the destination of a delivery, as named on the command line: a URL or a path.

#if Tool
  public import ArgumentParser
  import Foundation
  import Weir
  public import WeirDelivery

  extension HTTPPresetName: ExpressibleByArgument {}

  enum ProviderAddress: Equatable, Sendable {
    /// A directory for files of JSON Lines.
    case files(String)
    /// An endpoint.
    case endpoint(String)
    /// A broker.
    case broker(String)

    /// Parses the argument of `--to`. Throws for an address that no delivery could use, and for an address with a key.
    init(_ text: String) throws(ToolError) {
      guard !BrokerDestination.isAddress(text) else {
        self = .broker(text)
        return
      }
      let destination = DeliveryPlan.Destination(text)
      if let problem = destination.problem(as: "--to", keys: "--key-file or --key-env") {
        throw ToolError(Terminal.printable(problem))
      }
      self = destination.isURL ? .endpoint(text) : .files(text)
    }

    /// Whether the address is a URL with a query.
    var hasQuery: Bool {
      if case .endpoint(let url) = self { url.prefix { $0 != "#" }.contains("?") } else { false }
    }

    var isEndpoint: Bool {
      if case .endpoint = self { true } else { false }
    }

    var isBroker: Bool {
      if case .broker = self { true } else { false }
    }

    /// Whether the endpoint uses TLS.
    var isEncrypted: Bool {
      switch self {
      case .files: false
      case .endpoint(let url): url.lowercased().hasPrefix("https:")
      case .broker(let address): BrokerDestination(address, BrokerOptions()).isEncrypted
      }
    }

    /// The address for messages, without parts that may be a key: the user before the host, and the query.
    var shown: String {
      switch self {
      case .files(let path): path
      case .endpoint(let url), .broker(let url): DeliveryPlan.Destination(url).shown
      }
    }

    /// Returns the default name of the provider's cursor. The name is the same for the same provider, and different for
    /// different providers, because each provider needs its own cursor. `place` distinguishes providers with one
    /// address: a table, a project. A key does not distinguish providers, because a key may change. `kind` takes the
    /// place of the preset's name, and of `files`.
    func name(_ preset: HTTPPresetName, place: [String] = [], kind: String? = nil) -> String {
      switch self {
      case .files(let path):
        let absolute = URL(fileURLWithPath: path).standardizedFileURL.path
        return Self.name(kind ?? "files", (absolute as NSString).lastPathComponent, absolute)
      case .endpoint(let url):
        let form = kind ?? preset.rawValue
        let whole = ([form + DeliveryPlan.Destination(url).shown] + place).joined(separator: "\n")
        return Self.name(form, URLComponents(string: url)?.host ?? "", whole)
      case .broker(let address):
        let parts = address.split(separator: "/", omittingEmptySubsequences: true)
        let whole = ([kind ?? "parts", address.lowercased()] + place).joined(separator: "\n")
        return Self.name(parts.first?.hasPrefix("kafka") == true ? "kafka" : "nats", String(parts.last ?? ""), whole)
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

// DeliveryPlan: what is done to events between the log and each provider, and where each provider is.

package import Logging
package import Weir

/// Defines the delivery of a log's events: the providers, what each provider gets, and where each provider is.
///
/// A plan is a value. A program and the tool `weir` deliver the same events if they use the same plan. Usually the plan
/// is a file, whose format the guide Plans describes:
///
/// ```json
/// {
///   "contract": "shop.contract.json",
///   "providers": {
///     "archive": {"to": "/var/lib/shop/archive", "lz4": true},
///     "segment": {
///       "to": "https://api.segment.io", "preset": "segment", "key_env": "SEGMENT_KEY",
///       "mapper": [{"only": {"events": ["checkout.*"]}}, "snake_case"],
///       "flush": {"interval": "10s"}
///     }
///   }
/// }
/// ```
///
/// ```swift
/// let plan = try DeliveryPlan(contentsOf: "/etc/shop/plan.json")
/// try dispatcher.add(plan) { try HTTPProvider($0) }
/// ```
///
/// Closures can't be in a file. A plan made in Swift may contain closures, which ``Entry/closures`` names.
public struct DeliveryPlan: Sendable {
  /// The delivery to one provider.
  public struct Entry: Sendable {
    /// The provider's name: letters, digits, `-` and `_`. The name identifies the cursor, so the name must never
    /// change.
    public var name: String

    /// Where the provider is; `nil` if the program makes the provider in its own way.
    public var destination: Destination?

    /// When events go out, and how they are prepared.
    public var options: DeliveryOptions

    /// The changes of events for this provider.
    public var mapper: EventMapper

    /// Creates an entry.
    public init(
      _ name: String, to destination: Destination? = nil, options: DeliveryOptions = DeliveryOptions(),
      mapper: EventMapper = EventMapper()
    ) {
      self.name = name
      self.destination = destination
      self.options = options
      self.mapper = mapper
    }

    /// The steps of ``mapper`` that no file can hold because they are closures, such as `deriving(from: Checkout)`.
    public var closures: [String] { mapper.closures }
  }

  /// The providers, in order. Their names differ.
  public var entries: [Entry]

  /// Which providers get which events: an event goes to the providers of the first route that its name matches, and to
  /// every provider if it matches none. Default none.
  ///
  /// A plan whose last route is `Route("*", to: […])` names the providers of every event: a provider that is added
  /// later gets only what a route gives it.
  public var routes: [Route]

  /// Creates a plan of these entries and routes.
  public init(_ entries: [Entry] = [], routes: [Route] = []) {
    self.entries = entries
    self.routes = routes
  }

  /// The entry of the provider of this name.
  public subscript(name: String) -> Entry? { entries.first { $0.name == name } }
}

extension DeliveryPlan {
  /// Where a provider is. The properties are the keys of a plan's file, and the options of `weir deliver`.
  public struct Destination: Hashable, Sendable {
    /// Where a key is kept: never in a plan, which others may read.
    public enum Key: Hashable, Sendable {
      /// In this environment variable.
      case environment(String)
      /// In this file, which contains nothing else.
      case file(String)
    }

    /// A URL, or the path of a directory for files of JSON Lines (``JSONLinesProvider``).
    public var to: String

    /// The form in which a URL takes events. Default ``HTTPPresetName/json``.
    public var preset = HTTPPresetName.json

    /// A second URL, for requests that the first does not answer; `nil` for none.
    public var failover: String?

    /// What HTTP statuses of a URL mean, where that differs from the preset's reading.
    public var statusRules = HTTPStatusRules()

    /// Where the key of a URL is kept; `nil` for no key.
    public var key: Key?

    /// Where the key of the users' pseudonyms is kept, for a URL: see `Pseudonym.init(key:)` of WeirHTTP; `nil` (the
    /// default) for the users' ids.
    public var pseudonymKey: Key?

    /// ClickHouse's user, or Mixpanel's service account; empty for none. The key is the password.
    public var user = ""

    /// Mixpanel's project, with a service account, or the data stream of Google Analytics 4; empty for none.
    public var project = ""

    /// ClickHouse's table. Default `events`.
    public var table = "events"

    /// The traits of a user that are the user's groups, such as `company`: an id, or an object with `id` and what is
    /// known about the group. The presets of Segment, Mixpanel, Amplitude and PostHog know groups.
    public var groups: [String] = []

    /// A PEM file of certificate authorities, trusted instead of the system's; `nil` for the system's.
    public var authorities: String?

    /// A PEM file with the client certificate and its chain; `nil` for no certificate.
    public var certificate: String?

    /// The PEM file with the certificate's private key; `nil` if the certificate's file holds both.
    public var certificateKey: String?

    /// Whether requests to a URL are compressed with gzip, if the preset allows gzip. Default `true`.
    public var gzip = true

    /// The maximum number of requests to a URL that are in flight at the same time. Default 1, which keeps the order:
    /// see `HTTPConfiguration.concurrency` of WeirHTTP. At least 1.
    public var concurrency = 1

    /// Whether files are compressed with LZ4. Default `false`.
    public var lz4 = false

    /// Creates a destination with the default values.
    public init(_ to: String) {
      self.to = to
    }

    /// Whether the destination is a URL, and not a path.
    public var isURL: Bool { to.contains("://") }
  }
}

extension DeliveryPlan.Entry {
  /// The provider of an entry whose destination is a path; `nil` for others.
  var files: JSONLinesProvider? { files(logger: JSONLinesProvider.Options().logger) }

  package func files(logger: Logger?) -> JSONLinesProvider? {
    guard let destination, !destination.isURL else { return nil }
    var files = JSONLinesProvider.Options()
    files.isCompressed = destination.lz4
    files.logger = logger
    return JSONLinesProvider(destination.to, name: name, options: files)
  }
}

extension DeliveryPlan.Entry {
  /// The options for the provider that was made of the entry, with its pseudonyms.
  package func options(of provider: any Provider) throws(WeirError) -> DeliveryOptions {
    var options = options
    if let pseudonym = (provider as? any PseudonymousProvider)?.pseudonym { options.pseudonym = pseudonym }
    if destination?.pseudonymKey != nil, options.pseudonym == nil {
      throw WeirError(
        .invalid, "the plan's provider \(name) was made without pseudonyms; make the provider of its entry")
    }
    return options
  }
}

extension Dispatcher {
  /// Adds the providers of a plan, each with its options and its mapper. Adds either all of them or, if it throws,
  /// none: see ``add(contentsOf:options:)``.
  ///
  /// - Parameters:
  ///   - plan: The plan.
  ///   - makeProvider: Called for each entry whose destination is not a path, to make the entry's provider under the
  ///     entry's name. For a URL, that is `HTTPProvider.init(_:)` of the module WeirHTTP.
  ///
  /// Throws what ``add(_:options:)`` throws, `invalid` for an entry without a provider, and what `makeProvider` throws.
  public func add(
    _ plan: DeliveryPlan, makeProvider: ((DeliveryPlan.Entry) throws -> any Provider)? = nil
  ) throws {
    var added: [(provider: any Provider, options: DeliveryOptions)] = []
    for entry in plan.routed.entries {
      guard let provider: any Provider = try entry.files ?? makeProvider?(entry) else {
        throw WeirError(
          .invalid,
          "the plan's provider \(entry.name) is at no path; give add(_:makeProvider:) a closure that makes the provider"
        )
      }
      guard provider.name == entry.name else {
        throw WeirError(
          .invalid,
          "the plan's provider \(entry.name) was made with the name \(provider.name); give it its entry's name")
      }
      added.append((provider.mapped(by: entry.mapper), try entry.options(of: provider)))
    }
    try add(added)
  }
}

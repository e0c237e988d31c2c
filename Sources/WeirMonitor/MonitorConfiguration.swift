// MonitorConfiguration: where a monitor listens, what it shows, and to whom.

#if Monitor
  package import Weir

  extension Monitor {
    /// How a monitor is set up.
    public struct Configuration: Sendable {
      /// The port to listen on; 0 for any free port. Default 0.
      public var port = 0
      /// The address to listen on. Default `127.0.0.1`; then `::1` too, where there is one.
      public var host = "127.0.0.1"
      /// Whether ``host`` may be an address that other machines can reach. They still need the token. The connection is
      /// not encrypted: use a tunnel, such as `ssh -L`, wherever possible. Default `false`.
      public var allowsRemote = false
      /// Whether sensitive values are shown as they are. Default `false`: they are replaced by `[redacted]`, also for
      /// filters and exports.
      public var showsSensitive = false
      /// The file with the key that sessions are signed with, so that a browser stays signed in when the monitor is
      /// started again. It is made if it does not exist, for this user alone. `nil`, the default: a session ends with
      /// the monitor.
      public var keyFile: String?
      /// Called with the address to open, token included: before the first one can be used, and each time it was used,
      /// with the address for the next browser. Default: nothing.
      public var onAddress: @Sendable (String) -> Void = { _ in }

      /// What each provider of a plan would get of an event; `nil` without a plan.
      package var preview: (@Sendable (StoredEvent) -> [(provider: String, text: String)])?

      /// Further pages. The monitor's own page links to them.
      package var pages: [LinkedPage] = []

      /// Creates the default configuration.
      public init() {}

      /// The maximum number of streams. A page has one.
      static let mostStreams = 16
      /// The maximum number of connections. A browser has up to six for each page.
      static let mostConnections = 64

      func check() throws(WeirError) {
        guard (0...65_535).contains(port) else {
          throw WeirError(.invalid, "port \(port) does not exist; choose one from 1 to 65535, or 0 for any free port")
        }
        guard allowsRemote || HostName.isLoopback(host) else {
          throw WeirError(
            .invalid, "other machines can reach \(host); allow remote readers, or listen on 127.0.0.1")
        }
      }
    }
  }

  /// A page that the monitor's own page links to.
  package struct LinkedPage: Sendable {
    /// In lower case: the page's path, and its title.
    let name: String
    let isThere: @Sendable () -> Bool
    /// The page as HTML without scripts.
    let html: @Sendable () -> String

    package init(
      _ name: String, if isThere: @escaping @Sendable () -> Bool = { true }, html: @escaping @Sendable () -> String
    ) {
      (self.name, self.isThere, self.html) = (name, isThere, html)
    }
  }
#endif

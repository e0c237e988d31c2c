// PlannedProvider: the provider of a plan's entry whose destination is a URL.

#if HTTP
  public import WeirDelivery
  public import Weir

  extension HTTPProvider {
    /// Creates the provider of a plan's entry whose destination is a URL, under the entry's name.
    ///
    /// ```swift
    /// try dispatcher.add(plan) { try HTTPProvider($0) }
    /// ```
    ///
    /// The plan determines compression, concurrency, TLS, the second endpoint and, if the plan has any, the status
    /// rules; and `configuration` the rest. If the sum of ``HTTPConfiguration/timeout`` and
    /// ``HTTPConfiguration/callTime`` is not below `DeliveryOptions.attemptTimeout`, the first is at most half of that
    /// time, and the second at most a third.
    ///
    /// Reads the key. Throws `invalid` if the entry has no URL, if the key or a certificate is missing or unusable, and
    /// what ``init(_:name:configuration:client:)`` throws.
    public convenience init(
      _ entry: DeliveryPlan.Entry, configuration: HTTPConfiguration = HTTPConfiguration()
    ) throws(WeirError) {
      guard let destination = entry.destination, destination.isURL else {
        throw WeirError(
          .invalid, "the plan's provider \(entry.name) has no URL; make the provider of \(entry.name) here")
      }
      var configuration = configuration.fitting(entry.options.attemptTimeout)
      configuration.compression = destination.gzip ? .gzip : .identity
      configuration.concurrency = destination.concurrency
      configuration.tls.authorities = destination.authorities
      configuration.tls.certificate = destination.certificate
      configuration.tls.privateKey = destination.certificateKey
      if let address = destination.failover {
        var failover = configuration.failover ?? HTTPConfiguration.Failover(address)
        failover.endpoint = address
        configuration.failover = failover
      }
      if !destination.statusRules.isEmpty { configuration.statusRules = destination.statusRules }
      let addresses = [destination.to, destination.failover].compactMap { $0?.lowercased() }
      if addresses.contains(where: { $0.hasPrefix("https:") }) { try configuration.tls.check() }
      func secret(_ key: DeliveryPlan.Destination.Key?, _ what: String) throws(WeirError) -> Secret? {
        do throws(WeirError) {
          return try key.map { key throws(WeirError) in try Secret(at: key) }
        } catch {
          throw WeirError(error.code, "the \(what) of \(entry.name): \(error.message)", path: error.path)
        }
      }
      let key = try secret(destination.key, "key")
      let pseudonym = try secret(destination.pseudonymKey, "key of pseudonyms").map { Pseudonym(key: $0) }
      try self.init(
        destination.preset.preset(
          endpoint: destination.to, key: key, user: destination.user, project: destination.project,
          table: destination.table, groups: destination.groups),
        name: entry.name, configuration: configuration, pseudonym: pseudonym)
    }
  }

  extension HTTPBatchProvider {
    /// Creates the provider of an entry whose destination is a URL that takes batch segments. Its key is a bearer
    /// token.
    package convenience init(batchesOf entry: DeliveryPlan.Entry) throws(WeirError) {
      guard let destination = entry.destination, destination.isURL else {
        throw WeirError(.invalid, "the plan's provider \(entry.name) has no URL")
      }
      guard destination.failover == nil else {
        throw WeirError(
          .invalid, "batch segments have no failover; leave failover out of the plan's provider \(entry.name)")
      }
      var configuration = HTTPConfiguration()
      configuration.logger = nil
      configuration.timeout = max(.seconds(1), entry.options.attemptTimeout * 4 / 5)
      configuration.readTimeout = min(.seconds(60), configuration.timeout)
      configuration.tls.authorities = destination.authorities
      configuration.tls.certificate = destination.certificate
      configuration.tls.privateKey = destination.certificateKey
      configuration.statusRules = destination.statusRules
      if destination.to.lowercased().hasPrefix("https:") { try configuration.tls.check() }
      let key = try destination.key.map { key throws(WeirError) in try Secret(at: key) }
      try self.init(
        destination.to, name: entry.name, authorization: key.map { .bearer($0) }, configuration: configuration)
    }
  }

  extension HTTPProvider: PseudonymousProvider {}

  extension HTTPProvider: EncodedEventProvider {
    package var takesEncodedEvents: Bool { preset is any LinesPreset }
  }

  extension DeliveryPlan.Entry {
    /// The event in the form of the entry's preset; `nil` if the destination is no URL. Throws what the preset throws
    /// for an event that the endpoint can never accept.
    package func encoded(_ event: PreparedEvent) throws -> [UInt8]? {
      guard let destination, destination.isURL else { return nil }
      return try destination.preset.preset(
        endpoint: destination.to, key: nil, user: destination.user, project: destination.project,
        table: destination.table, groups: destination.groups
      ).encode(event)
    }
  }
#endif

// ProviderSource: creates the providers that a command line names.

#if Tool
  import Foundation
  import Weir
  import WeirDelivery

  #if HTTP
    import WeirHTTP
  #endif

  /// Creates new providers for each log, because a provider belongs to one dispatcher and is shut down with it.
  struct ProviderSource: Sendable {
    let plan: DeliveryPlan
    /// Whether the providers take batch segments, and no events.
    let takesBatches: Bool
    private let checksRecorded: Bool
    /// The brokers by the name of the provider, and whether they take parts.
    private let brokers: [String: BrokerDestination]
    private let brokersTakeParts: Bool
    /// The options that name files, for messages about the files.
    private let files: [(option: String, path: String)]

    var names: [String] { plan.entries.map(\.name) }

    /// Checks that every provider can be created, so that a mistake is reported before any change.
    init(
      _ given: ProviderOptions, start: DeliveryOptions.Start? = nil,
      environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
      var plan = try given.deliveryPlan()
      let authorities = environment["SSL_CERT_FILE"].flatMap { $0.isEmpty ? nil : $0 }
      for index in plan.entries.indices {
        if let start { plan.entries[index].options.start = start }
        if plan.entries[index].destination?.authorities == nil {
          plan.entries[index].destination?.authorities = authorities
        }
      }
      self.plan = plan
      takesBatches = given.batches
      (brokers, brokersTakeParts) = (try given.brokers(), given.brokersTakeParts)
      checksRecorded = !given.anyway
      files = [
        ("--cacert", given.authorities), ("--cert", given.certificate), ("--cert-key", given.certificateKey),
        ("SSL_CERT_FILE", authorities),
      ].compactMap { option, path in path.map { (option, $0) } }
      _ = try providers()
    }

    /// Creates the providers for the log in a directory. Throws if the program delivers other events in the name of one
    /// of them.
    func providers(for log: String) throws -> [(provider: any Provider, options: DeliveryOptions)] {
      let made = try providers()
      if checksRecorded {
        for (entry, (_, options)) in zip(plan.entries, made) {
          var entry = entry
          entry.options = options
          do throws(WeirError) {
            try entry.checkRecorded(in: log)
          } catch {
            guard error.code == .invalid else { throw error }
            throw ToolError("\(error.message), or deliver with --anyway")
          }
        }
      }
      // Unless it follows the log, a command ends with a flush, whatever else makes events go out.
      return made.map { provider, options in
        var options = options
        options.flush.triggers.insert(.demand)
        return (provider, options)
      }
    }

    private func providers() throws -> [(provider: any Provider, options: DeliveryOptions)] {
      try plan.entries.map { entry in
        let provider = try provider(entry)
        return (provider.mapped(by: entry.mapper), try entry.options(of: provider))
      }
    }

    private func provider(_ entry: DeliveryPlan.Entry) throws -> any Provider {
      if let broker = brokers[entry.name] { return try broker.provider(entry.name, asEvents: !brokersTakeParts) }
      if takesBatches, let destination = entry.destination, !destination.isURL {
        return BatchDelivery(BatchDirectoryProvider(destination.to, name: entry.name))
      }
      if let files = entry.files(logger: nil) { return files }
      #if HTTP
        var configuration = HTTPConfiguration()
        configuration.logger = nil
        do throws(WeirError) {
          if takesBatches { return BatchDelivery(try HTTPBatchProvider(batchesOf: entry)) }
          return try HTTPProvider(entry, configuration: configuration)
        } catch {
          let option = files.first { error.message.hasPrefix($0.path) }?.option
          throw ToolError((option.map { $0 + ": " } ?? "") + error.message)
        }
      #else
        throw ToolError(
          "this build of weir has no delivery over HTTP; build one with: swift build -c release --product weir "
            + "--traits HTTP, or give a path")
      #endif
    }
  }
#endif

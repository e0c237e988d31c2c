// ProviderOptions: the options for destinations, shared by all commands that deliver.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirDelivery

  struct ProviderOptions: ParsableArguments {
    @Option(
      name: .customLong("plan"),
      help: """
        A file with a delivery plan, JSON or YAML: the providers, and what each of them gets. --name selects \
        providers of the plan. With --to as well, the events of the provider of that name go there, and not to the \
        plan's address or failover; all else stays as in the plan, except for options that are given. A URL takes the \
        place of a URL, and a path of a path.
        """,
      completion: .file())
    var planFile: String?

    @Flag(
      help: """
        Deliver even if the program does other things to the events of a provider of this name, or things that no \
        plan's file can hold, or if an earlier delivery kept something from the provider that this delivery does not.
        """)
    var anyway = false

    @Option(
      name: .customLong("to"),
      help: """
        The destination: a URL, a broker (nats://host, tls://host, kafka://host/topic or kafka+ssl://host/topic), or \
        the path of a directory for files of JSON Lines. May be given several times.
        """,
      completion: .file())
    var to: [String] = []

    @Option(
      name: .customLong("name"),
      help: """
        The provider's name, under which the position in the log is kept: letters, digits, - and _. One name for each \
        --to. The default is derived from the address, the preset, and --table, --project and --user, but not from \
        the key: if another key means another provider, give names.
        """)
    var names: [String] = []

    @Option(
      name: .customLong("preset"),
      help: """
        The form in which a URL takes events: \(HTTPPresetName.allCases.map(\.rawValue).joined(separator: ", ")) \
        (default: json). A broker takes parts of the log, or with json events.
        """)
    var givenPreset: HTTPPresetName?

    var preset: HTTPPresetName { givenPreset ?? .json }

    @Option(
      help: """
        A second URL, for requests that the URL of --to does not answer, or answers with a status of 500 to 599. The \
        key is the same.
        """)
    var failover: String?

    @Option(help: "A file that contains the provider's key and nothing else.", completion: .file())
    var keyFile: String?

    @Option(help: "The environment variable that contains the provider's key.")
    var keyEnv: String?

    @Option(help: "The user of a broker or ClickHouse, or Mixpanel's service account. The key is the password.")
    var user = ""

    @OptionGroup var broker: BrokerOptions

    @Option(help: "The name of this machine in messages to a broker (default: its host name).")
    var host: String?

    @Option(
      help: """
        Mixpanel's project, with a service account; or the data stream of Google Analytics 4, a measurement ID or a \
        Firebase app ID.
        """)
    var project = ""

    @Option(name: .customLong("table"), help: "ClickHouse's table (default: events).")
    var givenTable: String?

    var table: String { givenTable ?? "events" }

    @Option(
      name: .customLong("cacert"),
      help: """
        A PEM file with the certificate authorities to trust for TLS, instead of the system's (default: the file \
        that the variable SSL_CERT_FILE names, if set).
        """,
      completion: .file())
    var authorities: String?

    @Option(
      name: .customLong("cert"),
      help: "A PEM file with the client certificate for an endpoint that requires one, and its chain.",
      completion: .file())
    var certificate: String?

    @Option(
      name: .customLong("cert-key"),
      help: "The PEM file of the private key for --cert, without a passphrase (default: the file of --cert).",
      completion: .file())
    var certificateKey: String?

    @Flag(help: "Compress requests to a URL with gzip, if the preset allows gzip.")
    var gzip = false

    @Option(
      help: """
        The most requests to a URL that are in flight at the same time (default: 1, which keeps the order of the \
        events).
        """)
    var concurrency: Int?

    @Flag(help: "Compress files with LZ4.")
    var lz4 = false

    @Flag(
      help: """
        Deliver batch segments whole, as LZ4 files, and no events one by one: a path gets the files, and a URL one PUT \
        for each. Needs --as-captured.
        """)
    var batches = false

    @Flag(help: "With --batches: deliver events as they were captured, sensitive values included.")
    var asCaptured = false

    /// One provider with its name.
    struct Named: Equatable, Sendable {
      var name: String
      var address: ProviderAddress
    }

    func validate() throws {
      if keyFile != nil, keyEnv != nil { throw ValidationError("--key-file and --key-env exclude each other") }
      guard names.isEmpty || names.count == to.count || to.isEmpty && planFile != nil else {
        throw ValidationError("--name must be given as often as --to, or not at all")
      }
      guard planFile == nil || to.isEmpty || !names.isEmpty else {
        throw ValidationError("--to with --plan needs --name, the plan's provider that is there")
      }
      if planFile != nil, to.isEmpty, let option = optionOfPlans {
        throw ValidationError("\(option) is in the plan; remove it here, or give --name and --to with it")
      }
      guard certificateKey == nil || certificate != nil else { throw ValidationError("--cert-key needs --cert") }
      guard batches || !asCaptured else { throw ValidationError("--as-captured needs --batches") }
      if batches, let option = optionOfEvents {
        throw ValidationError("\(option) is for events one by one; leave it out with --batches")
      }
      for name in names where !Cursor.isProviderName(name) {
        throw ValidationError("--name \(Terminal.quoted(name)) must be 1 to 64 letters, digits, - and _")
      }
      guard concurrency ?? 1 >= 1 else { throw ValidationError("--concurrency must be at least 1") }
      guard Set(names).count == names.count else { throw ValidationError("--name is the same for two providers") }
    }

    /// The delivery that the options describe: the plan's providers, or those of `--to`.
    func deliveryPlan() throws -> DeliveryPlan {
      var plan = try planFile.map(PlanSource.plan)?.routed
      if let planFile, plan?.entries.isEmpty == true { throw ToolError(PlanSource.nobody(in: planFile)) }
      let added = try addresses().map { named in
        let takesParts = named.address.isBroker && brokersTakeParts
        let usual = takesParts ? DeliveryOptions.asParts : batches ? Self.batchOptions : Self.usualOptions
        var entry = plan?[named.name] ?? DeliveryPlan.Entry(named.name, options: usual)
        if named.address.isBroker {
          entry.destination = nil
          return entry
        }
        entry.destination = try destination(named, in: entry.destination)
        return entry
      }
      if let known = plan?.entries.map(\.name), let name = names.first(where: { !known.contains($0) }) {
        throw ToolError("the plan has no provider \(name); there are \(known.joined(separator: ", "))")
      }
      if to.isEmpty, let entries = plan?.entries {
        plan?.entries = names.isEmpty ? entries : entries.filter { names.contains($0.name) }
        if let entry = plan?.entries.first(where: { $0.destination == nil }) {
          throw ToolError(
            "the plan does not say where \(entry.name) is; write the key to, or give --name \(entry.name) and --to")
        }
      } else {
        plan = DeliveryPlan(added)
      }
      return try asBatches(plan ?? DeliveryPlan())
    }

    /// The plan with what `--batches` needs. Redaction is given up only where somebody asks for that.
    private func asBatches(_ plan: DeliveryPlan) throws(ToolError) -> DeliveryPlan {
      guard batches else { return plan }
      var plan = plan
      for index in plan.entries.indices where asCaptured { plan.entries[index].options.redactsSensitive = false }
      if let entry = plan.entries.first(where: \.options.redactsSensitive) {
        throw ToolError(
          "--batches delivers events to \(entry.name) as they were captured, sensitive values included; add "
            + "--as-captured to allow that, or leave out --batches")
      }
      return plan
    }

    /// The options of a delivery without a plan. Batches are larger than in a program, which delivers its events soon,
    /// because the events are already in the log.
    private static var usualOptions: DeliveryOptions {
      var options = DeliveryOptions()
      options.flush.maximumEvents = 5_000
      options.flush.maximumBytes = 4 << 20
      return options
    }

    /// Whether a broker gets parts of the log, as captured, and no events one by one.
    var brokersTakeParts: Bool { planFile == nil && givenPreset == nil }

    /// The brokers, by the name of the provider.
    func brokers() throws(ToolError) -> [String: BrokerDestination] {
      var brokers: [String: BrokerDestination] = [:]
      for named in try addresses() {
        guard case .broker(let address) = named.address else { continue }
        var destination = BrokerDestination(address, broker)
        destination.user = user
        destination.host = host
        destination.key = keyFile.map { .file($0) } ?? keyEnv.map { .environment($0) }
        destination.authorities = authorities
        (destination.certificate, destination.certificateKey) = (certificate, certificateKey)
        try destination.validate()
        brokers[named.name] = destination
      }
      return brokers
    }

    private static var batchOptions: DeliveryOptions {
      var options = DeliveryOptions.asCaptured
      options.redactsSensitive = true
      return options
    }

    /// Returns the destination at an address. Options replace the plan's values, and the plan's other values stay. The
    /// plan's failover does not stay, because nobody named that host on the command line.
    private func destination(
      _ named: Named, in planned: DeliveryPlan.Destination?
    ) throws(ToolError) -> DeliveryPlan.Destination? {
      let address = named.address
      if let planned, planned.isURL != address.isEndpoint {
        let (known, given) = planned.isURL ? ("a URL", "a path") : ("a path", "a URL")
        throw ToolError(
          "the plan's provider \(named.name) has \(known), and --to \(Terminal.printable(address.shown)) is \(given); "
            + "give \(known) with --to, or write another provider into the plan")
      }
      switch address {
      case .broker: return nil
      case .files(let path):
        var destination = planned ?? DeliveryPlan.Destination(path)
        destination.to = path
        if lz4 { destination.lz4 = true }
        return destination
      case .endpoint(let url):
        var destination = planned ?? DeliveryPlan.Destination(url)
        destination.to = url
        destination.failover = failover
        destination.preset = givenPreset ?? destination.preset
        destination.key = keyFile.map { .file($0) } ?? keyEnv.map { .environment($0) } ?? destination.key
        if !user.isEmpty { destination.user = user }
        if !project.isEmpty { destination.project = project }
        destination.table = givenTable ?? destination.table
        destination.authorities = authorities ?? destination.authorities
        if let certificate { (destination.certificate, destination.certificateKey) = (certificate, certificateKey) }
        if planned == nil || gzip { destination.gzip = gzip }
        destination.concurrency = concurrency ?? destination.concurrency
        return destination
      }
    }

    /// The providers, in the given order. Throws for options that no delivery could use.
    func addresses() throws(ToolError) -> [Named] {
      var named: [Named] = []
      for (index, text) in to.enumerated() {
        let address = try ProviderAddress(text)
        // Two addresses that differ only in the query may be two providers, or one provider with two keys.
        guard !names.isEmpty || !address.hasQuery else {
          throw ToolError(
            "--to \(Terminal.printable(address.shown)) has a query; give a --name, because the query may or may not be "
              + "part of the provider's identity")
        }
        let kind = batches ? "batches" : nil
        let name =
          names.isEmpty
          ? address.name(preset, place: address.isBroker ? brokerPlace : place, kind: kind) : names[index]
        guard !named.contains(where: { $0.name == name }) else {
          throw ToolError("--to \(address.shown) is given twice; give each provider once")
        }
        named.append(Named(name: name, address: address))
      }
      let urls = named.count { $0.address.isEndpoint }
      let brokers = named.count { $0.address.isBroker }
      try checkBrokers(brokers, of: named.count)
      if urls == 0, brokers == 0, !named.isEmpty, let option = optionOfURLs {
        throw ToolError("\(option) needs a URL, and --to is a path; a URL begins with http:// or https://")
      }
      if let option = optionOfTLS, !named.isEmpty, !named.contains(where: \.address.isEncrypted) {
        throw ToolError("\(option) needs a --to that begins with https://, tls:// or kafka+ssl://")
      }
      try checkFailover(urls: urls)
      guard givenTable?.isEmpty != true else { throw ToolError("--table is empty; name ClickHouse's table") }
      guard !gzip || urls > 0 else { throw ToolError("--gzip needs a URL; use --lz4 to compress files") }
      guard !lz4 || urls < named.count else { throw ToolError("--lz4 needs a path; use --gzip for a URL") }
      return named
    }

    /// Throws for options that brokers do not have, and for those that only brokers have.
    private func checkBrokers(_ brokers: Int, of all: Int) throws(ToolError) {
      guard brokers > 0 else {
        guard let option = broker.first ?? host.map({ _ in "--host" }) else { return }
        throw ToolError("\(option) is for a broker; give --to nats://… or kafka://…, or leave \(option) out")
      }
      guard givenPreset ?? .json == .json else {
        throw ToolError(
          "a broker takes parts of the log, or with --preset json events; leave --preset out, or say json")
      }
      guard !batches else {
        throw ToolError("--batches is for files and URLs; a broker takes parts of the log without it")
      }
      guard !gzip else { throw ToolError("--gzip is for a URL; a broker gets parts that are packed already") }
    }

    private func checkFailover(urls: Int) throws(ToolError) {
      guard let failover, !to.isEmpty else { return }
      let second = DeliveryPlan.Destination(failover)
      if let problem = second.problem(as: "--failover", keys: "--key-file or --key-env") {
        throw ToolError(Terminal.printable(problem))
      }
      guard second.isURL else { throw ToolError("--failover is a path; give a URL") }
      guard urls == 1 else {
        throw ToolError("--failover is the second URL of one provider, and --to has \(urls); use a plan for several")
      }
    }

    /// The options that distinguish providers of one address. Defaults are left out, so that existing names do not
    /// change.
    private var place: [String] {
      let given = [("table", table == "events" ? "" : table), ("project", project), ("user", user)]
      return given.filter { !$0.1.isEmpty }.map { "\($0.0)=\($0.1)" }
    }

    private var brokerPlace: [String] {
      [("stream", broker.stream), ("preset", givenPreset?.rawValue)].compactMap { name, value in
        value.map { "\(name)=\($0)" }
      }
    }

    /// The first given option that has no meaning for batch segments.
    private var optionOfEvents: String? {
      let given = [
        ("--preset", givenPreset != nil), ("--user", !user.isEmpty), ("--project", !project.isEmpty),
        ("--table", givenTable != nil), ("--failover", failover != nil), ("--gzip", gzip), ("--lz4", lz4),
        ("--concurrency", concurrency != nil),
      ]
      return given.first(where: \.1)?.0
    }

    /// The first given option that has no meaning without a URL.
    private var optionOfURLs: String? {
      let given = [
        ("--preset", givenPreset != nil), ("--key-file", keyFile != nil), ("--key-env", keyEnv != nil),
        ("--user", !user.isEmpty), ("--project", !project.isEmpty), ("--table", givenTable != nil),
        ("--failover", failover != nil), ("--concurrency", concurrency != nil),
      ]
      return given.first(where: \.1)?.0
    }

    /// The first given option that describes a destination.
    private var optionOfPlans: String? {
      let given = [
        ("--cacert", authorities != nil), ("--cert", certificate != nil), ("--gzip", gzip), ("--lz4", lz4),
      ]
      return optionOfURLs ?? given.first(where: \.1)?.0
    }

    /// The first given option that has no meaning without TLS.
    private var optionOfTLS: String? {
      [("--cacert", authorities), ("--cert", certificate)].first { $0.1 != nil }?.0
    }
  }
#endif

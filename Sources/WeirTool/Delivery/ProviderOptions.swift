// ProviderOptions.swift: the options for destinations, shared by all commands that deliver.

#if Tool
  import ArgumentParser
  import Weir

  struct ProviderOptions: ParsableArguments {
    @Option(
      name: .customLong("to"),
      help: """
        Where to: a URL, or the path of a directory for files of JSON Lines. May be given again, for several at a time.
        """)
    var to: [String] = []

    @Option(
      name: .customLong("name"),
      help: """
        The name that the delivery's place in the log is kept by: letters, digits, - and _. One for each --to. If it \
        is left out it is made from the address, the preset, and --table, --project and --user; not from the key: \
        where another key means another provider, give names.
        """)
    var names: [String] = []

    @Option(
      name: .customLong("preset"),
      help: """
        The form that a URL takes events in: \(PresetName.allCases.map(\.rawValue).joined(separator: ", ")) \
        (default: json).
        """)
    var givenPreset: PresetName?

    var preset: PresetName { givenPreset ?? .json }

    @Option(help: "A file that holds the key for the provider, and nothing else.")
    var keyFile: String?

    @Option(help: "The environment variable that holds the key for the provider.")
    var keyEnv: String?

    @Option(help: "ClickHouse's user, or Mixpanel's service account; that one's password is the key.")
    var user = ""

    @Option(help: "Mixpanel's project, for a service account.")
    var project = ""

    @Option(name: .customLong("table"), help: "ClickHouse's table (default: events).")
    var givenTable: String?

    var table: String { givenTable ?? "events" }

    @Option(
      name: .customLong("cacert"),
      help: """
        A PEM file of the authorities that are trusted for https, in place of the system's (default: the file that the \
        variable SSL_CERT_FILE names, if it is set).
        """)
    var authorities: String?

    @Option(
      name: .customLong("cert"),
      help: "A PEM file of the certificate to show to an endpoint that wants one, with those above it.")
    var certificate: String?

    @Option(
      name: .customLong("cert-key"),
      help: "The PEM file of that certificate's private key, without a passphrase (default: the file of --cert).")
    var certificateKey: String?

    @Flag(help: "Pack what is sent to a URL with gzip, where the preset allows that.")
    var gzip = false

    @Flag(help: "Pack files with LZ4.")
    var lz4 = false

    /// One provider with its name.
    struct Named: Equatable, Sendable {
      var name: String
      var address: ProviderAddress
    }

    func validate() throws {
      if keyFile != nil, keyEnv != nil { throw ValidationError("--key-file and --key-env exclude each other") }
      guard names.isEmpty || names.count == to.count else {
        throw ValidationError("--name must be given as often as --to, or not at all")
      }
      guard certificateKey == nil || certificate != nil else { throw ValidationError("--cert-key goes with --cert") }
      for name in names where !Cursor.isProviderName(name) {
        throw ValidationError("--name \(Terminal.quoted(name)) must be 1 to 64 letters, digits, - and _")
      }
      guard Set(names).count == names.count else { throw ValidationError("--name is the same for two providers") }
    }

    var key: KeySource? { keyFile.map { .file($0) } ?? keyEnv.map { .environment($0) } }

    /// The providers, in the given order. Throws for options that no delivery could use.
    func addresses() throws(ToolError) -> [Named] {
      var named: [Named] = []
      for (index, text) in to.enumerated() {
        let address = try ProviderAddress(text)
        // Two addresses that differ there may be two providers, or one with another key: nobody else can tell.
        guard !names.isEmpty || !address.hasQuery else {
          throw ToolError(
            "--to \(Terminal.printable(address.shown)) has a query, so give it a --name: another query may be another "
              + "provider, or not")
        }
        let name = names.isEmpty ? address.name(preset, place: place) : names[index]
        guard !named.contains(where: { $0.name == name }) else {
          throw ToolError("--to \(address.shown) is given twice; give each provider once")
        }
        named.append(Named(name: name, address: address))
      }
      let urls = named.count { $0.address.isEndpoint }
      if urls == 0, !named.isEmpty, let option = optionOfURLs {
        throw ToolError("\(option) goes with a URL, and --to is a path; a URL begins with http:// or https://")
      }
      if let option = optionOfTLS, !named.isEmpty, !named.contains(where: \.address.isEncrypted) {
        throw ToolError("\(option) goes with a URL that begins with https://; no --to does")
      }
      guard givenTable?.isEmpty != true else { throw ToolError("--table is empty; name ClickHouse's table") }
      guard !gzip || urls > 0 else { throw ToolError("--gzip goes with a URL; files are packed with --lz4") }
      guard !lz4 || urls < named.count else { throw ToolError("--lz4 goes with a path; a URL is sent to with --gzip") }
      return named
    }

    /// What tells providers of one address apart: what is not the default, for names that are there stay.
    private var place: [String] {
      let given = [("table", table == "events" ? "" : table), ("project", project), ("user", user)]
      return given.filter { !$0.1.isEmpty }.map { "\($0.0)=\($0.1)" }
    }

    /// An option that says nothing where there are only files.
    private var optionOfURLs: String? {
      let given = [
        ("--preset", givenPreset != nil), ("--key-file", keyFile != nil), ("--key-env", keyEnv != nil),
        ("--user", !user.isEmpty), ("--project", !project.isEmpty), ("--table", givenTable != nil),
      ]
      return given.first(where: \.1)?.0
    }

    private var optionOfTLS: String? {
      [("--cacert", authorities), ("--cert", certificate)].first { $0.1 != nil }?.0
    }
  }
#endif

// ContractSwiftCommand: `weir contract swift`: a contract as Swift code.

#if Tool
  import ArgumentParser
  import Weir
  import WeirContracts

  extension SwiftAccess: ExpressibleByArgument {}

  struct ContractSwiftCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "swift",
      abstract: "Print a contract as Swift code.",
      discussion: """
        Prints a protocol for each kind of event and for each field, and a structure for \
        each event, which a tracker captures. Fields with listed texts get enums. \
        Structures of your own are composed of the protocols: PageView & HasCoupon. The \
        guide ContractCode describes the code. A package can run this at every build \
        instead, with the plugin WeirContractPlugin. Equal contracts give equal code.

        Exit codes: 0 success; 2 can't run; 3 the disk is full.

        Examples:
          weir contract swift shop.json --output Sources/Shop/ShopEvents.swift
          weir contract swift shop.json --access public > ShopEvents.swift
        """)

    @Argument(help: "The contract: a JSON or YAML file.", completion: .file())
    var contract: String

    @Option(help: "Who may use the code: internal, package or public.")
    var access: SwiftAccess = .internal

    @Option(help: "The file. Standard output if omitted.", completion: .file())
    var output: String?

    func run() throws {
      let code = try ContractSource.compiled(contract).swiftCode(access: access, command: "weir contract swift")
      let target = try OutputTarget(output, permissions: 0o666)
      try target.write(Array(code.utf8))
      try target.finish()
    }
  }
#endif

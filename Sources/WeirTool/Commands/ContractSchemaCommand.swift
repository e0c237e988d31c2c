// ContractSchemaCommand: `weir contract schema`: a contract as JSON Schema.

#if Tool
  import ArgumentParser
  import Weir
  import WeirContracts

  struct ContractSchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "schema",
      abstract: "Print a contract as JSON Schema.",
      discussion: """
        Prints the contract as JSON Schema, draft 2020-12, for programs in other \
        languages. The schema describes an event as weir delivers events in JSON: an \
        object with the keys name and fields. The fields of each event are a definition \
        in $defs. What JSON Schema can't say is named in $comment. Equal contracts give \
        equal schemas.

        Exit codes: 0 success; 2 can't run; 3 the disk is full.

        Examples:
          weir contract schema shop.json --output shop.schema.json
        """)

    @Argument(help: "The contract: a JSON or YAML file.", completion: .file())
    var contract: String

    @Option(help: "The file. Standard output if omitted.", completion: .file())
    var output: String?

    func run() throws {
      let schema = try ContractSource.compiled(contract).contract.jsonSchema()
      let target = try OutputTarget(output, permissions: 0o666)
      try target.write(Array(schema))
      try target.finish()
    }
  }
#endif

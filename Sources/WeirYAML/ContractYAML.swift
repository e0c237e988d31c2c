// ContractYAML: contracts from YAML files.

#if YAML
  public import WeirContracts
  import WeirJSON

  extension Contract {
    /// The maximum size of a text that ``init(yaml:)`` reads, in bytes: 1 MiB.
    public static let maximumYAMLBytes = DocumentYAML.maximumBytes

    /// Reads a contract from YAML. The format is that of JSON contracts: see the Contracts guide.
    ///
    /// ```yaml
    /// contract: shop
    /// version: "1.2"
    /// events:
    ///   checkout.completed:
    ///     fields:
    ///       order: {type: integer, mandatory: true, min: 1}
    /// ```
    ///
    /// Throws all problems at once, each with its line, like `init(json:)`. Aliases (`*name`) and tags (`!name`) are
    /// refused, and so is a text of more than 1 MiB, or with values nested more than 64 deep.
    public init(yaml: String) throws(ContractError) {
      let node: DocumentNode
      do throws(DocumentSyntaxError) {
        node = try DocumentYAML.document(yaml)
      } catch {
        throw ContractError([.init(line: error.line, message: error.message)])
      }
      try self.init(node)
    }
  }
#endif

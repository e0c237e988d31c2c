// PlanYAML: plans from YAML files.

#if YAML
  import WeirContracts
  public import WeirDelivery
  import WeirJSON
  public import Weir

  extension DeliveryPlan {
    /// Reads a plan from YAML. The format is that of JSON plans: see the guide Plans. A contract that the plan names is
    /// read as YAML if its name ends in `.yaml` or `.yml`.
    ///
    /// Relative paths start at `directory`. Throws what `init(json:directory:)` throws. What ``WeirContracts/Contract``
    /// refuses in YAML is refused here too.
    public init(yaml: String, directory: String = ".") throws(WeirError) {
      try self.init(yaml: yaml, path: "the plan", directory: directory)
    }

    /// Reads a plan file for a program that names it: YAML if the name ends in `.yaml` or `.yml`, otherwise JSON.
    package init(fileAt path: String) throws(WeirError) {
      guard isYAML(path) else {
        try self.init(contentsOf: path, readContract: contract)
        return
      }
      try self.init(yaml: try text(at: path), path: path, directory: DeliveryPlan.directory(of: path))
    }

    private init(yaml: String, path: String, directory: String) throws(WeirError) {
      try self.init(path: path, directory: directory, readContract: contract) { () throws(DocumentSyntaxError) in
        try DocumentYAML.document(yaml)
      }
    }
  }

  private func isYAML(_ path: String) -> Bool {
    [".yaml", ".yml"].contains { path.lowercased().hasSuffix($0) }
  }

  private func text(at path: String) throws(WeirError) -> String {
    let bytes = try SystemCalls().contents(of: path, atMost: DocumentYAML.maximumBytes + 1)
    if let problem = JSONScanner.notUTF8(bytes.span) {
      throw WeirError(.invalid, "\(path): line \(problem.line): \(problem.message)", path: path)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func contract(_ path: String) throws(WeirError) -> Contract {
    guard isYAML(path) else { return try Contract(jsonAt: path) }
    let text = try text(at: path)
    do throws(ContractError) { return try Contract(yaml: text) } catch { throw error.weirError(path) }
  }
#endif

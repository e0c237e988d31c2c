// DeliveryPlan+Configuration: plans from a configuration of swift-configuration.

#if Configuration
  public import Configuration
  public import Weir
  public import WeirDelivery

  extension DeliveryPlan {
    /// Reads a plan from a configuration.
    ///
    /// ```swift
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider())
    /// let plan = try await DeliveryPlan(config: config.scoped(to: "delivery"))
    /// ```
    ///
    /// The keys are those of a plan's file, with dots between: `contract`, `providers.segment.flush.interval`. Two keys
    /// more are the configuration's own. `file` is the path of a plan's JSON file: a value of the configuration takes
    /// the place of the file's value of the same key. `provider_names` lists the providers that the file does not have.
    /// The guide Plans says how a value is written, and how a key is spelt in the environment.
    ///
    /// A configuration can't list its keys, so a misspelt key is not noticed, and neither is a key of a provider that
    /// neither the file nor `provider_names` has.
    ///
    /// Each key that a plan can have is fetched once, one after the other. If the configuration changes meanwhile, the
    /// plan may have values from before and from after the change. The plan is a value, and does not follow later
    /// changes.
    ///
    /// - Parameters:
    ///   - config: The configuration, scoped to the plan's keys.
    ///   - directory: Where the relative path in `file` starts. Other relative paths start at the directory of that
    ///     file, or here if there is no file.
    ///
    /// Throws `invalid` with the problems that `init(contentsOf:)` finds, each with the key of the configuration or the
    /// line of the file, and for values that can't be read as the key's kind. Throws the errors of the system if the
    /// file, or a contract, can't be read.
    public init(config: ConfigReader, directory: String = ".") async throws(WeirError) {
      var tree = PlanTree(config)
      let file = try await tree.readFile(in: directory)
      let plan = await tree.plan(over: file?.plan)
      guard let plan, tree.problems.isEmpty else {
        throw WeirError(.invalid, tree.problems.map { "the configuration: \($0)" }.joined(separator: "\n"))
      }
      try self.init(
        path: "the configuration", directory: file.map { DeliveryPlan.directory(of: $0.path) } ?? directory,
        place: { [tree] line in tree.place(of: line) }, read: { plan })
    }
  }
#endif

// PlanSource: reads the delivery plan that a command line names.

#if Tool
  import Weir
  import WeirDelivery
  import WeirYAML

  enum PlanSource {
    /// Returns the plan in a file. The file is YAML if its name ends
    /// in .yaml or .yml, otherwise JSON.
    static func plan(_ path: String) throws -> DeliveryPlan {
      do throws(WeirError) {
        #if YAML
          return try DeliveryPlan(fileAt: path)
        #else
          guard ![".yaml", ".yml"].contains(where: { path.lowercased().hasSuffix($0) }) else {
            throw WeirError(
              .invalid,
              "\(path) is YAML, which this build of weir can't read; build weir with "
                + "swift build -c release --traits YAML, or write the plan in JSON")
          }
          return try DeliveryPlan(contentsOf: path)
        #endif
      } catch {
        // Each problem is printed on its own line, with its place.
        let problems = error.message.split(separator: "\n").map(String.init)
        guard problems.count > 1 else { throw ToolError(error.message) }
        for problem in problems { writeDiagnostic(Terminal.printable(problem)) }
        throw ToolError("\(path) is no plan; correct the \(problems.count) places above")
      }
    }
  }
#endif

// PlanSource: reads the delivery plan that a command line names.

#if Tool
  import Weir
  import WeirDelivery
  import WeirYAML

  #if HTTP
    import WeirHTTP
  #endif

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
        throw refusal(of: path, error.message.split(separator: "\n").map(String.init))
      }
    }

    /// Returns the plan in a file, and checks what a delivery needs beyond the plan's form: a provider, and what each
    /// preset needs. Keys and certificates are not read.
    static func deliverablePlan(_ path: String) throws -> DeliveryPlan {
      let plan = try plan(path)
      var problems = plan.entries.isEmpty ? [nobody(in: path)] : []
      #if HTTP
        for var entry in plan.entries {
          guard var destination = entry.destination, destination.isURL else { continue }
          (destination.key, destination.pseudonymKey, destination.authorities) = (nil, nil, nil)
          (destination.certificate, destination.certificateKey) = (nil, nil)
          entry.destination = destination
          do throws(WeirError) {
            _ = try HTTPProvider(entry)
          } catch {
            problems.append("\(path): providers.\(entry.name): \(error.message)")
          }
        }
      #endif
      guard problems.isEmpty else { throw refusal(of: path, problems) }
      return plan
    }

    /// The error of a plan without providers.
    static func nobody(in path: String) -> String { "\(path) has no providers; name at least one under providers" }

    private static func refusal(of path: String, _ problems: [String]) -> ToolError {
      guard problems.count > 1 else { return ToolError(problems.first ?? "\(path) is no plan") }
      for problem in problems { writeDiagnostic(Terminal.printable(problem)) }
      return ToolError("\(path) is no plan; correct the \(problems.count) places above")
    }
  }
#endif

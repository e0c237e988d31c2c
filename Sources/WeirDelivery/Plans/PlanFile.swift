// PlanFile: plans from files and to files: JSON here, YAML in WeirYAML, both through the same tree.

public import Weir
package import WeirContracts
package import WeirJSON

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension DeliveryPlan {
  /// Reads a plan from a JSON file. The guide Plans describes the format.
  ///
  /// Relative paths in the file start at the file's directory.
  ///
  /// Throws `invalid` with all problems at once, each with its line and place: syntax errors, unknown keys, values of
  /// the wrong kind or out of range, an invalid contract. Throws the errors of the system if the file, or a contract
  /// that the file names, can't be read.
  public init(contentsOf path: String) throws(WeirError) {
    try self.init(contentsOf: path) { path throws(WeirError) in try Contract(jsonAt: path) }
  }

  package init(
    contentsOf path: String, readContract: (String) throws(WeirError) -> Contract
  ) throws(WeirError) {
    let bytes = try SystemCalls().contents(of: path, atMost: DocumentNode.maximumBytes + 1)
    try self.init(path: path, directory: Self.directory(of: path), readContract: readContract) {
      () throws(DocumentSyntaxError) in
      try DocumentJSON.read(bytes)
    }
  }

  /// Reads a plan from JSON, like ``init(contentsOf:)``. Relative paths start at `directory`.
  public init(json: Data, directory: String = ".") throws(WeirError) {
    try self.init(path: "the plan", directory: directory) { () throws(DocumentSyntaxError) in
      try DocumentJSON.read(Array(json))
    }
  }

  /// Reads a plan from the tree that `read` returns. `path` names the plan in errors. `readContract` reads the
  /// contracts that the plan names. `place` names a line in errors.
  package init(
    path: String, directory: String,
    readContract: (String) throws(WeirError) -> Contract = { path throws(WeirError) in try Contract(jsonAt: path) },
    place: @escaping (Int) -> String = { "line \($0)" },
    read: () throws(DocumentSyntaxError) -> DocumentNode
  ) throws(WeirError) {
    let node: DocumentNode
    do throws(DocumentSyntaxError) {
      node = try read()
    } catch {
      throw WeirError(.invalid, "\(path): line \(error.line): \(error.message)", path: path)
    }
    var mapping = PlanMapping(directory: directory, nameOfLine: place)
    self = mapping.plan(node, readContract)
    guard mapping.problems.isEmpty else {
      throw WeirError(.invalid, mapping.problems.map { "\(path): \($0)" }.joined(separator: "\n"), path: path)
    }
  }

  /// The directory at which relative paths of a file start.
  package static func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Returns the plan as a JSON file. ``init(json:directory:)`` reads the file as an equal plan. Floats become doubles,
  /// and durations are rounded down to nanoseconds.
  ///
  /// Throws `invalid` if the plan contains closures; the error names them.
  public func json() throws(WeirError) -> Data {
    for entry in entries where !entry.closures.isEmpty {
      throw WeirError(
        .invalid,
        "the plan for \(entry.name) contains closures, which no file can hold: \(entry.closures.joined(separator: ", "))"
      )
    }
    return Data((PlanWriting.node(self).json() + "\n").utf8)
  }
}

extension Contract {
  /// Reads a contract from a JSON file.
  package init(jsonAt path: String) throws(WeirError) {
    let bytes = try SystemCalls().contents(of: path, atMost: DocumentNode.maximumBytes + 1)
    do throws(ContractError) {
      try self.init(json: Data(bytes))
    } catch {
      throw error.weirError(path)
    }
  }
}

extension ContractError {
  /// The problems of the contract at `path`, one on each line.
  package func weirError(_ path: String) -> WeirError {
    WeirError(.invalid, problems.map { "\(path): \($0)" }.joined(separator: "\n"), path: path)
  }
}

/// The paths in a plan's file.
package enum PlanPaths {
  /// Returns a path of the file, relative paths from the file's directory.
  package static func resolved(_ path: String, in directory: String) -> String {
    path.hasPrefix("/") || directory == "." ? path : directory + "/" + path
  }
}

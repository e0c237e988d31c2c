// WeirScaffoldPlugin: `swift package scaffold`, which is `weir scaffold` with the target found from the manifest.

import Foundation
import PackagePlugin

@main
struct WeirScaffoldPlugin: CommandPlugin {
  func performCommand(context: PluginContext, arguments: [String]) async throws {
    var extractor = ArgumentExtractor(arguments)
    let names = extractor.extractOption(named: "target")
    var rest = extractor.remainingArguments
    // Only what writes needs a target; all else, help and mistakes, is for the tool to answer.
    if rest.first == "page", !rest.contains("--help"), !rest.contains("-h") {
      if names.count > 1 { throw ScaffoldProblem("--target is given more than once; give it once") }
      rest.insert(contentsOf: try places(in: context.package, named: names.first, given: rest), at: 1)
    }
    let tool = try context.tool(named: "WeirScaffoldMain")
    let process = Process()
    process.executableURL = tool.url
    process.arguments = rest
    process.currentDirectoryURL = context.package.directoryURL
    try process.run()
    process.waitUntilExit()
    // The tool has said why.
    if process.terminationReason != .exit || process.terminationStatus != 0 {
      throw ScaffoldProblem("nothing was written")
    }
  }

  /// The folders, the module and the form, as options of the tool. Of what is given twice to it the last one holds.
  private func places(in package: Package, named name: String?, given: [String]) throws -> [String] {
    let target = try target(in: package, named: name)
    var options = [
      "--target-directory", target.directoryURL.path(percentEncoded: false), "--module", target.moduleName,
    ]
    // What is given must not fail for want of what it stands in for.
    if !given.contains(where: { $0 == "--tests" || $0.hasPrefix("--tests=") }) {
      options += ["--tests", try testTarget(of: target, in: package).directoryURL.path(percentEncoded: false)]
    }
    return options + [products(of: target).contains("WeirMacros") ? "--macro" : "--by-hand"]
  }

  /// The target of that name, or the only one that uses Weir.
  private func target(in package: Package, named name: String?) throws -> any SourceModuleTarget {
    let all = package.targets.compactMap { $0 as? any SourceModuleTarget }
    let fitting = all.filter { ($0.kind == .generic || $0.kind == .executable) && products(of: $0).contains("Weir") }
    let list = fitting.map(\.name).sorted().joined(separator: ", ")
    if let name {
      if let target = fitting.first(where: { $0.name == name }) { return target }
      if all.contains(where: { $0.name == name }) {
        throw ScaffoldProblem(
          "the target \(name) does not depend on Weir: add .product(name: \"Weir\", package: \"weir\") to it"
        )
      }
      throw ScaffoldProblem("there is no target \(name); those that depend on Weir: \(list.isEmpty ? "none" : list)")
    }
    if let only = fitting.first, fitting.count == 1 { return only }
    throw ScaffoldProblem(
      fitting.isEmpty
        ? "no target depends on Weir: add .product(name: \"Weir\", package: \"weir\") to the dependencies of one"
        : "more than one target depends on Weir; name one with --target: \(list)")
  }

  /// The target that tests this one: by its name, or the only one that depends on it.
  private func testTarget(of target: any SourceModuleTarget, in package: Package) throws -> any SourceModuleTarget {
    let fitting = package.targets.compactMap { $0 as? any SourceModuleTarget }.filter { test in
      test.kind == .test
        && test.dependencies.contains { if case .target(let used) = $0 { used.name == target.name } else { false } }
    }
    if let named = fitting.first(where: { $0.name == "\(target.name)Tests" }) { return named }
    if let only = fitting.first, fitting.count == 1 { return only }
    throw ScaffoldProblem(
      fitting.isEmpty
        ? "no test target depends on \(target.name): add one that also has WeirTesting, or give --tests DIR"
        : "more than one test target depends on \(target.name); give the folder of one, --tests DIR: "
          + fitting.map(\.name).sorted().joined(separator: ", "))
  }

  /// The products of Weir that a target depends on.
  private func products(of target: any SourceModuleTarget) -> Set<String> {
    Set(
      target.dependencies.compactMap { dependency in
        if case .product(let product) = dependency { product.name } else { nil }
      })
  }
}

/// Why the plugin can't go on, in one line.
struct ScaffoldProblem: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

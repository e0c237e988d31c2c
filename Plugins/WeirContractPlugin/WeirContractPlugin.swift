// WeirContractPlugin: makes Swift code of the contracts of a target, at every build: each file `NAME.contract.json`
// becomes a source file of the target.

import Foundation
import PackagePlugin

@main
struct WeirContractPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
    guard let target = target.sourceModule else { return [] }
    let tool = try context.tool(named: "WeirContractCode")
    let ending = ".contract.json"
    return target.sourceFiles.map(\.url).filter { $0.lastPathComponent.hasSuffix(ending) }.map { contract in
      let name = contract.lastPathComponent.dropLast(ending.count)
      let code = context.pluginWorkDirectoryURL.appending(path: "\(name).contract.swift")
      return .buildCommand(
        displayName: "Making Swift code of \(contract.lastPathComponent)", executable: tool.url,
        arguments: [contract.path, code.path], inputFiles: [contract], outputFiles: [code])
    }
  }
}

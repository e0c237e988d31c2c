// ContractSource: reads the contracts that a command line names.

#if Tool
  import Foundation
  import Weir
  import WeirContracts
  import WeirJSON
  import WeirYAML

  enum ContractSource {
    /// Returns the contract in a file. The file is YAML if its name ends in .yaml or .yml, otherwise JSON.
    static func compiled(_ path: String) throws -> CompiledContract {
      let isYAML = [".yaml", ".yml"].contains { path.lowercased().hasSuffix($0) }
      #if !YAML
        if isYAML {
          throw ToolError(
            "\(path) is YAML, which this build of weir can't read; build weir with "
              + "swift build -c release --traits YAML, or write the contract in JSON")
        }
      #endif
      let bytes = try read(path)
      do {
        return try contract(in: bytes, isYAML: isYAML).compiled()
      } catch {
        throw report(error, of: path, "is no contract")
      }
    }

    /// Prints each problem on its own line, with its place. Returns the error that ends the command.
    static func report(_ error: ContractError, of path: String, _ what: String) -> ToolError {
      for problem in error.problems { writeDiagnostic("\(path): \(Terminal.printable(problem.description))") }
      let count = error.problems.count
      return ToolError("\(path) \(what); correct \(count == 1 ? "the place" : "the \(count) places") above")
    }

    private static func contract(in bytes: Data, isYAML: Bool) throws(ContractError) -> Contract {
      #if YAML
        if isYAML {
          let text = Array(bytes)
          if let problem = JSONScanner.notUTF8(text.span) {
            throw ContractError([.init(line: problem.line, message: problem.message)])
          }
          return try Contract(yaml: String(decoding: text, as: UTF8.self))
        }
      #endif
      return try Contract(json: bytes)
    }

    /// Reads a file of a contract or of approvals. A file that is larger than the limit is not read to its end.
    static func read(_ path: String) throws -> Data {
      do {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        return try file.read(upToCount: ContractLimits.readBytes) ?? Data()
      } catch {
        throw ToolError("\(path) can't be read: \((error as NSError).localizedDescription)")
      }
    }
  }

  private enum ContractLimits {
    /// One byte more than a contract may have, so that the library reports a larger contract.
    static let readBytes = DocumentNode.maximumBytes + 1
  }
#endif

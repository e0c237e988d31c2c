// ContractSource.swift: contracts from files, as arguments of commands.

#if Tool
  import Foundation
  import Weir
  import WeirContracts
  import WeirYAML

  enum ContractSource {
    /// The contract in a file; YAML if its name says so, JSON otherwise.
    static func compiled(_ path: String) throws -> CompiledContract {
      let isYAML = [".yaml", ".yml"].contains { path.lowercased().hasSuffix($0) }
      #if !YAML
        if isYAML {
          throw ToolError(
            "\(path) is YAML, which this build of the tool does not read; build it with "
              + "swift build -c release --traits YAML, or write the contract in JSON")
        }
      #endif
      let bytes = try read(path)
      do {
        return try contract(in: bytes, isYAML: isYAML).compiled()
      } catch {
        // A line each: there may be many of them, and each has its place.
        for problem in error.problems { writeDiagnostic("\(path): \(Terminal.printable(problem.description))") }
        let count = error.problems.count
        throw ToolError("\(path) is no contract; correct \(count == 1 ? "the place" : "the \(count) places") above")
      }
    }

    private static func contract(in bytes: Data, isYAML: Bool) throws(ContractError) -> Contract {
      #if YAML
        if isYAML {
          guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ContractError([.init(message: "the file is not UTF-8")])
          }
          return try Contract(yaml: text)
        }
      #endif
      return try Contract(json: bytes)
    }

    /// A file that is read in one go; one that is larger than contracts may be is not read to its end.
    private static func read(_ path: String) throws -> Data {
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
    /// One byte more than is taken: then the library says that there are too many.
    static let readBytes = ContractNode.maximumBytes + 1
  }
#endif

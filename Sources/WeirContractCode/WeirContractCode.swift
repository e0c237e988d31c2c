// WeirContractCode: what the build-tool plugin runs: `WeirContractCode CONTRACT FILE` makes Swift code of a contract.
//
// Apart from the tool, whose packages a build that only needs code should not fetch.

import Foundation
import WeirContracts

@main
struct WeirContractCode {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else { end("usage: WeirContractCode CONTRACT FILE") }
    let (path, file) = (arguments[1], arguments[2])
    do {
      let contract = try Contract(json: Data(contentsOf: URL(filePath: path))).compiled()
      let code = contract.swiftCode(command: "WeirContractPlugin")
      try Data(code.utf8).write(to: URL(filePath: file), options: .atomic)
    } catch let error as ContractError {
      // In the compiler's form, so that the build shows file and line.
      let lines = error.problems.map { problem in
        var text = problem
        text.line = nil
        return "\(path):\(problem.line ?? 1): error: \(text)"
      }
      end(lines.joined(separator: "\n"))
    } catch {
      end("\(path): error: \(error.localizedDescription)")
    }
  }

  private static func end(_ text: String) -> Never {
    FileHandle.standardError.write(Data((text + "\n").utf8))
    exit(1)
  }
}

// KeySource: the source of a provider's key: a file or the environment, never the command line, which every process
// of the machine may read.

#if Tool
  import Foundation
  import Glibc

  enum KeySource: Equatable, Sendable {
    case file(String)
    case environment(String)

    /// The maximum length of a key. A longer text is not a key but a wrong file.
    static let maximumBytes = 16 << 10

    /// Reads the key, without surrounding white space. No error contains the key.
    func read(environment: [String: String] = ProcessInfo.processInfo.environment) throws(ToolError) -> String {
      let (text, place) = try read(environment)
      let key = text.trimmingCharacters(in: .whitespacesAndNewlines)
      guard !key.isEmpty else { throw ToolError("\(place) contains no key; put the provider's key there") }
      // A line break would end the header, and the text after it would be read as another header.
      guard key.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value < 0x7F }) else {
        throw ToolError(
          "\(place) contains white space or control characters in the key; put only the key there")
      }
      return key
    }

    private func read(_ environment: [String: String]) throws(ToolError) -> (text: String, place: String) {
      switch self {
      case .environment(let name):
        guard let text = environment[name] else {
          throw ToolError("the environment has no variable \(name) (--key-env); set the variable, or use --key-file")
        }
        return (text, "the variable \(name)")
      case .file(let path):
        let file = try InputFile(path: path)
        guard file.expectedBytes ?? 0 <= UInt64(Self.maximumBytes) else {
          throw ToolError("\(path) is too long for a key; name a file that contains only the key")
        }
        let stop = try StopSwitch()
        var bytes: [UInt8] = []
        while bytes.count <= Self.maximumBytes, let more = try file.read(unless: stop) { bytes += more }
        guard bytes.count <= Self.maximumBytes, let text = String(validating: bytes, as: UTF8.self) else {
          throw ToolError("\(path) is not a key; name a file that contains only the key")
        }
        return (text, path)
      }
    }
  }
#endif

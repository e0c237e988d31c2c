// Sample: finds and reads the demo's input: 10,000 real requests to a public web site, which the build puts beside the
// executable.

#if Tool
  import Foundation
  import Glibc

  enum Sample {
    /// Returns the path of this program's executable.
    static func executable() throws -> String {
      do {
        return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      } catch {
        throw ToolError("/proc/self/exe can't be read, so the demo can't start a second weir process; mount /proc")
      }
    }

    /// Returns the path of the sample.
    static func path(besideExecutable executable: String) throws -> String {
      let folder = URL(fileURLWithPath: executable).deletingLastPathComponent()
      let path = folder.appendingPathComponent("weir_WeirTool.resources/Sample/apache_access.log").path
      guard FileManager.default.isReadableFile(atPath: path) else {
        throw ToolError("the sample is missing at \(path); run the demo from the directory where weir was built")
      }
      return path
    }

    /// Returns the sample's lines as events.
    static func events(at path: String) throws -> [AccessEvent] {
      guard let bytes = FileManager.default.contents(atPath: path) else {
        throw ToolError("\(path) can't be read; check its permissions")
      }
      var splitter = LineSplitter()
      let chunks = [splitter.split([UInt8](bytes)), splitter.finish()].compactMap { $0 }
      return chunks.flatMap { chunk in
        let bytes = chunk.bytes.span
        return chunk.lines.map { AccessEvent(line: bytes.extracting($0)) }
      }
    }
  }
#endif

// Sample.swift: where the demo's input is: 10,000 real requests of a public web site, which the build puts beside the
// executable.

#if Tool
  import Foundation
  import Glibc

  enum Sample {
    /// This program's own file.
    static func executable() throws -> String {
      do {
        return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      } catch {
        throw ToolError("/proc/self/exe can't be read, so the demo can't start a second weir; mount /proc")
      }
    }

    static func path(besideExecutable executable: String) throws -> String {
      let folder = URL(fileURLWithPath: executable).deletingLastPathComponent()
      let path = folder.appendingPathComponent("weir_WeirTool.resources/Sample/apache_access.log").path
      guard FileManager.default.isReadableFile(atPath: path) else {
        throw ToolError("the sample is not at \(path); run the demo from the folder that weir was built in")
      }
      return path
    }

    /// The sample's lines as events.
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

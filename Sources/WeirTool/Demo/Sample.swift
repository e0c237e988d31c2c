// Sample: finds and reads the demo's input: 10,000 real requests to a public web site. The build puts them beside the
// executable, and an installation into share/weir.

#if Tool
  import Foundation

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

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
      let built = folder.appendingPathComponent("weir_WeirTool.resources/Sample/apache_access.log").path
      let installed = folder.deletingLastPathComponent().appendingPathComponent("share/weir/apache_access.log").path
      guard let path = [built, installed].first(where: FileManager.default.isReadableFile(atPath:)) else {
        throw ToolError(
          "the sample is missing at \(built) and at \(installed); run the demo from the directory where weir was built, "
            + "or install weir with make install-tool")
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

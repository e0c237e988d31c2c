// ProviderSource.swift: makes the providers for the destinations of a command line.

import Weir

#if HTTP
  import WeirHTTP
#endif

/// A provider may be used by one dispatcher, and is shut down with it: for each log there are new ones.
struct ProviderSource: Sendable {
  let destinations: [DestinationOptions.Named]
  private let options: Options

  /// What all of them share.
  private struct Options: Sendable {
    var preset: PresetName
    var key: String?
    var user: String
    var project: String
    var table: String
    var usesGzip: Bool
    var usesLZ4: Bool
  }

  /// Reads the key, and looks whether a provider can be made of everything, so that a mistake is told before anything
  /// is touched.
  init(_ given: DestinationOptions) throws {
    destinations = try given.destinations()
    options = Options(
      preset: given.preset, key: try given.key?.read(), user: given.user, project: given.project, table: given.table,
      usesGzip: given.gzip, usesLZ4: given.lz4)
    _ = try providers()
  }

  func providers() throws -> [any Provider] {
    try destinations.map { named in
      switch named.destination {
      case .files(let path): files(path, named.name)
      case .endpoint(let url): try endpoint(url, named.name)
      }
    }
  }

  private func files(_ path: String, _ name: String) -> any Provider {
    var files = JSONLinesProvider.Options()
    files.isCompressed = options.usesLZ4
    files.logger = nil
    return JSONLinesProvider(path, name: name, options: files)
  }

  #if HTTP
    private func endpoint(_ url: String, _ name: String) throws -> any Provider {
      guard let preset = HTTPPresetName(rawValue: options.preset.rawValue) else {
        throw ToolError("--preset \(options.preset.rawValue) is not in this weir; build it anew")
      }
      var configuration = HTTPConfiguration()
      configuration.compression = options.usesGzip ? .gzip : .identity
      configuration.logger = nil
      return try HTTPProvider(
        preset.preset(
          endpoint: url, key: options.key.map { Secret($0) }, user: options.user, project: options.project,
          table: options.table),
        name: name, configuration: configuration)
    }
  #else
    private func endpoint(_ url: String, _ name: String) throws -> any Provider {
      throw ToolError(
        "this weir was built without delivery over HTTP; build one with: swift build -c release --product weir "
          + "--traits HTTP, or give a path")
    }
  #endif
}

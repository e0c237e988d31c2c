// TargetPlace: in which target of which package the files go, as the folders say.

import Foundation

/// Where sources and tests go, and what the module is called.
///
/// Found by the layout that SwiftPM expects: a target's sources are in `Sources/TARGET`, its tests in
/// `Tests/TARGETTests`. Where a package has another layout, options say it.
struct TargetPlace: Equatable {
  /// Where sources go: as given, or below the current folder.
  var sources: String
  /// Where the tests go.
  var tests: String
  /// What the tests import.
  var module: String
  /// The package's manifest; empty if there is none.
  var manifest = ""

  /// What SwiftPM takes for the folder of all targets.
  private static let sourceFolders = ["Sources", "Source", "src", "srcs"]

  /// - Parameters:
  ///   - directory: Where sources shall go: a target's folder or one in it, or the package's if it has one target.
  ///   - tests: Where tests shall go; nil to find it.
  ///   - module: What the module is called; nil to find it.
  init(_ directory: String?, tests: String?, module: String?) throws(ScaffoldError) {
    let given = directory ?? "."
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: given, isDirectory: &isFolder), isFolder.boolValue else {
      throw ScaffoldError("\(printable(given)) is no folder; name the one that the target's sources are in")
    }
    var path = Self.absolute(given)
    let package = Self.package(above: path)
    if let package {
      manifest = (try? String(contentsOfFile: "\(package)/Package.swift", encoding: .utf8)) ?? ""
    }
    if path == package { path = try Self.onlyTarget(of: path) }
    sources = Self.shown(path)

    let target = package.flatMap { Self.target(of: path, in: $0) }
    if let module {
      guard isIdentifier(module), !isKeyword(module) else {
        throw ScaffoldError("--module is \(printable(module)), which is no module's name; give what tests import")
      }
      self.module = module
    } else if let target {
      self.module = Self.module(ofTarget: target)
    } else {
      throw ScaffoldError(
        "\(sources) is not in Sources/TARGET of a package; name a target's folder, or give --module and --tests"
      )
    }
    if let tests {
      self.tests = Self.shown(Self.absolute(tests))
    } else {
      let name = "Tests/\(target ?? self.module)Tests"
      let found = package.map { "\($0)/\(name)" } ?? ""
      let shown = package == nil ? name : Self.shown(found)
      guard FileManager.default.fileExists(atPath: found, isDirectory: &isFolder), isFolder.boolValue else {
        throw ScaffoldError(
          "there is no folder \(shown); make a test target, or say where tests go: --tests DIR"
        )
      }
      self.tests = Self.shown(found)
    }
  }

  /// From the root, without `.` and `..`, and without a slash at the end.
  private static func absolute(_ path: String) -> String {
    var path = URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
    while path.hasSuffix("/"), path.count > 1 { path.removeLast() }
    return path
  }

  /// The nearest folder upwards with a manifest.
  private static func package(above path: String) -> String? {
    var folder = path
    while true {
      if FileManager.default.fileExists(atPath: "\(folder)/Package.swift") { return folder }
      guard let slash = folder.lastIndex(of: "/"), folder != "/" else { return nil }
      folder = String(folder[..<slash])
      if folder.isEmpty { return nil }
    }
  }

  /// The name of the target's folder that `path` is, or is in.
  private static func target(of path: String, in package: String) -> String? {
    guard path.hasPrefix("\(package)/") else { return nil }
    let parts = path.dropFirst(package.count + 1).split(separator: "/")
    guard parts.count >= 2, sourceFolders.contains(String(parts[0])) else { return nil }
    return String(parts[1])
  }

  /// The folder of the module that files in `path` are of: the target's, or `path` itself outside of a package's
  /// folders.
  static func moduleFolder(of path: String) -> String {
    let path = absolute(path)
    guard let package = package(above: path), path.hasPrefix("\(package)/") else { return path }
    let parts = path.dropFirst(package.count + 1).split(separator: "/")
    guard parts.count >= 2, (sourceFolders + ["Tests"]).contains(String(parts[0])) else { return path }
    return "\(package)/\(parts[0])/\(parts[1])"
  }

  /// The only target's folder of a package.
  private static func onlyTarget(of package: String) throws(ScaffoldError) -> String {
    let folders = sourceFolders.flatMap { parent in
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(package)/\(parent)")) ?? []
      return names.sorted().map { "\(package)/\(parent)/\($0)" }.filter { folder in
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) && isFolder.boolValue
          && !(folder.split(separator: "/").last?.hasPrefix(".") ?? true)
      }
    }
    if let only = folders.first, folders.count == 1 { return only }
    if folders.isEmpty {
      throw ScaffoldError(
        "\(shown(package)) has no folder Sources/TARGET; name the one for sources, and give --module and --tests"
      )
    }
    throw ScaffoldError(
      "\(shown(package)) has several targets; name the folder of one: \(folders.map(shown).joined(separator: ", "))"
    )
  }

  /// A module's name is its target's, with what names can't have made to `_`.
  private static func module(ofTarget target: String) -> String {
    let text = String(target.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    return text.first?.isNumber ?? true ? "_\(text.dropFirst())" : text
  }

  /// A path as people would write it here.
  private static func shown(_ path: String) -> String {
    let here = FileManager.default.currentDirectoryPath
    if path == here { return "." }
    return path.hasPrefix("\(here)/") ? String(path.dropFirst(here.count + 1)) : path
  }
}

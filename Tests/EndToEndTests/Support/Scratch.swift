// Scratch.swift: temporary directories that vanish with their owner, and copies of the evidence when a test fails.
import Foundation

final class Scratch {
  let path: String

  init() throws {
    let template = FileManager.default.temporaryDirectory.appendingPathComponent("weir-e2e-XXXXXX").path
    var characters = template.utf8CString.map { $0 }
    guard mkdtemp(&characters) != nil else { throw ChildProblem(description: "mkdtemp \(template): errno \(errno)") }
    path = characters.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func callAsFunction(_ name: String) -> String { path + "/" + name }

  /// Writes a file into it and answers its path.
  func file(_ name: String, _ bytes: Data) throws -> String {
    try bytes.write(to: URL(fileURLWithPath: self(name)))
    return self(name)
  }

  func file(_ name: String, _ text: String) throws -> String { try file(name, Data(text.utf8)) }
}

enum Files {
  /// Copies a directory, holes and times kept: a ring is mostly holes, and copying it should cost nothing.
  static func copy(_ from: String, to: String) throws {
    let outcome = try Child("/bin/cp", ["-a", "--sparse=always", from, to]).wait()
    try Tool.require(outcome, code: 0, "cp -a \(from) \(to)")
  }

  static func names(in directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
  }

  /// The segments of a log, in the order of their offsets.
  static func segments(in directory: String) throws -> [String] {
    try names(in: directory).filter { $0.first?.isNumber == true }
  }

  static func read(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

  /// Overwrites bytes in the middle of a file.
  static func overwrite(_ path: String, at position: Int, with bytes: [UInt8]) throws {
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? handle.close() }
    try handle.seek(toOffset: UInt64(position))
    try handle.write(contentsOf: Data(bytes))
  }

  static func truncate(_ path: String, to bytes: Int) throws {
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? handle.close() }
    try handle.truncate(atOffset: UInt64(bytes))
  }

  /// Every file below a directory with its size, mode, inode and times of change: equal before and after an operation
  /// if and only if that operation wrote nothing.
  static func fingerprint(_ directory: String) throws -> String {
    let format = "%P %y %s %b %m %i %T@ %C@\\n"
    let outcome = try Child("/usr/bin/find", [directory, "-printf", format]).wait()
    try Tool.require(outcome, code: 0, "find \(directory)")
    return outcome.text.split(separator: "\n").sorted().joined(separator: "\n")
  }

  /// Copies a directory to .build/crash-artifacts at the top of the package, for whoever looks into a failure.
  static func keepEvidence(_ directories: [String], name: String, note: String) -> String {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(".build/crash-artifacts/\(name)")
    try? FileManager.default.removeItem(at: folder)
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for directory in directories where FileManager.default.fileExists(atPath: directory) {
      let target = folder.appendingPathComponent((directory as NSString).lastPathComponent).path
      try? copy(directory, to: target)
    }
    try? Data((note + "\n").utf8).write(to: folder.appendingPathComponent("README"))
    return folder.path
  }
}

// Machine: time, memory and files as the system counts them, and children for what needs a process of its own.

import Foundation

struct SimulationFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Runs something, and returns the seconds that it took.
func seconds(_ body: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try body()
  let taken = ContinuousClock.now - start
  return Double(taken.components.seconds) + Double(taken.components.attoseconds) * 1e-18
}

/// The least seconds that something takes, of some tries: what it takes while nothing else is on the processor.
func leastSeconds(_ body: () throws -> Void) rethrows -> Double {
  var least = Double.infinity
  for _ in 0..<50 { least = min(least, try seconds(body)) }
  return least
}

enum Machine {
  /// A line of /proc/self/status, in bytes: `VmRSS` is the memory that the process has, `VmHWM` the most it ever had.
  static func memory(_ name: String = "VmRSS") -> Double {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) * 1_024
  }

  /// The files of a directory: how many, and the bytes that the disk keeps for them.
  static func files(in directory: String) throws -> (count: Int, bytes: Double) {
    var (count, bytes) = (0, 0.0)
    for name in try FileManager.default.contentsOfDirectory(atPath: directory) where name.hasSuffix(".weir.lz4") {
      var status = stat()
      guard stat(directory + "/" + name, &status) == 0 else { continue }
      count += 1
      bytes += Double(status.st_blocks) * 512
    }
    return (count, bytes)
  }

  /// The bytes of a log's segments.
  static func segmentBytes(in directory: String) throws -> Double {
    try FileManager.default.contentsOfDirectory(atPath: directory).reduce(0) { sum, name in
      var status = stat()
      guard name.hasSuffix(".weir"), stat(directory + "/" + name, &status) == 0 else { return sum }
      return sum + Double(status.st_size)
    }
  }

  /// Runs this program with other arguments, and returns what it printed.
  static func child(_ arguments: [String]) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw SimulationFailure("the child \(arguments.joined(separator: " ")) ended with \(process.terminationStatus)")
    }
    return text
  }

  /// Runs something in a new directory, which is removed afterwards.
  static func withDirectory<Result>(in folder: String, _ body: (String) throws -> Result) throws -> Result {
    let path = folder + "/fleet-simulation-\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try body(path)
  }
}

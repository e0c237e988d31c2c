// Machine.swift: where the figures come from. A figure without its machine says nothing.
import CaptureSubjects
import Foundation

/// Processor, number of processors that the benchmark may use, kernel, file system and load, as the run began.
struct Machine {
  let processor =
    field("model name", of: "/proc/cpuinfo") ?? field("CPU part", of: "/proc/cpuinfo") ?? "unknown processor"
  let processors = Placement.available.count
  let kernel = word("/proc/sys/kernel/osrelease")
  let clock = word("/sys/devices/system/clocksource/clocksource0/current_clocksource")
  let load = (contents("/proc/loadavg") ?? "unknown").split(separator: " ").prefix(3).joined(separator: " ")
  let memory = (Double(ProcessInfo.processInfo.physicalMemory) / 1e9).rounded()

  var summary: String {
    """
    machine: \(processor), \(processors) processors, \(Int(memory)) GB, Linux \(kernel), clock source \(clock)
    load average: \(load)
    """
  }

  func json(command: String, commit: String) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
    return try encoder.encode([
      "processor": processor, "processors": "\(processors)", "kernel": kernel, "clock": clock, "load": load,
      "memory": "\(Int(memory)) GB", "command": command, "commit": commit,
      "date": Date().formatted(.iso8601.year().month().day()),
    ])
  }
}

private func contents(_ path: String) -> String? {
  try? String(contentsOfFile: path, encoding: .utf8)
}

private func word(_ path: String) -> String {
  contents(path)?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown"
}

/// The value after the colon of the first line that starts with `name`.
private func field(_ name: String, of path: String) -> String? {
  guard let line = contents(path)?.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
  return line.split(separator: ":", maxSplits: 1).last?.trimmingCharacters(in: .whitespaces)
}

// Machine.swift: where the figures come from. A figure without its machine says nothing.
import CaptureSubjects
import Foundation

/// Processor, number of processors that the benchmark may use, kernel and load, in two lines.
func machine() -> String {
  let model =
    field("model name", of: "/proc/cpuinfo") ?? field("CPU part", of: "/proc/cpuinfo") ?? "unknown processor"
  let kernel = text("/proc/sys/kernel/osrelease")?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown"
  let load = text("/proc/loadavg")?.split(separator: " ").prefix(3).joined(separator: " ") ?? "unknown"
  let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
  let source = text(clock)?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown"
  return """
    machine: \(model), \(Placement.available.count) processors, Linux \(kernel), clock source \(source)
    load average: \(load)
    """
}

private func text(_ path: String) -> String? {
  try? String(contentsOfFile: path, encoding: .utf8)
}

/// The value after the colon of the first line that starts with `name`.
private func field(_ name: String, of path: String) -> String? {
  guard let line = text(path)?.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
  return line.split(separator: ":", maxSplits: 1).last?.trimmingCharacters(in: .whitespaces)
}

// AuditRows.swift: events that are on disk before the caller goes on, by how many tasks wait at once.
import Foundation
import Weir

/// How many audits a second `tasks` tasks make, each one after the other, and the processor time of each in nanoseconds.
func audits(in folder: String, tasks: Int, seconds: Double) async throws -> (rate: Double, nanoseconds: Double) {
  try? FileManager.default.removeItem(atPath: folder)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  var configuration = Tracker.Configuration()
  configuration.logger = nil
  let tracker = try Tracker(directory: folder, configuration: configuration)
  _ = try await tracker.audit(Checkout(0))
  let start = ContinuousClock.now
  let end = start + .seconds(seconds)
  let before = processorNanoseconds()
  let count = try await withThrowingTaskGroup(of: UInt64.self) { group in
    for _ in 0..<tasks {
      group.addTask {
        var count: UInt64 = 0
        while ContinuousClock.now < end {
          count += 1
          // With a timeout, as in a server.
          try await tracker.audit(Checkout(count), timeout: .seconds(5))
        }
        return count
      }
    }
    return try await group.reduce(0, +)
  }
  let taken = processorNanoseconds() - before
  let rate = Double(count) / ((.now - start) / .seconds(1))
  guard tracker.durableOffset == count + 1 else { throw BenchFailure(description: "audited events are not on disk") }
  try tracker.close()
  return (rate, taken / Double(count))
}

/// The median time in which 4 KiB, written behind one another, are on disk, in microseconds.
func syncMicroseconds(in folder: String) throws -> Double {
  let path = folder + "/sync-\(getpid())"
  let file = open(path, O_CREAT | O_WRONLY, 0o600)
  guard file >= 0 else { throw BenchFailure(description: "can't write \(path)") }
  defer {
    close(file)
    unlink(path)
  }
  let block = [UInt8](repeating: 0, count: 4096)
  let times = (0..<200).map { _ in
    let start = ContinuousClock.now
    _ = write(file, block, block.count)
    _ = fdatasync(file)
    return (.now - start) / .microseconds(1)
  }
  return times.sorted()[times.count / 2]
}

/// The processor time of the process so far, of all its threads.
private func processorNanoseconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}
